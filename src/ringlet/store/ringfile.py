"""The `.ring` file: cores in safetensors, metadata in JSON, and a checksum."""

import os
from typing import Any

import numpy as np

from ringlet.errors import ArgumentError, FormatError, RingletError
from ringlet.ring.tensor_ring import TensorRing
from ringlet.store.atomic import atomic_output, check_outputs, write_parts
from ringlet.store.sealed import LARGEST_HEADER, SealedFile, open_sealed, seal

__all__ = ["load_ring", "save_ring"]

_KIND, _VERSION = "ring", 1
_FIELDS = {"shape", "rank", "dtype", "names", "units"}
_DTYPES = {"F32": "float32", "F64": "float64"}


def save_ring(ring: TensorRing, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a ring to a `.ring` file, atomically.

    Parameters
    ----------
    ring : TensorRing
        The ring to save, with its names and units.
    path : path
        Where to.
    force : bool
        Replace an existing file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> ring = TensorRing([np.ones((2, 4, 3)), np.ones((3, 5, 2))], names=("time", "place"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_ring(ring, Path(folder, "x.ring"))
    ...     load_ring(Path(folder, "x.ring")).names
    ('time', 'place')
    """
    check_outputs([path], force=force)
    cores = {f"core.{k}": np.ascontiguousarray(core) for k, core in enumerate(ring.cores)}
    header, *parts = seal(cores, _KIND, _VERSION, _describe(ring))
    if int.from_bytes(header[:8], "little") > LARGEST_HEADER:
        raise ArgumentError(f"the names and units take more than {LARGEST_HEADER} bytes; shorten them")
    with atomic_output(path) as temporary:
        write_parts(temporary, [header, *parts])


def load_ring(path: str | os.PathLike[str]) -> TensorRing:
    """Read a ring from a `.ring` file; safe on files from strangers.

    Parameters
    ----------
    path : path
        A file that `save_ring` wrote.

    Returns
    -------
    TensorRing

    Raises
    ------
    MissingFileError
        There is no such file.
    FormatError
        The file is not a ring, or a damaged one; the message says what is wrong.

    Examples
    --------
    >>> load_ring("no-such.ring")
    Traceback (most recent call last):
    ringlet.errors.MissingFileError: no-such.ring does not exist
    """
    with open_sealed(path, _KIND, _VERSION) as file:
        described = file.description
        _check_description(described)
        _check_cores(described, file)
        cores = [file.read(f"core.{k}") for k in range(len(file.shapes))]
        try:
            return TensorRing(cores, names=described["names"], units=described["units"])
        except RingletError as error:
            raise FormatError(f"not a ring: {error}") from error


def _describe(ring: TensorRing) -> dict[str, Any]:
    return {
        "shape": ring.shape,
        "rank": ring.rank,
        "dtype": ring.dtype.name,
        "names": ring.names,
        "units": ring.units,
    }


# Metadata of the ring.


def _check_description(described: dict[str, Any]) -> None:
    if set(described) != _FIELDS:
        raise FormatError(f"the metadata lacks or adds {sorted(set(described) ^ _FIELDS)}")
    _check_sizes(described["shape"], described["rank"])
    _check_labels(described["names"], described["units"])


def _check_sizes(shape: Any, rank: Any) -> None:
    for name, sizes in {"shape": shape, "rank": rank}.items():
        if not isinstance(sizes, list) or not all(type(size) is int and size > 0 for size in sizes):
            raise FormatError(f"the metadata's {name} is not a list of positive integers")
    if len(shape) != len(rank):
        raise FormatError(f"the metadata has shape {shape} but rank {rank}")


def _check_labels(names: object, units: object) -> None:
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise FormatError("the metadata's names are neither null nor a list of texts")
    if units is not None and not isinstance(units, str):
        raise FormatError("the metadata's units are neither null nor a text")


# Checks of the tensors against the metadata.


def _check_cores(described: dict[str, Any], file: SealedFile) -> None:
    shape, rank = described["shape"], described["rank"]
    if set(file.shapes) != {f"core.{k}" for k in range(len(shape))}:
        raise FormatError(
            f"the metadata tells of {len(shape)} cores, the tensors are: {', '.join(sorted(file.shapes))}"
        )
    for k, expected in enumerate(zip(rank, shape, rank[1:] + rank[:1], strict=True)):
        found, dtype = file.shapes[f"core.{k}"], file.dtypes[f"core.{k}"]
        if found != expected:
            raise FormatError(f"core {k} has shape {list(found)}; shape and rank in the metadata ask for {expected}")
        if dtype not in _DTYPES:
            raise FormatError(f"core {k} has dtype {dtype}; a ring holds F32 or F64")
        if _DTYPES[dtype] != described["dtype"]:
            raise FormatError(f"core {k} has dtype {dtype}, the metadata says {described['dtype']!r}")
