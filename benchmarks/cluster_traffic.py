"""Does a cluster carry what `plan --workers` predicts? One sweep over a generated 1080p video in a zarr store.

    python benchmarks/cluster_traffic.py --folder FOLDER

Each solver makes a sweep without a cluster and one on a LocalCluster of two processes with one thread each. Nothing
here fails: it prints what was predicted, what was measured, and whether the bits are the same.
"""

import argparse
import logging
import time
from pathlib import Path

import numpy as np

SHAPE, CHUNKS, WORKERS = (1920, 1080, 3, 50), (240, 135, 3, 25), 2


def make(path: Path) -> None:
    """A smooth video with noise, a tenth of it black, chunk after chunk."""
    import zarr

    array = zarr.create_array(path, shape=SHAPE, chunks=CHUNKS, dtype="u1")
    rng = np.random.default_rng(0)
    i, j, c, _ = np.ogrid[: SHAPE[0], : SHAPE[1], : SHAPE[2], :1]
    for first in range(0, SHAPE[3], CHUNKS[3]):
        t = np.arange(first, first + CHUNKS[3])
        waves = np.sin(i / 97 + t / 9, dtype=np.float32) * np.cos(j / 61 - t / 13, dtype=np.float32)
        x = 128 + 60 * waves + 20 * np.cos(c + i / 300 + j / 200, dtype=np.float32)
        x += rng.integers(-8, 9, x.shape, np.int8)
        x[rng.random(x.shape, np.float32) < 0.1] = 0
        array[..., first : first + CHUNKS[3]] = np.clip(x, 0, 255).astype(np.uint8)


def main() -> None:
    """Make the store if it is not there, then measure both solvers."""
    from distributed import Client, LocalCluster

    import ringlet
    from ringlet.solvers.engine.cluster_plan import distribute

    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    path = parser.parse_args().folder / "traffic.zarr"
    if not path.exists():
        make(path)
    cases = [
        (ringlet.SAWRTRD(samples=30_000, sweeps=1, tol=0, threads=1, ridge=0, smooth=0), (80, 80, 3, 20)),
        (ringlet.AWRTRD(sweeps=1, tol=0, threads=1, ridge=0, smooth=0), (20, 20, 3, 9)),
    ]
    quiet = {"n_workers": WORKERS, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.ERROR}
    with LocalCluster(**quiet) as cluster, Client(cluster) as client:
        for solver, rank in cases:
            start = time.perf_counter()
            alone = ringlet.decompose(path, rank, solver=solver)
            executor = ringlet.DaskExecutor(client)
            between = time.perf_counter()
            spread = ringlet.decompose(path, rank, solver=solver, executor=executor)
            seconds = between - start, time.perf_counter() - between
            same = all(np.array_equal(a, b) for a, b in zip(alone.ring.cores, spread.ring.cores, strict=True))
            print(type(solver).__name__, "rank", rank, "same bits" if same else "OTHER BITS")
            print("  predicted", distribute(ringlet.plan(SHAPE, rank, solver=solver, chunks=CHUNKS), WORKERS))
            print("  measured ", executor.traffic)
            print(f"  seconds without the cluster {seconds[0]:.1f}, with it {seconds[1]:.1f}")


if __name__ == "__main__":
    main()
