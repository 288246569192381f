"""What one core update looks at: some indices of a source, and the cores at those indices."""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.chain import Core
from ringlet.sources import Source

__all__ = ["Sketch"]


@dataclass(frozen=True)
class Sketch:
    """What one core update looks at.

    Attributes
    ----------
    source : Source
    mode : int
        The core that is updated, k.
    index : tuple of int arrays
        Indices used of every mode, all of mode k.
    cores : list of arrays
        The cores at those indices.
    row_weights : array of length J, optional
        Factor of every column (leverage sampling).
    """

    source: Source
    mode: int
    index: tuple[NDArray[np.intp], ...]
    cores: list[Core]
    row_weights: NDArray[np.floating[Any]] | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Indices used of every mode."""
        return tuple(map(len, self.index))

    @property
    def columns(self) -> int:
        """Entries of one slice, J."""
        return prod(self.sizes) // len(self.index[self.mode])
