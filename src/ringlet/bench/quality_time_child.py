"""One competitor of `ringlet bench quality-time`, in a process of its own: fits, and pauses after every sweep.

Run as a script, so that it can import another version of Ringlet than the one that started it: it uses public names
only. After each sweep it writes a line of JSON and waits for a line before it goes on. Neither scoring nor waiting is
timed.
"""

import json
import sys
from collections.abc import Callable
from time import perf_counter, process_time
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Fit: TypeAlias = Callable[[Any, Any, Callable[[Any], None]], None]  # of data and mask, with a callback

_SCORED = 10  # slices of the last mode of a video, at most, that are compared with the truth


def tell(found: dict[str, float]) -> None:
    """Write a line."""
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


def score(state: Any, truth: NDArray[np.uint8]) -> float:
    """PSNR in dB of the present estimate, a few slices at a time."""
    ring = getattr(state, "ring", None)
    estimate = state.tensor if ring is None else ring
    step = max(1, truth.shape[-1] // _SCORED)
    squares, entries = 0.0, 0
    for place in range(step // 2, truth.shape[-1], step):
        error = np.asarray(estimate[..., place], np.float32) - truth[..., place]
        squares, entries = squares + float(np.vdot(error, error)), entries + error.size
    return 10 * float(np.log10(255.0**2 * entries / max(squares, 1e-30)))


def main() -> None:
    """Fit as the argument describes, which is JSON."""
    from ringlet.execution.memory import peak_memory

    told = json.loads(sys.argv[1])
    data, truth = np.load(f"{told['folder']}/data.npy"), np.load(f"{told['folder']}/truth.npy", mmap_mode="r")
    mask = np.load(f"{told['folder']}/mask.npy") if told["masked"] else None
    fit = tensorly_fit(told) if told["kind"] == "TensorLy" else ringlet_fit(told)  # imports are not timed
    sys.stdin.readline()
    spent, begun = [0.0, 0.0], [process_time(), perf_counter()]

    def after_sweep(state: Any) -> None:
        now = process_time(), perf_counter()
        spent[:] = [total + end - start for total, end, start in zip(spent, now, begun, strict=True)]
        tell({"processor": spent[0], "wall": spent[1], "psnr": score(state, truth)})
        sys.stdin.readline()
        begun[:] = process_time(), perf_counter()

    fit(data, mask, after_sweep)
    tell({"peak": peak_memory()})


def ringlet_fit(told: dict[str, Any]) -> Fit:
    """A fit by a solver of Ringlet."""
    import ringlet
    from ringlet import complete

    kind = getattr(ringlet, told["kind"], None) or getattr(ringlet.baselines, told["kind"])
    solver, rank = kind(**told["fields"]), None if told["rank"] is None else tuple(told["rank"])

    def fit(data: Any, mask: Any, after_sweep: Callable[[Any], None]) -> None:
        complete(data, solver=solver, rank=rank, mask=mask, callback=after_sweep)

    return fit


def tensorly_fit(told: dict[str, Any]) -> Fit:
    """TensorLy's least squares from sampled rows, which know no missing entries: they get the mean of the others."""
    from tensorly.decomposition import tensor_ring_als_sampled

    from ringlet import TensorRing

    def fit(data: Any, mask: Any, after_sweep: Callable[[Any], None]) -> None:
        filled = data.astype(np.float32)
        if mask is not None:
            filled[~mask] = filled[mask].mean(dtype=np.float64)

        def callback(cores: Any, _: Any) -> None:  # the first time before the first sweep
            after_sweep(SimpleNamespace(ring=TensorRing([np.asarray(core, np.float32) for core in cores])))

        tensor_ring_als_sampled(
            filled,
            [*told["rank"], told["rank"][0]],
            told["fields"]["samples"],
            n_iter_max=told["fields"]["sweeps"],
            tol=0.0,
            uniform_sampling=True,
            randomized_error=True,  # the exact one needs the dense tensor after every sweep
            random_state=0,
            callback=callback,
        )

    return fit


if __name__ == "__main__":
    main()
