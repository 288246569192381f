"""Base of sources that wrap another one and change something."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.sources.base import Block, Chunks, Source

__all__ = ["WrappingSource"]


@dataclass(frozen=True)
class WrappingSource:
    """The same source; subclasses replace what differs.

    Attributes
    ----------
    source : Source
        The wrapped source.

    Examples
    --------
    >>> from ringlet.sources import as_source
    >>> WrappingSource(as_source(np.eye(2))).read((slice(0, 1), slice(0, 2)))[0].tolist()
    [[1.0, 0.0]]
    """

    source: Source

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of every mode."""
        return self.source.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the stored entries."""
        return self.source.dtype

    @property
    def chunks(self) -> Chunks | None:
        """Lengths of the stored chunks along every mode."""
        return self.source.chunks

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the modes, where they have any."""
        return self.source.names

    @property
    def units(self) -> str | None:
        """Unit of the entries, where it is known."""
        return self.source.units

    def read(self, block: Block, order: tuple[int, ...] | None = None) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Values of a block, and which of them are observed (None: all)."""
        return self.source.read(block, order)
