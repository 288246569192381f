"""A wide matrix, read in blocks of columns: unfoldings of data that are never held whole in floating point.

Blocks depend on sizes only and are summed in order, so the bits do not depend on the number of threads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from ringlet.ring.arrays import Floats, Mapper
from ringlet.sampling import Purpose, stream
from ringlet.sources import Block, Source
from ringlet.sources.base import slabs

__all__ = ["Unfolding", "block_entries", "unfold_array", "unfold_source"]

Columns: TypeAlias = tuple[slice, ...]

_BLOCK_ENTRIES = 1 << 20
_BLOCK_ROWS = 4  # least number of columns of a block for each row, so that factors are small compared with blocks


@dataclass(frozen=True)
class Unfolding:
    """A matrix C whose columns carry several indices.

    Attributes
    ----------
    rows : int
    sizes : tuple of int
        Ranges of the column indices, the last fastest.
    dtype : dtype
    read : callable
        The columns of a block, as an array of shape ``(rows, number of columns)``.

    Examples
    --------
    >>> import numpy as np
    >>> unfold_array(np.arange(6.0).reshape(2, 3)).project(np.eye(2)[:, :1], map)
    array([[0., 1., 2.]])
    """

    rows: int
    sizes: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[Columns], Floats]

    @property
    def columns(self) -> int:
        """Number of columns."""
        return prod(self.sizes)

    @property
    def blocks(self) -> list[Columns]:
        """The columns in pieces."""
        return slabs(self.sizes, max(1, block_entries(self.rows) // self.rows))

    def triangle(self, mapper: Mapper) -> Floats:
        """R of ``C^T = Q R``, by factors of blocks: it has the singular values and the left vectors of C."""
        factors = list(mapper(lambda block: np.linalg.qr(self.read(block).T, mode="r"), self.blocks))
        return np.asarray(factors[0] if len(factors) == 1 else np.linalg.qr(np.concatenate(factors), mode="r"))

    def squared_norm(self, mapper: Mapper) -> float:
        """``|| C ||_F^2``."""

        def squares(block: Columns) -> float:
            entries = self.read(block)
            return float(np.einsum("ij,ij->", entries, entries, dtype=np.float64))

        return float(sum(mapper(squares, self.blocks)))

    def project(self, basis: Floats, mapper: Mapper) -> Floats:
        """``Q^T C`` for Q of shape ``(rows, k)``, as an array of shape ``(k, *sizes)``."""
        out = np.empty((basis.shape[1], *self.sizes), self.dtype)

        def project_block(block: Columns) -> None:
            part = out[(slice(None), *block)]
            part[...] = (basis.T @ self.read(block)).reshape(part.shape)

        for _ in mapper(project_block, self.blocks):
            pass
        return out

    def sketch(self, width: int, seed: int, step: int, mapper: Mapper) -> Floats:
        """``C G`` for a Gaussian G with `width` columns, made a block of rows at a time and never held whole."""

        def sketch_block(numbered: tuple[int, Columns]) -> Floats:
            number, block = numbered
            rng = stream(seed, Purpose.SKETCH, number, step)
            entries = self.read(block)
            gaussian = rng.standard_normal((entries.shape[1], width)).astype(self.dtype)
            return np.asarray(entries @ gaussian)

        return self._sum(mapper(sketch_block, enumerate(self.blocks)), width)

    def power(self, basis: Floats, mapper: Mapper) -> Floats:
        """``C (C^T Q)``."""

        def power_block(block: Columns) -> Floats:
            entries = self.read(block)
            return entries @ (entries.T @ basis)

        return self._sum(mapper(power_block, self.blocks), basis.shape[1])

    def _sum(self, parts: Any, width: int) -> Floats:
        total = np.zeros((self.rows, width), self.dtype)
        for part in parts:
            total += part
        return total


def unfold_source(source: Source, mode: int, size: float, dtype: np.dtype[Any]) -> Unfolding:
    """The mode-k unfolding of complete data divided by `size`, columns in cyclic order k+1 .. N, 1 .. k-1."""
    order = len(source.shape)
    cyclic = [(mode + step) % order for step in range(order)]
    factor = dtype.type(1.0 / size)

    def read(columns: Columns) -> Floats:
        chosen = dict(zip(cyclic, (slice(0, source.shape[mode]), *columns), strict=True))
        block: Block = tuple(chosen[other] for other in range(order))
        values, _ = source.read(block)
        turned = values.transpose(cyclic)
        scaled: Floats = np.multiply(turned, factor, dtype=dtype, casting="unsafe", order="C")
        return scaled.reshape(len(turned), -1)

    return Unfolding(source.shape[mode], tuple(source.shape[other] for other in cyclic[1:]), dtype, read)


def unfold_array(array: Floats) -> Unfolding:
    """The mode-0 unfolding of an array."""

    def read(columns: Columns) -> Floats:
        return array[(slice(None), *columns)].reshape(len(array), -1)

    return Unfolding(len(array), array.shape[1:], array.dtype, read)


def block_entries(rows: int) -> int:
    """Entries of a block of columns."""
    return max(_BLOCK_ENTRIES, _BLOCK_ROWS * rows * rows)
