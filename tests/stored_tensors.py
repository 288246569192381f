"""What tests of stored data share: a clean and a damaged tensor, chunks, and an array that counts what is read."""

import threading
from collections import Counter

import numpy as np

from ringlet.sources import ChunkedSource
from ringlet.sources.chunked import regular_chunks

SHAPE, CHUNKS, RANK = (40, 36, 3, 20), (8, 6, 3, 5), (3, 3, 2, 2)


def clean_tensor():
    """A smooth tensor."""
    i, j, c, t = np.meshgrid(*(np.linspace(0, 2, n) for n in SHAPE), indexing="ij")
    return (120 + 60 * np.sin(i + t) * np.cos(j - c) + 20 * np.cos(3 * j) * t).astype(np.float32)


def damaged_tensor():
    """The same with outliers and holes."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random(SHAPE) < 0.1, 255, clean_tensor()).astype(np.float32)
    x[rng.random(SHAPE) < 0.2] = np.nan
    return x


def stored(x):
    """The tensor, read in chunks."""
    return ChunkedSource(x, regular_chunks(x.shape, CHUNKS))


def cells_of(index, sizes=CHUNKS):
    """The chunks that hold these indices, along every mode."""
    return [np.unique(chosen // size) for chosen, size in zip(index, sizes, strict=True)]


class Counting:
    """An array that counts how often every chunk of it is read, and by which threads."""

    def __init__(self, array, chunks=CHUNKS):
        self.array, self.dtype, self.chunks = array, array.dtype, chunks
        self.restart()

    def restart(self):
        """Count from zero."""
        self.reads, self.threads = Counter(), set()

    def __getitem__(self, block):
        for chunk in np.ndindex(*(-(-s.stop // c) - s.start // c for s, c in zip(block, self.chunks, strict=True))):
            self.reads[tuple(k + s.start // c for k, s, c in zip(chunk, block, self.chunks, strict=True))] += 1
        self.threads.add(threading.current_thread().name.split("_")[0])
        return self.array[block]
