"""Time to quality: PSNR after every sweep of several solvers and versions, which take turns on the same damaged data.

Every competitor is a process of its own (`quality_time_child`), so that one of them can be another version of Ringlet.
One at a time makes a sweep while the others wait: what else runs on the machine then meets all alike. Processor time
is compared, because other work changes it least.
"""

import json
import os
import subprocess  # our own interpreter, no shell
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.bench import quality_time_child
from ringlet.bench.peers import import_tensorly
from ringlet.errors import ArgumentError
from ringlet.experiments.noise import TrialSeed, add_noise, generator, observed_entries
from ringlet.sources import as_source

__all__ = ["NEAR_DB", "Competitor", "Curve", "competitors", "measure_quality_time", "read_truth"]

NEAR_DB = 0.2  # a fit has reached a quality when it is at most so far below it
_FRAMES = 50  # of a video: more are not read


@dataclass(frozen=True)
class Competitor:
    """A solver, perhaps of another source tree.

    Attributes
    ----------
    name : str
    kind : str
        Class of the solver, or "TensorLy".
    fields : dict
        Its hyper-parameters.
    tree : Path or None
        A checkout whose `src` is imported; None: this version.
    """

    name: str
    kind: str
    fields: dict[str, Any]
    tree: Path | None = None


@dataclass(frozen=True)
class Curve:
    """What was measured of a competitor: one number a sweep.

    Attributes
    ----------
    processor, wall : list of float
        Seconds since the fit began, the scoring left out.
    psnr : list of float
        In dB, against the true data.
    peak : int
        Largest resident memory of the process in bytes, the data included; 0 if it did not finish.
    """

    name: str
    processor: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    psnr: list[float] = field(default_factory=list)
    peak: int = 0

    def seconds_to(self, psnr: float) -> tuple[float, float] | None:
        """Processor and wall seconds until this quality is first reached."""
        for processor, wall, reached in zip(self.processor, self.wall, self.psnr, strict=True):
            if reached >= psnr:
                return processor, wall
        return None

    def as_dict(self, reference: "Curve") -> dict[str, Any]:
        """For JSON, with the time to the quality at which the reference ends, and its ratio to the reference's time."""
        goal = reference.psnr[-1] - NEAR_DB
        mine, its = self.seconds_to(goal), reference.seconds_to(goal)
        ratio = None if mine is None or its is None else mine[0] / its[0]
        return asdict(self) | {"goal": goal, "seconds_to_goal": mine, "processor_over_reference": ratio}


def competitors(others: Sequence[str], trees: Sequence[Path], *, samples: int, sweeps: int) -> list[Competitor]:
    """SAWRTRD of this version, of other trees, and the `others`: "exact", "AWRTRD", "L1TNN", "TensorLy"."""
    if "TensorLy" in others:
        import_tensorly()
    common = {"sweeps": sweeps, "tol": 0.0, "smooth": 0.0, "loss": "correntropy"}
    sampled = common | {"samples": samples}
    known = {
        "exact": Competitor("SAWRTRD, exact solve", "SAWRTRD", sampled | {"solve": "exact"}),
        "AWRTRD": Competitor("AWRTRD", "AWRTRD", common),
        "L1TNN": Competitor("L1TNN", "L1TNN", {"sweeps": sweeps, "tol": 0.0}),
        "TensorLy": Competitor("TensorLy, sampled", "TensorLy", {"sweeps": sweeps, "samples": samples}),
    }
    for tree in trees:
        if not (tree / "src" / "ringlet").is_dir():
            raise ArgumentError(f"{tree} holds no src/ringlet; give a checkout of Ringlet")
    return [
        *[Competitor(f"SAWRTRD of {tree.name}", "SAWRTRD", sampled, tree) for tree in trees],
        Competitor("SAWRTRD", "SAWRTRD", sampled),
        *[known[name] for name in others],
    ]


def read_truth(path: Path, crop: Sequence[int] = ()) -> NDArray[np.uint8]:
    """A photo, or the first frames of a video; of the first modes only the middle, if `crop` is given."""
    source = as_source(path)
    if len(source.shape) < 3 or source.dtype != np.uint8:
        raise ArgumentError(
            f"{path} is {source.dtype} of shape {source.shape}; give a photo or a video of 8 bits a value"
        )
    lengths = [min(length, _FRAMES) if mode > 2 else length for mode, length in enumerate(source.shape)]
    block = [slice(0, length) for length in lengths]
    for mode, wanted in enumerate(crop[:2]):
        start = max(0, (lengths[mode] - wanted) // 2)
        block[mode] = slice(start, min(start + wanted, lengths[mode]))
    return np.ascontiguousarray(source.read(tuple(block))[0])


def measure_quality_time(
    truth: NDArray[np.uint8],
    rank: tuple[int, ...],
    chosen: Sequence[Competitor],
    *,
    observed: float = 0.3,
    report: Callable[[Curve], None] = lambda _: None,
) -> list[Curve]:
    """Fit the same damaged data with all competitors in turns: a fifth of the observed entries is salt and pepper.

    Parameters
    ----------
    truth : array of uint8
    rank : tuple of int
        Of the ring solvers.
    chosen : sequence of Competitor
    observed : float
        Share of the entries.
    report : callable
        Called with a curve after every sweep.
    """
    with TemporaryDirectory() as folder, ExitStack() as open_processes:
        masked = _write_damaged(truth, observed, Path(folder))
        children = []
        for one in chosen:
            told = {"folder": folder, "masked": masked, "kind": one.kind, "fields": one.fields}
            told["rank"] = None if one.kind == "L1TNN" else rank
            child = open_processes.enter_context(_Child(one.tree, json.dumps(told)))
            children.append((child, Curve(one.name)))
        curves: dict[str, Curve] = {}
        while children:
            for child, curve in list(children):
                found = child.next_line()
                if "peak" in found:
                    children.remove((child, curve))
                    curves[curve.name] = Curve(curve.name, curve.processor, curve.wall, curve.psnr, found["peak"])
                    continue
                for name in ("processor", "wall", "psnr"):
                    getattr(curve, name).append(found[name])
                report(curve)
    return [curves[one.name] for one in chosen]


class _Child:
    """A competitor's process; it works only between a line that we send and the line that it answers."""

    def __init__(self, tree: Path | None, told: str) -> None:
        environment = dict(os.environ)
        if tree is not None:
            environment["PYTHONPATH"] = str(tree.resolve() / "src")
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and script
            [sys.executable, "-P", quality_time_child.__file__, told],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> "_Child":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()

    def next_line(self) -> dict[str, Any]:
        """Let it make one sweep."""
        process = self._process
        if process.stdin is None or process.stdout is None:  # they are pipes
            raise RuntimeError("the process has no pipes")
        process.stdin.write("\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise ArgumentError(
                f"a competitor ended early, with exit code {process.wait()}; its error is printed above"
            )
        found: dict[str, Any] = json.loads(line)
        return found


def _write_damaged(truth: NDArray[np.uint8], share: float, folder: Path) -> bool:
    """Truth, data and mask as files; whether there is a mask."""
    observed = None
    if share < 1.0:
        observed = observed_entries(truth.shape, share, generator("quality-time", 1, TrialSeed.MASK))
        np.save(folder / "mask.npy", observed)
    np.save(folder / "truth.npy", truth)
    scaled = truth.astype(np.float32) / np.float32(255)
    add_noise(scaled, "salt-and-pepper", generator("quality-time", 1, TrialSeed.NOISE), observed)
    np.save(folder / "data.npy", np.rint(scaled * np.float32(255)).astype(np.uint8))
    return observed is not None
