"""Arrays in memory (and memory-mapped files) as a source. The array is read, never copied whole, never changed."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.sources.base import Block, Chunks, slabs
from ringlet.sources.gathering import gather
from ringlet.sources.labels import Labels
from ringlet.sources.observing import observed_entries

__all__ = ["ArraySource"]


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
        turned = tuple(block[axis] for axis in axes)
        values = gather(self.array.transpose(axes), turned)
        return values, self._observed(values, lambda flags: gather(flags.transpose(axes), turned))

    def read_rows(
        self, mode: int, slices: slice | NDArray[np.intp], rows: tuple[NDArray[np.intp], ...]
    ) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Entries at single rows of the unfolding: `slices` along `mode`, one index of every other mode a row."""
        values = _entries_of_rows(self.array, mode, slices, rows)
        return values, self._observed(values, lambda flags: _entries_of_rows(flags, mode, slices, rows))

    def _observed(
        self, values: NDArray[Any], chosen: Callable[[NDArray[np.bool_]], NDArray[np.bool_]]
    ) -> NDArray[np.bool_] | None:
        """Which of these values are observed (None: all), from the values and from the selected part of the masks."""
        given = None if self.mask is None else chosen(self.mask)
        unmasked = None if self.masked is None else ~chosen(self.masked)
        return observed_entries(values, self.missing, given, unmasked, nan=self._has_nan)

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
