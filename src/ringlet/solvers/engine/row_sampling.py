"""Single rows of the unfolding as an order-2 problem, so that row sampling runs through the same streamed pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.chain import Core, merge
from ringlet.sampling import draw_rows, leverage_distribution
from ringlet.solvers.engine.streamed_pass import Sketch
from ringlet.sources import ArraySource, Block, Chunks

__all__ = ["RowSource", "row_core", "row_sketch"]

_SMALL_RANK = 6  # up to this rank, J small products are faster entry by entry than one by one


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


def row_sketch(
    source: ArraySource,
    cores: Sequence[Core],
    mode: int,
    samples: int,
    rng: np.random.Generator,
    *,
    by_leverage: bool,
) -> Sketch:
    """Random rows, uniform or by leverage scores, as an order-2 problem: core k, the product of all others there."""
    others = [core for other, core in enumerate(cores) if other != mode]
    if by_leverage:
        distributions = [leverage_distribution(core) for core in others]
    else:
        distributions = [np.full(core.shape[1], 1.0 / core.shape[1]) for core in others]
    rows, weights = draw_rows(distributions, samples, rng)
    row_source = RowSource(source, mode, rows)
    index = tuple(np.arange(length) for length in row_source.shape)
    relative = (weights / weights.mean()).astype(cores[mode].dtype)
    both = [cores[mode], row_core(cores, mode, rows)]
    return Sketch(row_source, 0, index, both, relative if by_leverage else None)


def row_core(cores: Sequence[Core], mode: int, rows: tuple[NDArray[np.intp], ...]) -> Core:
    """Products of the cores' slices at sampled rows: one core (r_{k+1}, J, r_k) in place of all others.

    `rows` holds the indices of modes 0 .. N-1 without `mode`, in that order. In memory, the rows (r_k, r_{k+1}) of the
    subchain lie one after the other, or, where ranks are small, their entries at all J rows do.
    """
    order = len(cores)
    indices = dict(zip((other for other in range(order) if other != mode), rows, strict=True))
    small = max(core.shape[0] for core in cores) <= _SMALL_RANK
    parts: list[tuple[Core, NDArray[np.intp]]] = []
    for other in ((mode + step) % order for step in range(1, order)):
        core, places = cores[other], indices[other]
        if parts and parts[-1][0].shape[1] * core.shape[1] <= len(places):  # all products of two modes are fewer
            before, places_before = parts.pop()
            places = places_before * core.shape[1] + places
            core = _merge_columns(before, core) if small else merge([before, core])
        parts.append((core, places))
    parts.reverse()
    if small:
        columns = (core.transpose(2, 0, 1).take(places, axis=2) for core, places in parts)  # Z(i)^T, i fastest
        return reduce(_multiply_columns, columns).transpose(1, 2, 0)
    slices = (core.transpose(1, 0, 2).take(places, axis=0) for core, places in parts)
    product: NDArray[Any] = reduce(np.matmul, (part.transpose(0, 2, 1) for part in slices))
    return product.transpose(2, 0, 1)


def _merge_columns(left: Core, right: Core) -> Core:
    """Merge two cores into one in which the same entry of all slices lies together."""
    a, i, c = left.shape
    _, j, b = right.shape
    transposed = np.ascontiguousarray(right.transpose(2, 0, 1))  # otherwise matmul does not use BLAS
    product = left.transpose(2, 0, 1).reshape(c, a * i).T @ transposed
    return product.reshape(b, a, i * j).transpose(1, 2, 0)


def _multiply_columns(left: Core, right: Core) -> Core:
    """Products of matrices whose entries (a, c) and (c, b) lie together: one long sum instead of J small products."""
    return np.asarray(np.einsum("acj,cbj->abj", left, right))
