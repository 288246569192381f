"""zarr, HDF5, dask and xarray arrays as sources. None of these libraries is imported before it is needed.

A value that fills what was never written means missing, unless it is zero: that is what zarr and HDF5 fill with when
nobody asked. An attribute ``_FillValue`` or ``missing_value`` means missing whatever it is.
"""

import binascii
import struct
import sys
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError, ArgumentTypeError, FormatError, MissingDependencyError
from ringlet.sources.array_files import choose_array, mask_key
from ringlet.sources.base import Chunks, Source
from ringlet.sources.chunked import ChunkedSource, regular_chunks, row_chunks
from ringlet.sources.memory import ArraySource

__all__ = ["array_names", "backed_by_dask", "import_h5py", "import_zarr", "open_array", "open_mask", "store_source"]

_MISSING_ATTRIBUTES = ("_FillValue", "missing_value")


def import_zarr() -> ModuleType:
    """Import zarr, or say how to get it."""
    try:
        import zarr
    except ImportError as error:
        raise MissingDependencyError('zarr stores need zarr: pip install "ringlet[zarr]"') from error
    module: ModuleType = zarr
    return module


def import_h5py() -> ModuleType:
    """Import h5py, or say how to get it."""
    try:
        import h5py
    except ImportError as error:
        raise MissingDependencyError('HDF5 files need h5py: pip install "ringlet[hdf5]"') from error
    module: ModuleType = h5py
    return module


def store_source(given: Any) -> ArraySource | ChunkedSource | None:
    """A source for an open zarr, HDF5, dask or xarray array; None for anything else.

    Examples
    --------
    >>> import dask.array
    >>> source = store_source(dask.array.ones((6, 4), chunks=(4, 2)))
    >>> source.chunks
    ((4, 2), (2, 2))
    >>> store_source([1.0, 2.0]) is None
    True
    """
    for module, kind, wrap in _KINDS:
        # Nobody holds an array of a library that is not loaded.
        loaded: Any = sys.modules.get(module)
        if loaded is not None and isinstance(given, getattr(loaded, kind)):
            return wrap(given)
    return None


def backed_by_dask(source: Source) -> bool:
    """Whether the entries of a source come from a dask array."""
    return isinstance(source, ChunkedSource) and isinstance(source.array, _DaskArray)


def open_array(
    path: Path, kind: str, key: str | None = None, preferred: Sequence[str] = ()
) -> tuple[ChunkedSource, str | None]:
    """An array of a zarr store or an HDF5 file, and its name if there are names.

    Parameters
    ----------
    path : Path
    kind : {"zarr", "hdf5"}
    key : str, optional
        Which array; without it the first of `preferred` that is there, the only one, or the one named `tensor`.
    preferred : sequence of str
    """
    opened, wrap = _open(path, kind)
    if not hasattr(opened, "keys"):
        if key is not None:
            raise ArgumentError(f"{path} holds a single array without a name; key={key!r} is for groups of arrays")
        return wrap(opened), None
    shapes = _array_shapes(opened)
    if not shapes:
        raise FormatError("there is no array in it")
    if key is None:
        key = next((name for name in preferred if name in shapes), None)
    key = choose_array(path, shapes, None if key is None else key.strip("/"))
    return wrap(opened[key]), key


def array_names(path: Path, kind: str) -> list[str]:
    """Names of all arrays in a zarr store or an HDF5 file; none of what is a single array, or no store at all."""
    try:
        opened, _ = _open(path, kind)
    except (OSError, ValueError):
        return []
    return list(_array_shapes(opened)) if hasattr(opened, "keys") else []


def open_mask(path: Path, kind: str) -> ChunkedSource | None:
    """The array of a group that says which entries of the others are known, if there is one."""
    opened, wrap = _open(path, kind)
    key = mask_key(_array_shapes(opened))
    return None if key is None else wrap(opened[key])


def _open(path: Path, kind: str) -> tuple[Any, Callable[[Any], ChunkedSource]]:
    if kind == "zarr":
        return import_zarr().open(str(path.absolute()), mode="r"), _from_zarr
    return import_h5py().File(path.absolute(), "r"), _from_hdf5


def _array_shapes(group: Any) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the arrays in a group of a store and in the groups below it."""
    found: dict[str, tuple[int, ...]] = {}
    for name in sorted(group):
        member = group[name]
        if hasattr(member, "keys"):
            found |= {f"{name}/{below}": shape for below, shape in _array_shapes(member).items()}
        elif getattr(member, "shape", None):  # empty datasets have none, scalars no modes
            found[name] = tuple(member.shape)
    return found


# From arrays to sources.


def _from_zarr(array: Any) -> ChunkedSource:
    zarr = import_zarr()
    store = array.store
    if isinstance(store, zarr.storage.LocalStore) and not store.root.is_absolute():
        array = zarr.open_array(store=str(store.root.absolute()), path=array.path, mode="r")  # for workers elsewhere
    _check_dtype(array)
    names = getattr(array.metadata, "dimension_names", None) or array.attrs.get("_ARRAY_DIMENSIONS")
    return ChunkedSource(
        array,
        regular_chunks(array.shape, array.chunks),
        _fill_values(array.dtype, array.fill_value, array.attrs),
        names=_names(names),
        units=_units(array.attrs),
    )


def _from_group(group: Any) -> ArraySource | ChunkedSource:
    """The only array of a zarr or HDF5 group, or of an xarray.Dataset."""
    shapes = _array_shapes(group)
    if not shapes:
        raise ArgumentError(f"data is a {type(group).__name__} without any array")
    only = store_source(group[choose_array("data", shapes, None, "give one of them")])
    assert only is not None  # noqa: S101 - what is in a group is an array
    return only


class _Hdf5Array:
    """A dataset that finds its file again after pickling."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self.dtype = dataset.dtype

    def __getitem__(self, block: tuple[slice, ...]) -> NDArray[Any]:
        part: NDArray[Any] = self._dataset[block]
        return part

    def __reduce__(self) -> tuple[Callable[[str, str], "_Hdf5Array"], tuple[str, str]]:
        return _reopen_hdf5, (str(Path(self._dataset.file.filename).absolute()), self._dataset.name)


def _reopen_hdf5(path: str, name: str) -> _Hdf5Array:
    return _Hdf5Array(import_h5py().File(path, "r")[name])


def _from_hdf5(dataset: Any) -> ChunkedSource:
    _check_dtype(dataset)
    chunks = regular_chunks(dataset.shape, dataset.chunks) if dataset.chunks else row_chunks(dataset.shape)
    return ChunkedSource(
        _Hdf5Array(dataset),
        chunks,
        _fill_values(dataset.dtype, dataset.fillvalue, dataset.attrs),
        names=_names([dimension.label for dimension in dataset.dims]),
        units=_units(dataset.attrs),
    )


class _DaskArray:
    """A dask array of which parts are computed here, in threads: never on a cluster that may be computing with us."""

    def __init__(self, array: Any) -> None:
        self.dask_array = array
        self.dtype = array.dtype

    def __getitem__(self, block: tuple[slice, ...]) -> NDArray[Any]:
        # Parts that a cluster holds already can only come from there.
        where = {} if self._is_persisted() else {"scheduler": "threads"}
        part = self.dask_array[block].compute(**where)
        if np.ma.isMaskedArray(part):
            raise ArgumentError("the dask array holds masked arrays without saying so; make it with dask.array.ma")
        return np.asarray(part)

    def _is_persisted(self) -> bool:
        client: Any = sys.modules.get("distributed.client")
        return client is not None and bool(client.futures_of(self.dask_array))


def _from_dask(array: Any) -> ChunkedSource:
    _check_dtype(array)
    if any(np.isnan(length) for lengths in array.chunks for length in lengths):
        raise ArgumentError("the dask array has chunks of unknown size; call its compute_chunk_sizes() first")
    chunks = tuple(tuple(map(int, lengths)) for lengths in array.chunks)
    return ChunkedSource(*_values_and_masks(array, chunks))


def _values_and_masks(array: Any, chunks: Chunks) -> tuple[_DaskArray, Chunks, tuple[float, ...], tuple[Source, ...]]:
    """A dask array, its chunks, no missing value, and what its masked arrays say."""
    if not np.ma.isMaskedArray(array._meta):
        return _DaskArray(array), chunks, (), ()
    from dask.array import ma

    observed = ChunkedSource(_DaskArray(~ma.getmaskarray(array)), chunks)
    return _DaskArray(ma.getdata(array)), chunks, (), (observed,)


class _LazyDataArray:
    """A DataArray that has not been loaded: parts of it are, and it stays as it is."""

    def __init__(self, array: Any) -> None:
        self._variable = array.variable
        self.dtype = array.dtype

    def __getitem__(self, block: tuple[slice, ...]) -> NDArray[Any]:
        return np.asarray(self._variable[block].values)


def _from_xarray(array: Any) -> ArraySource | ChunkedSource:
    names, units = _names(array.dims), _units(array.attrs)
    _check_dtype(array)
    if array.chunks is not None:
        return ChunkedSource(*_values_and_masks(array.data, array.chunks), names=names, units=units)
    if array.variable._in_memory:
        return ArraySource(array.values, names=names, units=units)
    sizes = array.encoding.get("chunksizes") or array.encoding.get("chunks")
    fits = sizes is not None and len(sizes) == array.ndim
    chunks = regular_chunks(array.shape, sizes) if fits else row_chunks(array.shape)
    return ChunkedSource(_LazyDataArray(array), chunks, names=names, units=units)


_KINDS: tuple[tuple[str, str, Callable[[Any], ArraySource | ChunkedSource]], ...] = (
    ("zarr", "Array", _from_zarr),
    ("zarr", "Group", _from_group),
    ("h5py", "Dataset", _from_hdf5),
    ("h5py", "Group", _from_group),
    ("dask.array", "Array", _from_dask),
    ("xarray", "DataArray", _from_xarray),
    ("xarray", "Dataset", _from_group),
)


# What the store says beside the entries.


def _fill_values(dtype: np.dtype[Any], filled: Any, attributes: Mapping[str, Any]) -> tuple[float, ...]:
    """The values that mean missing, beside NaN, which always does."""
    if dtype.kind == "b":
        return ()
    said = [_number(attributes.get(name)) for name in _MISSING_ATTRIBUTES]
    distinct = dict.fromkeys((*said, _number(filled) or None))
    return tuple(value for value in distinct if value is not None and not np.isnan(value))


def _number(value: Any) -> float | None:
    """A number from an attribute: itself, an array of one, or, as xarray writes it to zarr, base64 of a double."""
    if isinstance(value, str):
        try:
            return float(struct.unpack("<d", b64decode(value, validate=True))[0])
        except (binascii.Error, struct.error):
            return None
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "iuf":
        return None
    number: float = array.reshape(()).item()
    return number


def _names(given: Any) -> tuple[str, ...] | None:
    """Names of the modes, if every mode has one of its own."""
    names = [] if given is None else [str(name) for name in given if name]
    return tuple(names) if names and len(names) == len(given) and len(set(names)) == len(names) else None


def _units(attributes: Mapping[str, Any]) -> str | None:
    units = attributes.get("units")
    return units if isinstance(units, str) and units else None


def _check_dtype(array: Any) -> None:
    """Refuse dtypes that are not NumPy's; which of those are of use depends on what the array is for."""
    if not isinstance(array.dtype, np.dtype):
        raise ArgumentTypeError(f"an array of dtype {array.dtype}, which NumPy does not have, cannot be fitted")
