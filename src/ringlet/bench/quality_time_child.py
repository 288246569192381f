"""One competitor of `ringlet bench quality-time`, in a process of its own: fits, and pauses after every sweep.

Run as a script, so that it can import another version of Ringlet than the one that started it: it uses public names
only. After each sweep it writes a line of JSON and waits for a line before it goes on. Neither scoring nor waiting is
timed.
"""

import json
import sys
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    import ringlet
    from ringlet.execution.memory import peak_memory

    told = json.loads(sys.argv[1])
    data, truth = np.load(f"{told['folder']}/data.npy"), np.load(f"{told['folder']}/truth.npy", mmap_mode="r")
    mask = np.load(f"{told['folder']}/mask.npy") if told["masked"] else None
    kind = getattr(ringlet, told["kind"], None) or getattr(ringlet.baselines, told["kind"])
    sys.stdin.readline()
    spent, begun = [0.0, 0.0], [process_time(), perf_counter()]

    def after_sweep(state: Any) -> None:
        now = process_time(), perf_counter()
        spent[:] = [total + end - start for total, end, start in zip(spent, now, begun, strict=True)]
        tell({"processor": spent[0], "wall": spent[1], "psnr": score(state, truth)})
        sys.stdin.readline()
        begun[:] = process_time(), perf_counter()

    solver = kind(**told["fields"])
    rank = None if told["rank"] is None else tuple(told["rank"])
    ringlet.complete(data, solver=solver, rank=rank, mask=mask, callback=after_sweep)
    tell({"peak": peak_memory()})


if __name__ == "__main__":
    main()
