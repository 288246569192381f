"""Is a memory budget kept? Fits a generated zarr store many times larger than the budget and measures the peak.

    python benchmarks/memory_budget.py --folder FOLDER --budget 150MB

The peak is that of the whole process, less what Python and the libraries take before the fit begins. Each solver runs
in a process of its own. Nothing here fails: it prints what it measured.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

SHAPE, CHUNKS, RANK = (600, 800, 50, 50), (100, 100, 10, 10), (8, 8, 8, 8)


def make(path: Path) -> None:
    """A smooth tensor with noise, a tenth of it ruined, chunk after chunk."""
    import zarr

    array = zarr.create_array(path, shape=SHAPE, chunks=CHUNKS, dtype="u1")
    rng = np.random.default_rng(0)
    for i in range(0, SHAPE[0], CHUNKS[0]):
        for j in range(0, SHAPE[1], CHUNKS[1]):
            a, b, c, d = np.ogrid[i : i + CHUNKS[0], j : j + CHUNKS[1], : SHAPE[2], : SHAPE[3]]
            x = 128 + 60 * np.sin(a / 50) * np.cos(b / 90 + c / 20) + 40 * np.cos(d / 9 + a / 200)
            x = x.astype(np.uint8) ^ rng.integers(0, 4, x.shape, np.uint8)
            x[rng.random(x.shape, np.float32) < 0.1] = 255
            array[i : i + CHUNKS[0], j : j + CHUNKS[1]] = x


def measure(path: Path, solver: str, budget: str, sweeps: int) -> None:
    """Fit, and print the peak as JSON."""
    import zarr

    import ringlet
    from ringlet.execution.memory import peak_memory, reset_peak_memory

    kind = {"awrtrd": ringlet.AWRTRD, "sawrtrd": ringlet.SAWRTRD}[solver]
    warm = np.random.default_rng(0).random((30, 20, 10))
    ringlet.decompose(warm, 2, solver=kind(sweeps=1, smooth=0.0))  # loads all libraries
    array = zarr.open_array(path, mode="r")
    array[:1, :1, :1, :1]
    reset_peak_memory()
    base = peak_memory()
    start = time.perf_counter()
    fit = ringlet.decompose(array, RANK, solver=kind(sweeps=sweeps, tol=0, smooth=0.0, memory=budget))
    planned = kind(memory=budget).plan(SHAPE, RANK, np.dtype("u1"), ringlet.sources.as_source(array).chunks)
    print(
        json.dumps(
            {
                "solver": solver,
                "budget": ringlet.amounts.parse_bytes(budget),
                "planned": planned.memory,
                "peak": peak_memory() - base,
                "base": base,
                "reads ahead": planned.reads_ahead,
                "seconds a sweep": round((time.perf_counter() - start) / len(fit.history), 1),
            }
        )
    )


def main() -> None:
    """Make the store if it is not there, then measure both solvers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--budget", default="150MB")
    parser.add_argument("--sweeps", type=int, default=2)
    parser.add_argument("--solver")
    given = parser.parse_args()
    path = given.folder / "budget.zarr"
    if given.solver:
        measure(path, given.solver, given.budget, given.sweeps)
        return
    if not path.exists():
        make(path)
    size = int(np.prod(SHAPE))
    for solver in ("sawrtrd", "awrtrd"):
        command = [sys.executable, __file__, "--folder", str(given.folder), "--budget", given.budget]
        command += ["--sweeps", str(given.sweeps), "--solver", solver]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603
        ratios = f"store {size / found['budget']:.1f}x the budget, peak {found['peak'] / found['budget']:.2f} of it"
        print(f"{ratios}; {found}")


if __name__ == "__main__":
    main()
