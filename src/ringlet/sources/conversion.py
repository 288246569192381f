"""Convert data and mask from a user to one checked source, without copying or reading entries."""

import os
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.arrays import is_foreign, place_of
from ringlet.errors import ArgumentError, ArgumentTypeError, DataWarning, warn
from ringlet.sources.base import Source
from ringlet.sources.chunked import ChunkedSource
from ringlet.sources.device_arrays import DeviceSource, device_source
from ringlet.sources.files import load
from ringlet.sources.groups import group_mask, group_source, unused_mask
from ringlet.sources.labels import Labels
from ringlet.sources.mask_files import load_mask
from ringlet.sources.mask_values import warn_of_inverted_mask, where_known
from ringlet.sources.memory import ArraySource
from ringlet.sources.stores import check_coordinates, refuse_sparse, store_source
from ringlet.sources.tables import check_index, table_source

__all__ = ["MOST_MODES", "as_source", "check_dtype", "source_in_place", "with_mask", "without_labels", "without_value"]

MOST_MODES = 62  # NumPy has arrays of 64, and a core update needs two more than the data


def as_source(data: Any, mask: Any = None) -> ArraySource | ChunkedSource:
    """Check data and mask given by a user and make a source of them.

    Parameters
    ----------
    data : array-like, store, path or source
        Integers or floats of at least two modes: a NumPy array or what NumPy makes one of; a zarr, HDF5 or dask array,
        an xarray.DataArray, which are read in parts only; a zarr or HDF5 group or an xarray.Dataset with one of
        them, and a mask `observed` or `mask` beside it; a Dataset of several variables of the same dimensions; a
        pandas.DataFrame; a torch tensor; a path of any file that `ringlet.sources.files.load` reads.
        NaN, ``numpy.ma`` masks and the fill values of stores mean missing.
    mask : bool array-like, store or path, optional
        True = observed. Of the same shape, and with the same order of names and the same coordinates where both have
        some; that in a file or a group may be of zeros and ones, see
        `ringlet.sources.mask_files.load_mask`.

    Examples
    --------
    >>> import dask.array
    >>> source = as_source(dask.array.ones((6, 4), chunks=(4, 2)), np.eye(6, 4, dtype=bool))
    >>> source.chunks, source.read((slice(0, 1), slice(0, 4)))[1].tolist()
    (((4, 2), (2, 2)), [[True, False, False, False]])
    """
    if type(data) is not np.ndarray and is_foreign(data):
        return _in_place(data, mask).on_host()
    source = ArraySource(data) if type(data) is np.ndarray else _source_of("data", data)
    _check_tensor(source)
    if mask is not None:
        check_coordinates(data, mask)
        check_index(data, mask)
        return with_mask(source, mask)
    beside = None if type(data) is np.ndarray else unused_mask(data)
    if beside is not None:
        warn(
            f"the array {beside!r} beside data is not used as a mask of an array object; give mask=, or the "
            "group that holds both",
            DataWarning,
        )
    return source


def source_in_place(data: Any, mask: Any = None) -> ArraySource | ChunkedSource | DeviceSource:
    """Like `as_source`, but arrays of other libraries than NumPy stay where they are, and so does their mask.

    Examples
    --------
    >>> import array_api_strict as xp
    >>> there = xp.Device("device1")
    >>> source_in_place(xp.ones((2, 3), device=there), xp.ones((2, 3), dtype=xp.bool)).shape
    Traceback (most recent call last):
    ringlet.errors.ArgumentError: mask lies on array_api_strict.Device('CPU_DEVICE') of array_api_strict, but the data \
on array_api_strict.Device('device1') of array_api_strict; move one of them
    """
    return _in_place(data, mask) if is_foreign(data) else as_source(data, mask)


def _in_place(data: Any, mask: Any) -> DeviceSource:
    """An array of another library than NumPy, and its mask, as a source."""
    refuse_sparse("data", data)  # of a library that follows the standard
    placed = device_source(data)
    assert placed is not None  # noqa: S101 - the caller has asked
    _check_tensor(placed)
    if mask is None:
        return placed
    given = device_source(mask, "mask")
    if given is not None and given.place != placed.place:
        raise ArgumentError(f"mask lies on {given.place}, but the data on {placed.place}; move one of them")
    if given is None:
        blank = np.broadcast_to(np.uint8(0), placed.shape)
        known = with_mask(ArraySource(blank), mask)
        whole = tuple(slice(0, length) for length in placed.shape)
        _, observed = known.read(whole)
        return placed if observed is None else replace(placed, mask=placed.place.put(observed))
    _check_mask(given, placed.shape)
    return replace(placed, mask=given.array)


def _source_of(name: str, given: Any) -> ArraySource | ChunkedSource:
    if isinstance(given, ArraySource | ChunkedSource):
        return given
    if isinstance(given, str | os.PathLike):
        return load(given).source
    if isinstance(given, np.ma.MaskedArray):
        masked = None if given.mask is np.ma.nomask else np.ma.getmaskarray(given)
        return ArraySource(given.data, masked=masked)
    refuse_sparse(name, given)
    for convert in (group_source, store_source, table_source):
        source = convert(given, name)
        if source is not None:
            return source
    placed = device_source(given, name)
    if placed is not None:
        return placed.on_host()
    if isinstance(given, list | tuple) and any(isinstance(one, np.ma.MaskedArray) for one in given):
        raise ArgumentTypeError(f"{name} is a list of numpy.ma arrays; give one array, e.g. numpy.ma.stack({name})")
    return ArraySource(_as_array(name, given))


def with_mask(source: ArraySource | ChunkedSource, mask: Any) -> ArraySource | ChunkedSource:
    """The source, with fewer of its entries observed: where `mask` is True."""
    if isinstance(mask, np.ma.MaskedArray):
        raise ArgumentTypeError(
            "mask is a numpy.ma array; give a plain bool array, True = observed (for the mask of a "
            "numpy.ma array x, pass x itself as data or mask=~x.mask)"
        )
    if isinstance(mask, str | os.PathLike):
        mask = load_mask(mask, source.shape)
    place = place_of(mask, "mask")
    if place is not None and not place.on_host:
        raise ArgumentError(f"mask lies on {place}, but the data on the host; move one of them")
    observed = group_mask(mask) or _source_of("mask", mask)
    _check_mask(observed, source.shape)
    if isinstance(source, ArraySource) and isinstance(observed, ArraySource):
        warn_of_inverted_mask(source, observed.array)
    return where_known(source, observed)


def _check_mask(observed: Source, shape: tuple[int, ...]) -> None:
    if observed.dtype != np.bool_:
        raise ArgumentTypeError(
            f"mask has dtype {observed.dtype}; give a bool array, True = observed, e.g. mask.astype(bool), or the path "
            "of a file, in which zeros and ones count"
        )
    if isinstance(observed, ChunkedSource) and observed.masks:
        raise ArgumentTypeError("mask holds masked arrays; give plain booleans, True = observed")
    if observed.shape != shape:
        raise ArgumentError(f"mask has shape {observed.shape} but the data have shape {shape}; they must agree")


def without_value(source: ArraySource | ChunkedSource, value: float) -> ArraySource | ChunkedSource:
    """The source, with all entries that equal `value` missing, too.

    Examples
    --------
    >>> source = without_value(as_source(np.eye(2)), 0)
    >>> source.read((slice(0, 1), slice(0, 2)))[1].tolist()
    [[True, False]]
    """
    return replace(source, missing=(*source.missing, value))


def without_labels(source: Source) -> tuple[Source, Labels | None]:
    """The source without the labels of the object that was given, which only results need, and these labels."""
    if isinstance(source, ArraySource | ChunkedSource | DeviceSource):
        return replace(source, labels=None), source.labels
    return source, None


def _as_array(name: str, given: Any) -> NDArray[Any]:
    try:
        array = np.asarray(given)
    except ValueError as error:  # nested lists of unequal lengths
        raise ArgumentError(f"{name} is not an array: {error}") from error
    except (TypeError, RuntimeError) as error:  # of arrays in a list, on a device
        raise ArgumentTypeError(f"{name} is not an array: {error}; of several arrays give one stack") from error
    if array.ndim == 0 and array.dtype.kind not in "biufc":
        raise ArgumentTypeError(f"{name} is of type {type(given).__name__}; give an array, a table, a store or a path")
    return array


def check_dtype(dtype: np.dtype[Any]) -> None:
    """Raise an error for data of an unsupported type."""
    if dtype.kind == "c":
        raise ArgumentTypeError(
            f"data has complex dtype {dtype}, which is unsupported; decompose the real and imaginary parts"
        )
    if dtype.kind not in "iuf" or dtype.itemsize > 8:
        raise ArgumentTypeError(
            f"data has dtype {dtype}; allowed are integers (8 to 64 bit) and float16, float32, float64"
        )


def _check_tensor(source: Source) -> None:
    check_dtype(source.dtype)
    shape = source.shape
    if len(shape) < 2:
        more = "; fold a series first, e.g. ringlet.fold(x, [(-1, 7, 24)])" if len(shape) == 1 else ""
        raise ArgumentError(f"data has {len(shape)} mode(s), shape {shape}; a tensor ring needs at least 2{more}")
    if len(shape) > MOST_MODES:
        raise ArgumentError(f"data has {len(shape)} modes; at most {MOST_MODES} are allowed")
    if 0 in shape:
        raise ArgumentError(f"data has shape {shape}, which holds no entries; every mode must be at least 1")
