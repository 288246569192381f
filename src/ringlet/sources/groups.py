"""Arrays under names: zarr groups, HDF5 files and groups, xarray.Datasets, by path or open.

One of the arrays is the tensor. An array `observed` or `mask` beside it, in the same group, marks its known entries.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ringlet.errors import ArgumentError, ArgumentTypeError, DataWarning, FormatError, warn
from ringlet.sources.annotations import told_missing, told_units
from ringlet.sources.chunked import ChunkedSource
from ringlet.sources.limits import ReadRules
from ringlet.sources.mask_values import shape_error, truth_source, where_known
from ringlet.sources.memory import ArraySource
from ringlet.sources.named_arrays import choose_array, choose_mask, mask_beside, tensor_names
from ringlet.sources.stores import OPENED_BY_USER, check_open, import_h5py, import_zarr, store_source
from ringlet.sources.trial import try_reading
from ringlet.sources.xarray_labels import DatasetLabels

__all__ = [
    "array_names",
    "dataset_shapes",
    "dataset_source",
    "group_mask",
    "group_source",
    "open_mask",
    "open_tensor",
    "unused_mask",
]

_STRICT = ReadRules()
_DEEPEST = 32  # groups within groups
_STACKED = "variable"  # the mode of stacked variables, as xarray calls it
_GROUPS = (("zarr", "Group"), ("h5py", "Group"), ("xarray", "Dataset"))


def open_tensor(
    path: Path, kind: str, key: str | None = None, rules: ReadRules = _STRICT
) -> tuple[ArraySource | ChunkedSource, str | None]:
    """A tensor in a zarr store or an HDF5 file, without what its mask does not know, and its name if there are names.

    Parameters
    ----------
    path : Path
    kind : {"zarr", "hdf5"}
    key : str, optional
        Which array; without it the only one, or the one named `tensor`.
    rules : ReadRules
        What the store may ask for, and how chunks that it lacks are read.
    """
    opened, shapes = _open(path, kind, key, rules)
    if not shapes:
        return _source(opened, rules), None
    key = choose_array(path, shapes, key and key.strip("/"))
    return _tensor(path, opened, shapes, key, rules), key


def open_mask(path: Path, kind: str, key: str | None = None, rules: ReadRules = _STRICT) -> ArraySource | ChunkedSource:
    """The booleans in a zarr store or an HDF5 file, stored as such or as zeros and ones.

    Parameters
    ----------
    path : Path
    kind : {"zarr", "hdf5"}
    key : str, optional
        Which array; without it the one named `observed` or `mask`, or the only one.
    rules : ReadRules
        What the store may ask for.
    """
    opened, shapes = _open(path, kind, key, rules)
    if not shapes:
        return truth_source(_source(opened, rules))
    return truth_source(_source(opened[choose_mask(path, shapes, key and key.strip("/"))], rules))


def array_names(path: Path, kind: str) -> list[str]:
    """Names of all arrays in a zarr store or an HDF5 file; empty for a single array, or no store."""
    try:
        return list(_open(path, kind, None, ReadRules(follow_links=True))[1])
    except (OSError, ValueError):
        return []


def group_source(given: Any, name: str = "data") -> ArraySource | ChunkedSource | None:
    """The tensor of an open group, with its mask applied; None for anything else.

    Examples
    --------
    >>> import numpy as np, xarray
    >>> pair = xarray.Dataset({"x": (("i", "j"), np.eye(2)), "observed": (("i", "j"), np.eye(2, dtype=bool))})
    >>> group_source(pair).read((slice(0, 1), slice(0, 2)))[1].tolist()
    [[True, False]]
    """
    if not _is_group(name, given):
        return None
    if _is_dataset(given):
        return dataset_source(name, given, None, "give one of them")
    shapes = _named_shapes(name, given)
    return _tensor(name, given, shapes, choose_array(name, shapes, None, "give one of them"))


def dataset_source(
    name: str, dataset: Any, key: str | None, advice: str = "choose one by path::name"
) -> ArraySource | ChunkedSource:
    """The tensor of a Dataset: one variable, or several of the same dimensions, stacked along a mode `variable`.

    Parameters
    ----------
    name : str
        What errors call the Dataset.
    dataset : xarray.Dataset
    key : str, optional
        Which variable.
    advice : str
        How to choose one, for the error where that is needed.
    """
    shapes = dataset_shapes(dataset, name)
    together = _alike(dataset, tensor_names(shapes)) if key is None else []
    if not together:
        key = choose_array(name, shapes, key, advice)
        return replace(_tensor(name, dataset, shapes, key), labels=DatasetLabels.of(dataset, [key], stacked=False))
    variables = [dataset[key] for key in together]
    missing = {told_missing(variable.dtype, variable.attrs) for variable in variables}
    if len(missing) > 1:
        raise ArgumentError(
            f"the variables of {name} have different missing values ({', '.join(together)}); decode them, e.g. by "
            "xarray.decode_cf, or give one variable"
        )
    units = {told_units(variable.attrs) for variable in variables}
    if len(units) > 1:
        warn(
            f"the variables of {name} have different units ({', '.join(map(str, units))}) but are fitted together: "
            "those with large numbers decide; scale them first, or give one variable",
            DataWarning,
        )
    source = replace(
        _source(dataset[together].to_dataarray(_STACKED)),
        missing=missing.pop(),
        units=units.pop() if len(units) == 1 else None,
        labels=DatasetLabels.of(dataset, together, stacked=True),
    )
    beside = mask_beside(shapes, together[0])
    if beside is None:
        return source
    return where_known(source, truth_source(_source(dataset[beside].expand_dims({_STACKED: len(together)}))))


def group_mask(given: Any, name: str = "mask") -> ArraySource | ChunkedSource | None:
    """The mask of an open group, of booleans or zeros and ones; None for anything else."""
    if not _is_group(name, given):
        return None
    shapes = _named_shapes(name, given)
    return truth_source(_source(given[choose_mask(name, shapes, None, "give one of them")]))


def unused_mask(given: Any) -> str | None:
    """The name of a mask that lies beside an open zarr or HDF5 array, which is given without its group."""
    zarr, h5py = (sys.modules.get(module) for module in ("zarr", "h5py"))
    if h5py is not None and isinstance(given, h5py.Dataset) and given.name is not None:
        group, name = given.parent, given.name.rpartition("/")[2]
    elif zarr is not None and isinstance(given, zarr.Array) and given.path:
        parent, _, name = given.path.rpartition("/")
        try:
            group = zarr.open_group(given.store, path=parent, mode="r")
        except (OSError, ValueError):  # an array may lie in a folder that is no group, or that may not be read
            return None
    else:
        return None
    return mask_beside(group, name)


def _alike(dataset: Any, names: list[str]) -> list[str]:
    """The variables to be stacked: all those of numbers, if there are several, all with the same dimensions."""
    numbers = [name for name in names if dataset[name].dtype.kind in "iuf"]
    alike = len({dataset[name].dims for name in numbers}) == 1
    return numbers if len(numbers) > 1 and alike and "tensor" not in names else []


def _tensor(
    whole: object, group: Any, shapes: Mapping[str, tuple[int, ...]], key: str, rules: ReadRules = OPENED_BY_USER
) -> ArraySource | ChunkedSource:
    source, beside = _source(group[key], rules), mask_beside(shapes, key)
    if beside is None:
        return source
    if shapes[beside] != source.shape:
        raise shape_error(
            f"{whole}: {beside}, the mask of {key},", shapes[beside], source.shape, "; rename it if it is none"
        )
    return where_known(source, truth_source(_source(group[beside], rules)))


def _open(path: Path, kind: str, key: str | None, rules: ReadRules) -> tuple[Any, dict[str, tuple[int, ...]]]:
    """What is in a store: an array, or a group and what the arrays in it are."""
    if kind == "zarr":
        import_zarr()
        from ringlet.sources.zarr_files import open_zarr

        opened = open_zarr(path, rules)
        if not hasattr(opened, "keys"):
            if key is not None:
                raise ArgumentError(f"{path} holds a single array without a name; key={key!r} is for groups of arrays")
            return opened, {}
        shapes = _array_shapes(opened)
    else:
        h5py = import_h5py()
        try_reading(path, kind, key, rules)
        opened = h5py.File(path, "r")
        try:
            shapes = _hdf5_shapes(opened, key, rules)
        except Exception:
            opened.close()  # a file that is refused can be written again
            raise
    if not shapes:
        raise FormatError("there is no array in it")
    return opened, shapes


def _hdf5_shapes(file: Any, key: str | None, rules: ReadRules) -> dict[str, tuple[int, ...]]:
    """What the datasets of a file are; an error for a link to another file on the way to the one that is wanted."""
    from ringlet.sources.hdf5_files import dataset_shapes

    shapes, outside = dataset_shapes(file, rules)
    for name, other in outside.items():
        if key is None or f"{key.strip('/')}/".startswith(f"{name}/"):
            raise FormatError(f"{name} is a link to {other!r}, which is not read; follow_links=True reads it")
    return shapes


def _is_group(name: str, given: Any) -> bool:
    check_open(name, given)
    # No object can be a group of a library that is not loaded.
    return any(
        isinstance(given, getattr(loaded, kind))
        for module, kind in _GROUPS
        if (loaded := sys.modules.get(module)) is not None
    )


def _is_dataset(given: Any) -> bool:
    xarray: Any = sys.modules.get("xarray")
    return xarray is not None and isinstance(given, xarray.Dataset)


def dataset_shapes(dataset: Any, name: str = "data") -> dict[str, tuple[int, ...]]:
    """Names and shapes of the variables of a Dataset."""
    return _named_shapes(name, dataset)


def _named_shapes(name: str, group: Any) -> dict[str, tuple[int, ...]]:
    strange = [member for member in group if not isinstance(member, str)]
    if strange:
        raise ArgumentTypeError(f"{name} has a variable of the name {strange[0]!r}; rename it: names must be texts")
    shapes = _array_shapes(group)
    if not shapes:
        raise ArgumentError(f"{name} is a {type(group).__name__} without any array")
    return shapes


def _array_shapes(group: Any, depth: int = 0) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the arrays in a group of a store and in the groups below it."""
    if depth > _DEEPEST:
        raise FormatError(f"its groups lie more than {_DEEPEST} deep; links may run in a circle")
    found: dict[str, tuple[int, ...]] = {}
    for name in sorted(group):
        member = group.get(name)  # None for a broken link
        if hasattr(member, "keys"):
            found |= {f"{name}/{below}": shape for below, shape in _array_shapes(member, depth + 1).items()}
        elif getattr(member, "shape", None):  # empty datasets have none, scalars no modes
            found[name] = tuple(member.shape)
    return found


def _source(array: Any, rules: ReadRules = OPENED_BY_USER) -> ArraySource | ChunkedSource:
    source = store_source(array, rules=rules)
    assert source is not None  # noqa: S101 - what is in a store is an array
    return source
