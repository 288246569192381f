"""zarr, HDF5, dask and xarray arrays as sources. None of these libraries is imported before it is needed."""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError, ArgumentTypeError, MissingDependencyError
from ringlet.sources.annotations import mode_names, told_missing, told_units
from ringlet.sources.base import Chunks, Source
from ringlet.sources.chunked import ChunkedSource, regular_chunks, row_chunks
from ringlet.sources.limits import ReadRules
from ringlet.sources.memory import ArraySource
from ringlet.sources.wrapped import WrappingSource
from ringlet.sources.xarray_labels import DataArrayLabels

__all__ = [
    "OPENED_BY_USER",
    "backed_by_dask",
    "bytes_in_memory",
    "check_coordinates",
    "check_open",
    "import_h5py",
    "import_zarr",
    "refuse_sparse",
    "store_source",
]

OPENED_BY_USER = ReadRules(follow_links=True)  # of arrays that the caller has opened, and so trusts


def import_zarr() -> ModuleType:
    """Import zarr, or raise an error that says how to install it."""
    try:
        import zarr
    except ImportError as error:
        raise MissingDependencyError('zarr stores need zarr: pip install "ringlet[zarr]"') from error
    module: ModuleType = zarr
    return module


def import_h5py() -> ModuleType:
    """Import h5py, or raise an error that says how to install it."""
    try:
        import h5py
    except ImportError as error:
        raise MissingDependencyError('HDF5 files need h5py: pip install "ringlet[hdf5]"') from error
    module: ModuleType = h5py
    return module


def store_source(
    given: Any, name: str = "data", rules: ReadRules = OPENED_BY_USER
) -> ArraySource | ChunkedSource | None:
    """A source for an open zarr, HDF5, dask or xarray array; None for anything else. Errors call it `name`.

    Examples
    --------
    >>> import dask.array
    >>> source = store_source(dask.array.ones((6, 4), chunks=(4, 2)))
    >>> source.chunks
    ((4, 2), (2, 2))
    >>> store_source([1.0, 2.0]) is None
    True
    """
    check_open(name, given)
    for module, kind, wrap in _KINDS:
        # No object can be an array of a library that is not loaded.
        loaded: Any = sys.modules.get(module)
        if loaded is not None and isinstance(given, getattr(loaded, kind)):
            return wrap(given, rules)
    return None


def check_open(name: str, given: Any) -> None:
    """Raise an error for an object of a closed HDF5 file."""
    h5py: Any = sys.modules.get("h5py")
    if h5py is not None and isinstance(given, h5py.Dataset | h5py.Group) and not given:
        raise ArgumentError(
            f"{name} is an HDF5 {type(given).__name__.lower()} whose file was closed; keep the file open, or give its "
            "path, e.g. 'run.h5::counts'"
        )


def refuse_sparse(name: str, given: Any) -> None:
    """Raise an error for an array that stores only some of its entries: the others could be zeros or missing."""
    package = type(given).__module__.partition(".")[0]
    is_scipy = package == "scipy" and hasattr(given, "tocoo")
    if is_scipy or package == "sparse":
        dense = "toarray" if is_scipy else "todense"
        raise ArgumentTypeError(
            f"{name} is a sparse {type(given).__name__}; entries that are not stored could be zeros or missing: give "
            f"{dense}() of it, and mask= if they are missing"
        )


def check_coordinates(data: Any, mask: Any) -> None:
    """Raise an error for an xarray mask with other coordinates than the data; they are not aligned."""
    xarray: Any = sys.modules.get("xarray")
    if xarray is None or not all(isinstance(given, xarray.DataArray | xarray.Dataset) for given in (data, mask)):
        return
    for name in data.indexes.keys() & mask.indexes.keys():
        if not data.indexes[name].equals(mask.indexes[name]):
            raise ArgumentError(
                f"mask has other coordinates {name!r} than data; align them first, e.g. mask.reindex_like(data)"
            )


def backed_by_dask(source: Source) -> bool:
    """Whether the entries of a source come from a dask array."""
    return isinstance(source, ChunkedSource) and isinstance(source.array, _DaskArray)


def bytes_in_memory(source: Source) -> int:
    """Bytes of a source, its masks included, that are only in the memory of this process.

    Examples
    --------
    >>> bytes_in_memory(ArraySource(np.zeros((3, 4)), np.ones((3, 4), bool)))
    108
    """
    if isinstance(source, ArraySource):
        return sum(part.nbytes for part in (source.array, source.mask, source.masked) if part is not None)
    if isinstance(source, ChunkedSource):
        return _bytes_of(source.array) + sum(map(bytes_in_memory, source.masks))
    return bytes_in_memory(source.source) if isinstance(source, WrappingSource) else 0


def _bytes_of(array: Any) -> int:
    """The same of an array in chunks, or of a wrapped one."""
    zarr: Any = sys.modules.get("zarr")
    if zarr is not None and isinstance(array, zarr.Array):
        return int(array.nbytes_stored()) if isinstance(array.store, zarr.storage.MemoryStore) else 0
    if isinstance(array, np.ndarray):
        return array.nbytes
    inner = getattr(array, "array", None)
    return 0 if inner is None else _bytes_of(inner)


def _from_zarr(array: Any, rules: ReadRules) -> ChunkedSource:
    from ringlet.sources.zarr_files import zarr_source

    _check_dtype(array)
    return zarr_source(array, rules)


def _from_hdf5(dataset: Any, rules: ReadRules) -> ChunkedSource:
    from ringlet.sources.hdf5_files import hdf5_source

    _check_dtype(dataset)
    return hdf5_source(dataset, rules)


class _DaskArray:
    """A dask array of which parts are computed here, in threads: never on a cluster, which may be running this fit."""

    def __init__(self, array: Any) -> None:
        self.dask_array = array
        self.dtype = array.dtype

    def __getitem__(self, block: tuple[slice, ...]) -> NDArray[Any]:
        # Persisted parts can only come from the cluster that holds them.
        where = {} if self._is_persisted() else {"scheduler": "threads"}
        part = self.dask_array[block].compute(**where)
        if np.ma.isMaskedArray(part):
            raise ArgumentError("the dask array holds masked arrays without saying so; make it with dask.array.ma")
        return np.asarray(part)

    def _is_persisted(self) -> bool:
        client: Any = sys.modules.get("distributed.client")
        return client is not None and bool(client.futures_of(self.dask_array))


def _from_dask(array: Any, _rules: ReadRules) -> ChunkedSource:
    _check_dtype(array)
    if any(np.isnan(length) for lengths in array.chunks for length in lengths):
        raise ArgumentError("the dask array has chunks of unknown size; call its compute_chunk_sizes() first")
    chunks = tuple(tuple(map(int, lengths)) for lengths in array.chunks)
    values, masks = _values_and_masks(array, chunks)
    return ChunkedSource(values, chunks, masks=masks)


def _values_and_masks(array: Any, chunks: Chunks) -> tuple[_DaskArray, tuple[Source, ...]]:
    """The entries of a dask array, and the masks of its masked arrays."""
    if not np.ma.isMaskedArray(array._meta):
        return _DaskArray(array), ()
    from dask.array import ma

    observed = ChunkedSource(_DaskArray(~ma.getmaskarray(array)), chunks)
    return _DaskArray(ma.getdata(array)), (observed,)


class _LazyDataArray:
    """A DataArray that has not been loaded: parts of it are loaded, and it does not change."""

    def __init__(self, array: Any) -> None:
        self._variable = array.variable
        self.dtype = array.dtype

    def __getitem__(self, block: tuple[slice, ...]) -> NDArray[Any]:
        return np.asarray(self._variable[block].values)


def _from_xarray(array: Any, _rules: ReadRules) -> ArraySource | ChunkedSource:
    names, units = mode_names(array.dims), told_units(array.attrs)
    _check_dtype(array)
    refuse_sparse("the content of the DataArray", array.variable._data)  # its `data` would load a lazy one
    labels = DataArrayLabels.of(array)
    missing = told_missing(array.dtype, array.attrs)  # xarray removes the attributes that it decodes
    if array.chunks is not None:
        values, masks = _values_and_masks(array.data, array.chunks)
        return ChunkedSource(values, array.chunks, missing, masks, names, units, labels=labels)
    if array.variable._in_memory:
        return ArraySource(array.values, missing=missing, names=names, units=units, labels=labels)
    sizes = array.encoding.get("chunksizes") or array.encoding.get("chunks")
    fits = sizes is not None and len(sizes) == array.ndim
    chunks = regular_chunks(array.shape, sizes) if fits else row_chunks(array.shape)
    return ChunkedSource(_LazyDataArray(array), chunks, missing, names=names, units=units, labels=labels)


_KINDS: tuple[tuple[str, str, Callable[[Any, ReadRules], ArraySource | ChunkedSource]], ...] = (
    ("zarr", "Array", _from_zarr),
    ("h5py", "Dataset", _from_hdf5),
    ("dask.array", "Array", _from_dask),
    ("xarray", "DataArray", _from_xarray),
)


def _check_dtype(array: Any) -> None:
    """Raise an error for dtypes that are not NumPy's; further checks depend on the use of the array."""
    if not isinstance(array.dtype, np.dtype):
        raise ArgumentTypeError(f"an array of dtype {array.dtype}, which NumPy does not have, cannot be fitted")
