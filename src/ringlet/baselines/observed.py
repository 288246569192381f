"""The observed entries of a source, read some rows at a time, as the completion methods need them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.arrays import Floats, Mapper
from ringlet.solvers.engine.subchain import LARGEST_ENTRY
from ringlet.solvers.sawrtrd.start import Scale
from ringlet.sources import Source

__all__ = ["BLOCK_ENTRIES", "ObservedRows", "ObservedSlices", "RowBlock", "ordinary_range", "row_spans"]


BLOCK_ENTRIES = 1 << 16  # entries of the tensor in a block of rows
_ORDINARY = 2.0  # entries farther from the centre than this number of data sizes are obvious outliers


@dataclass(frozen=True)
class RowBlock:
    """Some rows (indices of the first mode), and the positions of their observed entries among all observed ones.

    Attributes
    ----------
    rows : slice
    place : slice
        Of a vector over all observed entries in C order.
    """

    rows: slice
    place: slice


class ObservedRows:
    """The observed entries of a source, in units of `size`.

    Quantities for observed entries only (outliers, multipliers) are vectors over them in C order. The entries
    themselves are read from the source whenever they are needed.

    Parameters
    ----------
    source : Source
    shape : tuple of int
        What the tensor is reshaped to; the first mode must not change.
    size : float
        The data are divided by it.
    dtype : dtype
        Working precision.
    mapper : callable
        Used like `map` for independent pieces.

    Attributes
    ----------
    blocks : list of RowBlock
    count : int
        Number of observed entries.

    Examples
    --------
    >>> from ringlet.sources import as_source
    >>> source = as_source(np.array([[1.0, np.nan], [3.0, 4.0]]))
    >>> observed = ObservedRows(source, (2, 2), 2.0, np.dtype("f8"), map)
    >>> values, mask = observed.read(observed.blocks[0])
    >>> observed.count, values
    (3, array([0.5, 1.5, 2. ]))
    """

    def __init__(self, source: Source, shape: Sequence[int], size: float, dtype: np.dtype[Any], mapper: Mapper) -> None:
        self._source = source
        self._shape = tuple(shape)
        self._size = size
        self._dtype = dtype
        self.blocks = []
        start = 0
        spans = row_spans(shape)
        for rows, count in zip(spans, mapper(self._count_in, spans), strict=True):
            self.blocks.append(RowBlock(rows, slice(start, start + count)))
            start += count
        self.count = start

    def read(self, block: RowBlock) -> tuple[Floats, NDArray[np.bool_]]:
        """Values of the observed entries of a block as a vector, and which entries of the block they are."""
        values, observed = self._source.read(self._selection(block.rows))
        if observed is None:
            observed = np.ones(values.shape, bool)
        scaled = np.divide(values[observed], self._size, dtype=np.float64)
        largest = LARGEST_ENTRY[self._dtype.itemsize]  # so that no square overflows
        np.clip(scaled, -largest, largest, out=scaled)
        return scaled.astype(self._dtype), observed.reshape(-1, *self._shape[1:])

    def _selection(self, rows: slice) -> tuple[slice, ...]:
        return (rows, *(slice(0, length) for length in self._source.shape[1:]))

    def _count_in(self, rows: slice) -> int:
        values, observed = self._source.read(self._selection(rows))
        return values.size if observed is None else int(np.count_nonzero(observed))


class ObservedSlices:
    """The ordinary observed entries of a source as rows of its unfoldings, in units of the data's size.

    Obvious outliers are left out: surplus bonds would fit them.

    Parameters
    ----------
    source : Source
    scale : Scale
    dtype : dtype
        Working precision.

    Examples
    --------
    >>> from ringlet.sources import as_source
    >>> source = as_source(np.array([[1.0, np.nan], [3.0, 4.0]]))
    >>> slices = ObservedSlices(source, Scale(2.0, 1.0, 0.0), np.dtype("f8"))
    >>> values, mask = slices.read(1, slice(0, 2), (slice(0, 2),))
    >>> values
    array([[0.5, 1.5],
           [0. , 2. ]])
    """

    def __init__(self, source: Source, scale: Scale, dtype: np.dtype[Any]) -> None:
        self._source = source
        self._size = scale.data_range
        self._ordinary = ordinary_range(scale)
        self._dtype = dtype

    def read(self, mode: int, slices: slice, spans: tuple[slice, ...]) -> tuple[Floats, NDArray[np.bool_]]:
        """Slices of mode k at the ranges `spans` of modes k+1, .., k-1, 0 at entries that are not used; and a mask."""
        order = len(self._source.shape)
        ring_order = [(mode + step) % order for step in range(order)]
        block = dict(zip(ring_order, (slices, *spans), strict=True))
        values, observed = self._source.read(tuple(block[axis] for axis in range(order)))
        count = slices.stop - slices.start
        scaled = np.divide(values.transpose(ring_order).reshape(count, -1), self._size, dtype=np.float64)
        low, high = self._ordinary
        mask = (scaled >= low) & (scaled <= high)
        if observed is not None:
            mask &= observed.transpose(ring_order).reshape(count, -1)
        scaled[~mask] = 0.0
        return scaled.astype(self._dtype), mask


def ordinary_range(scale: Scale) -> tuple[float, float]:
    """Limits, in units of the data's size, beyond which entries are obvious outliers."""
    return scale.centre - _ORDINARY, scale.centre + _ORDINARY


def row_spans(shape: Sequence[int]) -> list[slice]:
    """Ranges of the first mode with about `BLOCK_ENTRIES` entries each."""
    step = max(1, BLOCK_ENTRIES * shape[0] // prod(shape))
    return [slice(start, min(start + step, shape[0])) for start in range(0, shape[0], step)]
