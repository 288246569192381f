"""The last slices of a tensor whose earlier slices are no longer stored."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import IndexingError
from ringlet.sources.base import Block, Chunks
from ringlet.sources.wrapped import WrappingSource

__all__ = ["AppendedSource"]


@dataclass(frozen=True)
class AppendedSource(WrappingSource):
    """A source that counts its slices along one mode from `first`, as part of a longer tensor.

    Attributes
    ----------
    source : Source
        The slices that are held.
    mode : int
    first : int
        Number of slices before them, which are not held.

    Examples
    --------
    >>> import numpy as np
    >>> from ringlet.sources import as_source
    >>> tail = AppendedSource(as_source(np.arange(6.0).reshape(2, 3)), mode=1, first=10)
    >>> tail.shape
    (2, 13)
    >>> tail.read((slice(0, 2), slice(11, 12)))[0].tolist()
    [[1.0], [4.0]]
    """

    mode: int
    first: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of every mode, the slices that are not held included."""
        shape = list(self.source.shape)
        shape[self.mode] += self.first
        return tuple(shape)

    @property
    def chunks(self) -> Chunks | None:
        """Chunks of the slices held, after a single chunk of all slices that are not."""
        chunks = self.source.chunks
        if chunks is None:
            return None
        return (*chunks[: self.mode], (self.first, *chunks[self.mode]), *chunks[self.mode + 1 :])

    def read(self, block: Block, order: tuple[int, ...] | None = None) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Values of a block of the slices held, and which are observed; an IndexingError for any other."""
        length = self.shape[self.mode]
        chosen = block[self.mode]
        asked = np.arange(length)[chosen]
        if asked.size and asked.min() < self.first:
            raise IndexingError(
                f"the data of slice {int(asked.min())} of mode {self.mode} are not held: only those of slices "
                f"{self.first} to {length - 1}, which were appended last, are; use the earlier fit for the others"
            )
        within: slice | NDArray[np.intp] = asked - self.first
        if isinstance(chosen, slice) and chosen.step in (None, 1):
            start, stop, _ = chosen.indices(length)
            within = slice(start - self.first, max(start, stop) - self.first)
        return self.source.read((*block[: self.mode], within, *block[self.mode + 1 :]), order)
