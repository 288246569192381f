"""Arrays in memory (and memory-mapped files) as a source. The array is read, never copied whole, never changed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.sources.base import Block, Chunks, slabs
from ringlet.sources.labels import Labels

__all__ = ["ArraySource", "gather", "observed_entries"]

_RUN = 64  # bytes: longer runs are copied best by NumPy's own index arrays
_ROW = 512  # bytes of a row of several modes that is fetched whole,
_TAKEN = 1 / 16  # where the block uses at least this part of it
_ROOM = 1 << 20  # bytes that are fetched together: they, or their offsets, stay in the cache


@dataclass(frozen=True, eq=False)
class ArraySource:
    """A NumPy array as a source.

    Attributes
    ----------
    array : array of integers or floats
        NaN means missing.
    mask : bool array or None
        True = observed.
    masked : bool array or None
        The mask of a ``numpy.ma`` array: True = missing.
    missing : tuple of numbers
        Further values that mean missing.
    names : tuple of str or None
        Names of the modes.
    units : str or None
        Unit of the entries.
    labels : Labels or None
        What the object that was given says of its entries, to give back the same kind.

    Examples
    --------
    >>> import numpy as np
    >>> source = ArraySource(np.arange(6.0).reshape(2, 3))
    >>> values, observed = source.read((slice(0, 1), np.array([0, 2])))
    >>> values.tolist(), observed
    ([[0.0, 2.0]], None)
    """

    array: NDArray[Any]
    mask: NDArray[np.bool_] | None = None
    masked: NDArray[np.bool_] | None = None
    missing: tuple[float, ...] = ()
    names: tuple[str, ...] | None = None
    units: str | None = None
    chunks: Chunks | None = None
    labels: Labels | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of every mode."""
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the stored entries."""
        return self.array.dtype

    def read(self, block: Block, order: tuple[int, ...] | None = None) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Values of a block, and which of them are observed (None: all), with the axes in the given order."""
        axes = order or tuple(range(len(block)))
        turned = tuple([block[axis] for axis in axes])
        values = gather(self.array.transpose(axes), turned)
        if self._is_complete:
            return values, None
        given = None if self.mask is None else gather(self.mask.transpose(axes), turned)
        unmasked = None if self.masked is None else ~gather(self.masked.transpose(axes), turned)
        return values, observed_entries(values, self.missing, given, unmasked, nan=self._has_nan)

    def read_rows(
        self, mode: int, slices: slice | NDArray[np.intp], rows: tuple[NDArray[np.intp], ...]
    ) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Entries at single rows of the unfolding: `slices` along `mode`, one index of every other mode a row."""
        values = _entries_of_rows(self.array, mode, slices, rows)
        given = None if self.mask is None else _entries_of_rows(self.mask, mode, slices, rows)
        unmasked = None if self.masked is None else ~_entries_of_rows(self.masked, mode, slices, rows)
        return values, observed_entries(values, self.missing, given, unmasked, nan=self._has_nan)

    @cached_property
    def _is_complete(self) -> bool:
        return self.mask is None and self.masked is None and not self.missing and not self._has_nan

    @cached_property
    def _has_nan(self) -> bool:
        if self.array.dtype.kind != "f":
            return False
        return any(bool(np.isnan(self.array[block]).any()) for block in slabs(self.array.shape))


def _entries_of_rows(
    array: NDArray[Any], mode: int, slices: slice | NDArray[np.intp], rows: tuple[NDArray[np.intp], ...]
) -> NDArray[Any]:
    """As a matrix with the slices as rows."""
    *others, length = array.shape
    last = mode == len(others)
    if last and isinstance(slices, slice) and slices.indices(length) == (0, length, 1) and array.flags.c_contiguous:
        places = np.ravel_multi_index(rows, tuple(others))  # the selected part of a row is contiguous
        return array.reshape(-1, length).take(places, axis=0).T
    axes = (mode, *(axis for axis in range(array.ndim) if axis != mode))
    return array.transpose(axes)[slices if isinstance(slices, slice) else slices[:, None], *rows]


def gather(array: NDArray[Any], block: Block) -> NDArray[Any]:
    """Outer indexing: the subtensor that one slice or sorted index array a mode span together.

    Examples
    --------
    >>> gather(np.arange(12).reshape(3, 4), (np.array([0, 2]), slice(1, 3)))
    array([[ 1,  2],
           [ 9, 10]])
    """
    if set(map(type, block)) == {slice}:
        return array[block]
    by_stride = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    memory, places = array.transpose(by_stride), tuple(block[axis] for axis in by_stride)
    run = memory.itemsize  # bytes of the block that lie together
    for chosen, length in zip(reversed(places), reversed(memory.shape), strict=True):
        if not isinstance(chosen, slice):
            break
        count = len(range(*chosen.indices(length)))
        run *= count
        if count < length:
            break
    if run >= _RUN or not memory.flags.c_contiguous:
        return _by_lists(array, block)
    return np.ascontiguousarray(_by_rows(memory, places).transpose(np.argsort(by_stride)))


def _by_lists(array: NDArray[Any], block: Block) -> NDArray[Any]:
    """NumPy's own index arrays: best where whole runs of the fastest modes are copied."""
    lists = [axis for axis, chosen in enumerate(block) if not isinstance(chosen, slice)]
    index: list[Any] = list(block)
    for place, axis in enumerate(lists):
        index[axis] = index[axis].reshape(-1, *(1,) * (len(lists) - place - 1))
    part: NDArray[Any] = array[tuple(index)]
    if lists[-1] - lists[0] >= len(lists):  # NumPy puts the axes of separated index arrays first
        part = np.moveaxis(part, range(len(lists)), lists)
    return part


def _by_rows(memory: NDArray[Any], block: Block) -> NDArray[Any]:
    """Rows of a C-contiguous array, fetched in memory order, and from them the entries of the block.

    Memory is read in its own order, so that a cache line is loaded once, whatever order is requested.
    """
    shape = memory.shape
    places = [
        np.arange(length)[chosen] if isinstance(chosen, slice) else chosen
        for chosen, length in zip(block, shape, strict=True)
    ]
    first, row, taken = memory.ndim, 1, 1  # modes from `first` on make up a row
    while first > 0:
        wider, more = row * shape[first - 1], taken * len(places[first - 1])
        if more < _TAKEN * wider or (row > 1 and wider * memory.itemsize > _ROW):
            break
        first, row, taken = first - 1, wider, more
    outer, together = first, max(row * memory.itemsize, 8)  # rows that differ in modes from `outer` on come together
    while outer > 0 and (together * len(places[outer - 1]) <= _ROOM or together < _ROOM // 16):
        outer -= 1
        together *= len(places[outer])
    starts, within = _offsets(places[outer:first], shape[outer:first]), _offsets(places[first:], shape[first:])
    begins = _offsets(places[:outer], shape[:outer]) * prod(shape[outer:first])
    rows, out = memory.reshape(-1, row), np.empty((len(begins), len(starts), taken), memory.dtype)
    whole = np.array_equal(within, np.arange(row))
    for begin, target in zip(begins, out, strict=True):
        if whole:
            rows[begin:].take(starts, axis=0, out=target, mode="clip")
        else:
            rows[begin:].take(starts, axis=0, mode="clip").take(within, axis=1, out=target, mode="clip")
    return out.reshape([len(place) for place in places])


def _offsets(places: Sequence[NDArray[np.intp]], shape: Sequence[int]) -> NDArray[np.intp]:
    """Where the entries at these indices of an array of this shape lie, in order."""
    offsets = np.zeros(1, np.intp)
    for place, length in zip(places, shape, strict=True):
        offsets = (offsets[:, None] * length + place).ravel()
    return offsets


def observed_entries(
    values: NDArray[Any], missing: Iterable[float], *given: NDArray[np.bool_] | None, nan: bool = True
) -> NDArray[np.bool_] | None:
    """Mask of the observed entries; None if no entry is missing.

    Parameters
    ----------
    values : array
        NaN means missing, unless `nan` states that there are none.
    missing : iterable of numbers
        Values that mean missing.
    given : arrays of bool, or None
        True = observed.

    Examples
    --------
    >>> observed_entries(np.array([1.0, np.nan, 3.0, 4.0]), [3.0], np.array([True, True, True, False]))
    array([ True, False, False, False])
    """
    observed: NDArray[np.bool_] | None = ~np.isnan(values) if nan and values.dtype.kind == "f" else None
    for part in given:
        if part is not None:
            observed = part if observed is None else observed & part
    for value in missing:
        differs = np.asarray(values != value)
        observed = differs if observed is None else observed & differs
    return None if observed is None or observed.all() else observed
