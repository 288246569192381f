"""What does sampling by chunks cost in quality and save in reading? Fits a video from a zarr store both ways.

    python benchmarks/chunk_sampling.py clip.mp4 --folder FOLDER

A fifth of the entries is ruined with salt and pepper. Prints the chunks that a sweep reads, and the PSNR against the
clean video after 10, 20 and 30 sweeps, for uniform subtensors and for those from chunks. Nothing here fails.
"""

import argparse
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import zarr

import ringlet
from ringlet.sources import ChunkedSource, as_source
from ringlet.sources.files import load

CHUNKS, RANK, FRAMES = (64, 64, 3, 10), (20, 20, 3, 9), 50


class Counting:
    """A zarr array that counts the chunks that are read of it."""

    def __init__(self, array: Any) -> None:
        self.array, self.dtype, self.chunks = array, array.dtype, Counter()

    def __getitem__(self, block: tuple[slice, ...]) -> Any:
        spans = [range(s.start // c, -(-s.stop // c)) for s, c in zip(block, CHUNKS, strict=True)]
        self.chunks.update(product(*spans))
        return self.array[block]


def main() -> None:
    """Damage, store, fit twice for every seed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("video", type=Path)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    clean = load(given.video, frames=FRAMES).array
    for seed in range(given.seeds):
        rng = np.random.default_rng(seed)
        noise = np.where(rng.random(clean.shape) < 0.5, 0, 255)
        damaged = np.where(rng.random(clean.shape) < 0.2, noise, clean).astype(np.uint8)
        path = given.folder / f"{given.video.stem}-{seed}.zarr"
        array = zarr.create_array(path, shape=clean.shape, chunks=CHUNKS, dtype="u1", overwrite=True)
        array[...] = damaged
        for sampling in ("uniform-subtensor", "subtensor"):
            report(array, clean, given.samples, sampling, seed)


def report(array: Any, clean: Any, samples: int, sampling: Any, seed: int) -> None:
    """Fit once and print."""
    chunks = as_source(array).chunks or ()
    counting = Counting(array)
    source = ChunkedSource(counting, chunks)
    found: list[str] = []
    before: list[int] = []

    def look(state: Any) -> None:
        before.append(sum(counting.chunks.values()))
        if state.sweep in (10, 20, 30):
            squares = [
                np.square(state.ring[..., t].astype(np.float64) - clean[..., t]).mean() for t in range(clean.shape[-1])
            ]
            found.append(f"{10 * np.log10(255**2 / np.mean(squares)):.2f}")

    solver = ringlet.SAWRTRD(smooth=0.0, samples=samples, sweeps=30, tol=0, sampling=sampling)
    fit = ringlet.decompose(source, RANK, solver=solver, seed=seed, callback=look)
    sweep = (before[-1] - before[0]) / (len(before) - 1)
    visited = len(counting.chunks) / np.prod([len(lengths) for lengths in chunks])
    seconds = sum(record.seconds for record in fit.history)
    print(
        f"seed {seed} {sampling:18} {sweep:6.0f} chunks a sweep, {visited:.0%} visited, "
        f"PSNR {' '.join(found)} dB, {seconds:.0f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
