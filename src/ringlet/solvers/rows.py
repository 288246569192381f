"""Single rows of the unfolding as an order-2 problem, so that row sampling runs through the same streamed pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.chain import Core
from ringlet.sources import ArraySource, Block, Chunks

__all__ = ["RowSource", "row_core"]


@dataclass(frozen=True)
class RowSource:
    """The columns of the mode-k unfolding at sampled rows of the subchain, as a matrix (I_k, J)."""

    source: ArraySource
    mode: int
    rows: tuple[NDArray[np.intp], ...]
    chunks: Chunks | None = None
    names: tuple[str, ...] | None = None
    units: str | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """(I_k, J)."""
        return self.source.shape[self.mode], len(self.rows[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the stored entries."""
        return self.source.dtype

    def read(self, block: Block, order: tuple[int, ...] | None = None) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Values of a block, and which of them are observed (None: all), with the axes in the given order."""
        slices, columns = block
        values, observed = self.source.read_rows(self.mode, slices, tuple(row[columns] for row in self.rows))
        axes = order or (0, 1)
        return values.transpose(axes), None if observed is None else observed.transpose(axes)


def row_core(cores: Sequence[Core], mode: int, rows: tuple[NDArray[np.intp], ...]) -> Core:
    """Products of the cores' slices at sampled rows: one core (r_{k+1}, J, r_k) in place of all others.

    `rows` holds the indices of modes 0 .. N-1 without `mode`, in that order.
    """
    order = len(cores)
    others = [other for other in range(order) if other != mode]
    indices = dict(zip(others, rows, strict=True))
    chain = [(mode + step) % order for step in range(1, order)]
    slices = (cores[other][:, indices[other], :].transpose(1, 0, 2) for other in chain)
    product: NDArray[Any] = reduce(np.matmul, slices)
    return product.transpose(1, 0, 2)
