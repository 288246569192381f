"""Convert data and mask from a user to one checked source, without copying or reading entries."""

import os
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError, ArgumentTypeError, DataWarning, warn
from ringlet.sources.base import Source
from ringlet.sources.chunked import ChunkedSource
from ringlet.sources.files import load
from ringlet.sources.groups import group_mask, group_source, unused_mask
from ringlet.sources.labels import Labels
from ringlet.sources.mask_files import load_mask
from ringlet.sources.mask_values import where_known
from ringlet.sources.memory import ArraySource
from ringlet.sources.stores import check_coordinates, refuse_sparse, store_source
from ringlet.sources.tables import check_index, table_source
from ringlet.sources.torch_tensors import torch_source

__all__ = ["as_source", "check_dtype", "with_mask", "without_labels", "without_value"]

_MOST_MODES = 62  # NumPy has arrays of 64, and a core update needs two more than the data


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


def _source_of(name: str, given: Any) -> ArraySource | ChunkedSource:
    if isinstance(given, ArraySource | ChunkedSource):
        return given
    if isinstance(given, str | os.PathLike):
        return load(given).source
    if isinstance(given, np.ma.MaskedArray):
        masked = None if given.mask is np.ma.nomask else np.ma.getmaskarray(given)
        return ArraySource(given.data, masked=masked)
    refuse_sparse(name, given)
    for convert in (group_source, store_source, table_source, torch_source):
        source = convert(given, name)
        if source is not None:
            return source
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
    observed = group_mask(mask) or _source_of("mask", mask)
    if observed.dtype != np.bool_:
        raise ArgumentTypeError(
            f"mask has dtype {observed.dtype}; give a bool array, True = observed, e.g. mask.astype(bool), or the path "
            "of a file, in which zeros and ones count"
        )
    if isinstance(observed, ChunkedSource) and observed.masks:
        raise ArgumentTypeError("mask holds masked arrays; give plain truth values, True = observed")
    if observed.shape != source.shape:
        raise ArgumentError(f"mask has shape {observed.shape} but the data have shape {source.shape}; they must agree")
    return where_known(source, observed)


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
    if isinstance(source, ArraySource | ChunkedSource):
        return replace(source, labels=None), source.labels
    return source, None


def _as_array(name: str, given: Any) -> NDArray[Any]:
    try:
        return np.asarray(given)
    except ValueError as error:  # nested lists of unequal lengths
        raise ArgumentError(f"{name} is not an array: {error}") from error


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
        raise ArgumentError(f"data has {len(shape)} mode(s), shape {shape}; a tensor ring needs at least 2")
    if len(shape) > _MOST_MODES:
        raise ArgumentError(f"data has {len(shape)} modes; at most {_MOST_MODES} are allowed")
    if 0 in shape:
        raise ArgumentError(f"data has shape {shape}, which holds no entries; every mode must be at least 1")
