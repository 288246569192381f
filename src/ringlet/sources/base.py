"""What a source of tensor entries is: a shape, a dtype, and blocks read on demand."""

from collections.abc import Sequence
from math import prod
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Block", "Source", "slabs"]

_SLAB_ENTRIES = 1 << 22

# One selection a mode: a slice or a sorted array of indices. Together they span a subtensor (outer indexing).
Block: TypeAlias = tuple[slice | NDArray[np.intp], ...]


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
    def chunks(self) -> tuple[int, ...] | None:
        """Size of a stored chunk along every mode, or None where any entry costs the same."""
        ...

    def read(self, block: Block, order: tuple[int, ...] | None = None) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Values of a block, and which of them are observed (None: all). Values are never to be written to.

        With `order` the axes of both come in that order, as if transposed.
        """
        ...


def slabs(shape: Sequence[int], entries: int | None = None) -> list[tuple[slice, ...]]:
    """Blocks that cut the longest mode into slabs of about `entries` entries, in order.

    Examples
    --------
    >>> [(block[1].start, block[1].stop) for block in slabs((2, 6), entries=4)]
    [(0, 2), (2, 4), (4, 6)]
    """
    mode = max(range(len(shape)), key=lambda mode: shape[mode])
    step = max(1, (entries or _SLAB_ENTRIES) * shape[mode] // prod(shape))
    whole = [slice(0, length) for length in shape]
    return [
        (*whole[:mode], slice(start, min(start + step, shape[mode])), *whole[mode + 1 :])
        for start in range(0, shape[mode], step)
    ]
