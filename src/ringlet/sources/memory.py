"""Arrays in memory (and memory-mapped files) as a source. The array is read, never copied whole, never changed."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ringlet.errors import ArgumentError, ArgumentTypeError
from ringlet.sources.base import Block, slabs
from ringlet.sources.gathering import gather

__all__ = ["ArraySource", "as_source"]


@dataclass(frozen=True)
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
    chunks: tuple[int, ...] | None = None

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
        observed = None
        if self._has_nan:
            observed = ~np.isnan(values)
        if self.mask is not None:
            given = gather(self.mask.transpose(axes), turned)
            observed = given if observed is None else observed & given
        if self.masked is not None:
            unmasked = ~gather(self.masked.transpose(axes), turned)
            observed = unmasked if observed is None else observed & unmasked
        return values, observed

    def read_rows(
        self, mode: int, slices: slice | NDArray[np.intp], rows: tuple[NDArray[np.intp], ...]
    ) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Entries at single rows of the unfolding: `slices` along `mode`, one index of every other mode a row."""
        index = (slices if isinstance(slices, slice) else slices[:, None], *rows)
        moved = ArraySource(
            np.moveaxis(self.array, mode, 0)[index],
            None if self.mask is None else np.moveaxis(self.mask, mode, 0)[index],
            None if self.masked is None else np.moveaxis(self.masked, mode, 0)[index],
        )
        return moved.read((slice(None), slice(None)))

    @cached_property
    def _has_nan(self) -> bool:
        if self.array.dtype.kind != "f":
            return False
        return any(bool(np.isnan(self.array[block]).any()) for block in slabs(self.array.shape))


def as_source(data: ArrayLike, mask: ArrayLike | None = None) -> ArraySource:
    """Check data and mask given by a user and make a source of them; nothing is copied.

    Parameters
    ----------
    data : array-like of integers or floats, at least two modes
        NaN and ``numpy.ma`` masks mean missing.
    mask : bool array-like, optional
        True = observed.
    """
    masked = None
    if isinstance(data, np.ma.MaskedArray):
        if data.mask is not np.ma.nomask:
            masked = np.ma.getmaskarray(data)
        data = data.data
    array = _as_array("data", data)
    _check_array(array)
    if mask is None:
        return ArraySource(array, None, masked)
    if isinstance(mask, np.ma.MaskedArray):
        raise ArgumentTypeError(
            "mask is a numpy.ma array; give a plain bool array, True = observed (for the mask of a "
            "numpy.ma array x, pass x itself as data or mask=~x.mask)"
        )
    observed = _as_array("mask", mask)
    if observed.dtype != np.bool_:
        raise ArgumentTypeError(
            f"mask has dtype {observed.dtype}; give a bool array, True = observed, e.g. mask.astype(bool)"
        )
    if observed.shape != array.shape:
        raise ArgumentError(f"mask has shape {observed.shape} but the data have shape {array.shape}; they must agree")
    return ArraySource(array, observed, masked)


def _as_array(name: str, given: ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(given)
    except ValueError as error:  # nested lists of unequal lengths
        raise ArgumentError(f"{name} is not an array: {error}") from error


def _check_array(array: NDArray[Any]) -> None:
    if array.dtype.kind == "c":
        raise ArgumentTypeError(
            f"data has complex dtype {array.dtype}, which is unsupported; decompose the real and imaginary parts"
        )
    if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
        raise ArgumentTypeError(
            f"data has dtype {array.dtype}; allowed are integers (8 to 64 bit) and float16, float32, float64"
        )
    if array.ndim < 2:
        raise ArgumentError(f"data has {array.ndim} mode(s), shape {array.shape}; a tensor ring needs at least 2")
    if array.size == 0:
        raise ArgumentError(f"data has shape {array.shape}, which holds no entries; every mode must be at least 1")
