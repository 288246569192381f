"""Random subtensors of data stored in chunks: which chunks first, then indices inside them.

A uniform draw touches nearly every chunk for a hundredth of the entries. Here a few chunks of every mode are chosen,
and indices only within those. Which ones changes from sweep to sweep along a fixed walk: every group of chunks of a
mode comes up equally often, and after one round every chunk of the data has been visited.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, lcm, prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.sampling.draws import Purpose, draw_subtensor, sample_sizes, stream, subset
from ringlet.sources.base import Chunks, Source

__all__ = ["ChunkDraw", "draw_entries"]

Indices: TypeAlias = NDArray[np.intp]

# Least number of chunks of a mode that is not taken whole, if the mode has that many and they are long enough: a single
# chunk does not represent the mode. More chunks gain little and are chosen only while few of all chunks are read.
_LEAST, _MOST, _SHARE = 2, 4, 1 / 7


@dataclass(frozen=True)
class ChunkDraw:
    """Draws subtensors of about as many entries as a uniform draw, but from fewer chunks.

    Attributes
    ----------
    starts : tuple of int arrays
        Where the intervals begin that are chosen or not, and where the last ends: chunks, but a short chunk is joined
        to its neighbour.
    groups : tuple of int
        Into how many groups the intervals of every mode are divided; one group is chosen.
    sizes : tuple of int
        Indices taken of every mode, at most.

    Examples
    --------
    >>> draw = ChunkDraw.plan(((64,) * 30, (64,) * 20, (3,)), samples=5_000, whole=None)
    >>> draw.groups, draw.sizes
    ((8, 5, 1), (41, 41, 3))
    >>> [len(indices) for indices in draw.indices(seed=0, purpose=Purpose.SAMPLE, sweep=1, mode=0)]
    [41, 41, 3]
    """

    starts: tuple[Indices, ...]
    groups: tuple[int, ...]
    sizes: tuple[int, ...]

    @classmethod
    def plan(cls, chunks: Chunks, samples: int, whole: int | None) -> "ChunkDraw":
        """Choose how many chunks and indices of every mode to take; mode `whole` is taken whole and does not count."""
        starts = tuple(_intervals(lengths) for lengths in chunks)
        others = [mode for mode in range(len(chunks)) if mode != whole]
        groups = [1] * len(chunks)
        for mode, count in zip(others, _groups([starts[mode] for mode in others], samples), strict=True):
            groups[mode] = count
        sizes = [int(edges[-1]) for edges in starts]
        capacities = tuple(_capacity(starts[mode], groups[mode]) for mode in others)
        for mode, size in zip(others, sample_sizes(capacities, samples), strict=True):
            sizes[mode] = size
        return cls(starts, tuple(groups), tuple(sizes))

    @property
    def round(self) -> int:
        """Sweeps after which every chunk has been visited."""
        return prod(self.groups)

    @property
    def touched(self) -> int:
        """Approximate number of entries of the chunks that are read for one subtensor."""
        return prod(
            ceil(int(starts[-1]) / count) if size > 1 else int(np.diff(starts).max())
            for starts, count, size in zip(self.starts, self.groups, self.sizes, strict=True)
        )

    def indices(self, seed: int, purpose: Purpose, sweep: int, mode: int) -> tuple[Indices, ...]:
        """Sorted indices of every mode, for one core update in one sweep (counted from 1)."""
        turn, position = divmod(max(sweep - 1, 0), self.round)
        shuffling = stream(seed, Purpose.CHUNKS, turn, mode)
        rng = stream(seed, purpose, sweep, mode)
        found = []
        for starts, groups, place, size in zip(
            self.starts, self.groups, _walk(position, self.groups), self.sizes, strict=True
        ):
            order = shuffling.permutation(len(starts) - 1) if groups > 1 else np.arange(len(starts) - 1)
            group = np.sort(np.array_split(order, groups)[place])
            within = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in group])
            found.append(within[subset(len(within), size, rng)])
        return tuple(found)


def draw_entries(
    source: Source, samples: int, seed: int, purpose: Purpose, sweep: int = 0, mode: int = 0
) -> tuple[Indices, ...]:
    """Indices of a random subtensor over all modes; of stored data inside a few chunks."""
    if source.chunks is None:
        return draw_subtensor(source.shape, samples, stream(seed, purpose, sweep, mode))
    return ChunkDraw.plan(source.chunks, samples, whole=None).indices(seed, purpose, sweep, mode)


def _intervals(lengths: Sequence[int]) -> Indices:
    """Edges of the chunks of a mode; chunks of less than half the usual length are joined to the one before."""
    edges, usual = [0], max(lengths)
    for length in lengths:
        if len(edges) > 1 and 2 * length < usual:
            edges[-1] += length
        else:
            edges.append(edges[-1] + length)
    return np.array(edges)


def _groups(starts: Sequence[Indices], samples: int) -> list[int]:
    """Number of groups of the intervals of every mode; a mode that a uniform draw takes whole is one group."""
    counts = [len(edges) - 1 for edges in starts]
    lengths = tuple(int(edges[-1]) for edges in starts)
    sizes = sample_sizes(lengths, samples)
    groups = [1] * len(starts)
    for mode, (count, length, size) in enumerate(zip(counts, lengths, sizes, strict=True)):
        if size < length:
            needed = ceil(size / int(np.diff(starts[mode]).max()))
            groups[mode] = max(1, min(count // _LEAST, ceil(count / needed)))

    def enough() -> bool:
        return prod(map(_capacity, starts, groups)) >= samples

    growing = {mode for mode, count in enumerate(groups) if count > 1}
    while growing:  # larger groups, first in the mode of which the smallest share is read
        mode = max(growing, key=lambda mode: (groups[mode], -mode))
        fewer = groups[mode] - 1
        share = groups[mode] / (fewer * prod(groups))
        if enough() and (counts[mode] / fewer > min(_MOST, sizes[mode]) or share > _SHARE):
            growing.remove(mode)
            continue
        groups[mode] = fewer
        if fewer == 1:
            growing.remove(mode)
    return groups


def _capacity(edges: Indices, groups: int) -> int:
    """Indices of a mode in one group of its intervals."""
    return min(int(edges[-1]), (len(edges) - 1) // groups * int(np.diff(edges).max()))


def _walk(position: int, groups: Sequence[int]) -> list[int]:
    """One group of every mode: all combinations come up in ``prod(groups)`` steps, those of a single mode in turn.

    For two modes: the diagonals of a chessboard, one after the other. For more, the walk over the first ones is the
    first coordinate.
    """
    places = []
    before = prod(groups)
    for count in reversed(groups):
        before //= count
        places.append((position + position // lcm(before, count)) % count)
        position %= before
    return places[::-1]
