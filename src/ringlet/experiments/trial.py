"""One trial: damage an item, fit it by one method, score the estimate. Runs in a separate interpreter."""

import json
from dataclasses import asdict, dataclass, replace
from math import prod
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ringlet.amounts import format_bytes
from ringlet.api import complete, decompose, plan
from ringlet.errors import BudgetError
from ringlet.execution.memory import peak_memory, reset_peak_memory
from ringlet.experiments.isolated import Job
from ringlet.experiments.items import Item, pictures
from ringlet.experiments.methods import METHODS, Method
from ringlet.experiments.noise import Noise, TrialSeed, add_noise, generator, observed_entries
from ringlet.report.metrics import psnr, relative_error, ssim
from ringlet.report.pictures import show_missing
from ringlet.results.fit import Estimate, Fit
from ringlet.sources.dtypes import as_dtype
from ringlet.store.outputs import write_array

__all__ = ["OUT_OF_MEMORY", "Trial", "measure"]

OUT_OF_MEMORY = "out of memory: needs "

_SIDE = 256  # pixels of the pictures that are kept
_SHOWN_FRAME = 9  # the tenth
_SSIM_FRAMES = 10
_INTERPRETER = 150_000_000  # bytes that Python and its libraries take beside the data,
_SCORING = 50_000_000  # and the scores while they are computed


@dataclass(frozen=True)
class Trial:
    """A method with its settings on an item, in a numbered run with its own noise and mask.

    Attributes
    ----------
    experiment : str
    item : Item
    method : str
    run : int
        Counted from 1.
    noise : {"gmm", "salt-and-pepper"}
    observed : float
        Share of the entries.
    settings : dict
        Of the method, as `settings_for` gives them.
    clip : bool
        Score the estimate clipped to the data's range.
    """

    experiment: str
    item: Item
    method: str
    run: int
    noise: Noise
    observed: float
    settings: dict[str, Any]
    clip: bool = False

    job: ClassVar[Job] = "trial"

    @property
    def identity(self) -> dict[str, Any]:
        """Identity of the trial; the first part of its record."""
        return asdict(self) | {"item": self.item.name, "content": self.item.content}

    def argument(self, out: Path, budget: int) -> dict[str, Any]:
        """All that the trial needs, for JSON; pictures go into folder `out`."""
        return {"trial": asdict(self), "out": str(out), "budget": budget}

    def pictures(self, out: Path) -> dict[str, Path]:
        """Where pictures of the original, the damaged and the recovered item are kept."""
        folder = out / "pictures" / self.experiment / self.item.name
        samples = f"-J{self.settings['samples']}" if self.experiment == "ablation" else ""
        content = self.item.content
        return {
            "original": folder / f"original-{_mark(content)}.png",
            "damaged": folder / f"damaged-run{self.run}-{_mark(content, self.noise, self.observed)}.png",
            "recovered": folder / f"{self.method}{samples}-run{self.run}-{_mark(self.identity)}.png",
        }


def _mark(*parts: Any) -> str:
    """A short hash that distinguishes pictures of one name by content, noise and settings."""
    return f"{crc32(json.dumps(parts, sort_keys=True).encode()):08x}"


def measure(argument: dict[str, Any]) -> dict[str, Any]:
    """Run a trial, given as `Trial.argument` has it; what is measured, and the status."""
    given = argument["trial"]
    trial = Trial(**given | {"item": Item(**given["item"])})
    method = METHODS[trial.method]
    data = trial.item.tensor()
    needs = _needs(method, trial, data.shape, argument["budget"])
    if needs is not None:
        return {"status": f"{OUT_OF_MEMORY}{format_bytes(needs)}", "needs": needs}
    mask = None
    if trial.observed < 1:
        mask = observed_entries(data.shape, trial.observed, generator(trial.item.name, trial.run, TrialSeed.MASK))
    add_noise(data, trial.noise, generator(trial.item.name, trial.run, TrialSeed.NOISE), mask)
    paths = trial.pictures(Path(argument["out"]))
    _keep_damaged(paths["damaged"], data, mask)
    fit, costs = _timed_fit(method, trial, data, mask, _working_memory(trial, data.shape, argument["budget"]))
    del data, mask  # frees memory for the truth, which is read again instead of kept during the fit
    estimate = np.asarray(fit.ring) if isinstance(fit, Fit) else fit.tensor
    if trial.clip:
        estimate = np.clip(estimate, 0, 1, out=estimate if estimate.flags.writeable else None)
    truth = trial.item.tensor()
    _keep(paths["original"], truth)
    _keep(paths["recovered"], estimate)
    shown = np.linspace(0, len(pictures(truth)) - 1, min(_SSIM_FRAMES, len(pictures(truth)))).round().astype(int)
    pairs = [(pictures(estimate)[frame], pictures(truth)[frame]) for frame in shown]
    return {
        "status": "ok",
        "shape": list(truth.shape),
        "psnr": psnr(estimate, truth, 1.0),
        "ssim": float(np.mean([ssim(mine, true, 1.0) for mine, true in pairs])),
        "relative_error": relative_error(estimate, truth),
        **costs,
        "sweeps": len(fit.history),
        "ended": fit.status.name,
    }


def _needs(method: Method, trial: Trial, shape: tuple[int, ...], budget: int) -> int | None:
    """Memory of the trial in bytes, data included, if it exceeds the budget."""
    rank = trial.settings.get("rank")
    working = _working_memory(trial, shape, budget)
    scoring = _INTERPRETER + _SCORING + 8 * prod(shape)  # the estimate and the truth
    free = method.solver(trial.settings)
    try:
        if working <= 0 or budget < scoring:
            raise BudgetError("the data alone are too large")
        plan(shape, rank, solver=replace(free, memory=working), dtype=np.float32)
    except BudgetError:
        return max(plan(shape, rank, solver=free, dtype=np.float32).memory + budget - working, scoring)
    return None


def _working_memory(trial: Trial, shape: tuple[int, ...], budget: int) -> int:
    """The rest of the budget after the data, the mask and the interpreter."""
    return budget - _INTERPRETER - prod(shape) * (4 if trial.observed == 1 else 5)


def _timed_fit(
    method: Method, trial: Trial, data: NDArray[np.float32], mask: NDArray[np.bool_] | None, memory: int
) -> tuple[Fit | Estimate, dict[str, float]]:
    """The fit, its time by the clock and on all processors, and the peak memory of the process meanwhile."""
    import scipy.fft  # libraries that methods import when first used: not part of their time
    import scipy.linalg  # noqa: F401

    solver = method.solver(trial.settings, memory=memory)
    rank = trial.settings.get("rank")
    seed = int(generator(trial.item.name, trial.run, TrialSeed.FIT).integers(1 << 31))
    reset_peak_memory()
    start, worked = perf_counter(), process_time()
    fit: Fit | Estimate
    if trial.observed == 1:
        fit = decompose(data, rank, solver=solver, seed=seed)
    else:
        fit = complete(data, solver=solver, rank=rank, mask=mask, seed=seed)
    seconds, processor_seconds = perf_counter() - start, process_time() - worked
    return fit, {"seconds": seconds, "processor_seconds": processor_seconds, "peak_memory": peak_memory()}


def _keep_damaged(path: Path, data: NDArray[np.float32], mask: NDArray[np.bool_] | None) -> None:
    """Missing entries in grey."""
    pixels = as_dtype(255 * _shown(data), np.uint8)
    _write(path, pixels if mask is None else show_missing(pixels, _shown(mask)))


def _keep(path: Path, tensor: NDArray[Any]) -> None:
    _write(path, as_dtype(255 * _shown(tensor), np.uint8))


def _write(path: Path, pixels: NDArray[np.uint8]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_array(path, pixels, force=True)


def _shown(tensor: NDArray[Any]) -> NDArray[Any]:
    """The middle of the picture, or of the tenth frame."""
    frames = pictures(tensor)
    picture = frames[min(_SHOWN_FRAME, len(frames) - 1)]
    top, left = (max(0, (side - _SIDE) // 2) for side in picture.shape[:2])
    return picture[top : top + _SIDE, left : left + _SIDE]
