"""What a source of tensor entries is: a shape, a dtype, and blocks read on demand."""

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Block", "Source"]

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

    @property
    def complete(self) -> bool:
        """True if no entry can be missing."""
        ...

    def read(self, block: Block) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Values of a block, and which of them are observed (None: all). Values are never to be written to."""
        ...
