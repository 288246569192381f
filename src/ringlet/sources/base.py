"""What a source of tensor entries is: a shape, a dtype, and blocks read on demand."""

from collections.abc import Sequence
from itertools import accumulate, pairwise, product
from math import prod
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Block", "Chunks", "Source", "aligned_blocks", "slabs"]

_SLAB_ENTRIES = 1 << 22

# One selection a mode: a slice or a sorted array of indices. Together they span a subtensor (outer indexing).
Block: TypeAlias = tuple[slice | NDArray[np.intp], ...]

# The lengths of the stored chunks along every mode, in order, as dask writes them: ((64, 64, 22), (3,)).
Chunks: TypeAlias = tuple[tuple[int, ...], ...]


class Source(Protocol):
    """Where entries come from. Nothing outside a block that is read needs to be in memory."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of every mode."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the stored entries."""
        ...

    @property
    def chunks(self) -> Chunks | None:
        """Lengths of the stored chunks along every mode, or None where any entry costs the same to read."""
        ...

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the modes, where they have any."""
        ...

    @property
    def units(self) -> str | None:
        """Unit of the entries, where it is known."""
        ...

    def read(self, block: Block, order: tuple[int, ...] | None = None) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Values of a block, and which of them are observed (None: all). Values are never to be written to.

        With `order` the axes of both come in that order, as if transposed.
        """
        ...


def slabs(shape: Sequence[int], entries: int | None = None) -> list[tuple[slice, ...]]:
    """Blocks that divide the longest mode into slabs of about `entries` entries, in order.

    Examples
    --------
    >>> [(block[1].start, block[1].stop) for block in slabs((2, 6), entries=4)]
    [(0, 2), (2, 4), (4, 6)]
    >>> slabs((2, 0))
    []
    """
    if not prod(shape):
        return []
    mode = max(range(len(shape)), key=lambda mode: shape[mode])
    step = max(1, (entries or _SLAB_ENTRIES) * shape[mode] // prod(shape))
    whole = [slice(0, length) for length in shape]
    return [
        (*whole[:mode], slice(start, min(start + step, shape[mode])), *whole[mode + 1 :])
        for start in range(0, shape[mode], step)
    ]


def aligned_blocks(chunks: Chunks, entries: int | None = None) -> list[tuple[slice, ...]]:
    """Blocks of whole chunks, each of at most about `entries` entries and at least one chunk, in order.

    Together they cover everything, so a pass over them reads every chunk once. They are as cubic as the chunks allow.

    Examples
    --------
    >>> aligned_blocks(((2, 2, 1), (3, 3)), entries=12)
    [(slice(0, 4, None), slice(0, 3, None)), (slice(0, 4, None), slice(3, 6, None)), (slice(4, 5, None), \
slice(0, 3, None)), (slice(4, 5, None), slice(3, 6, None))]
    """
    together = [1] * len(chunks)  # chunks of every mode in a block
    longest = [max(lengths) for lengths in chunks]
    growing = {mode for mode, lengths in enumerate(chunks) if len(lengths) > 1}
    while growing:
        mode = min(growing, key=lambda mode: together[mode] * longest[mode])
        together[mode] += 1
        if prod(count * length for count, length in zip(together, longest, strict=True)) > (entries or _SLAB_ENTRIES):
            together[mode] -= 1
            growing.remove(mode)
        elif together[mode] == len(chunks[mode]):
            growing.remove(mode)
    return list(product(*map(_spans, chunks, together)))


def _spans(lengths: Sequence[int], together: int) -> list[slice]:
    edges = [0, *accumulate(lengths)]
    cuts = [*edges[:-1:together], edges[-1]]
    return [slice(start, stop) for start, stop in pairwise(cuts)]
