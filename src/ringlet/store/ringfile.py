"""The `.ring` file: cores in safetensors, what they mean in JSON beside them. No pickle, no code.

The file is read as if an enemy had written it. Our own pass over the header bounds its size and finds what
safetensors lets through (repeated keys, wrong meaning); safetensors then checks that the tensors tile the
file exactly, so nothing larger than the file is ever allocated.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError, FormatError, MissingFileError, RingletError
from ringlet.ring.tensor_ring import TensorRing
from ringlet.store.atomic import atomic_output, check_outputs

__all__ = ["load_ring", "save_ring"]

_VERSION = 1
_FIELDS = {"version", "shape", "rank", "dtype", "names", "units"}
_DTYPES = {"F32": "float32", "F64": "float64"}
# A core takes about 80 bytes of header: room for thousands, and even hostile JSON unpacks to less than 64 MB.
_LARGEST_HEADER = 1 << 20


def save_ring(ring: TensorRing, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a ring to a `.ring` file, whole or not at all.

    Parameters
    ----------
    ring : TensorRing
        What to save, with its names and units.
    path : path
        Where to.
    force : bool
        Replace an existing file.

    Examples
    --------
    >>> import tempfile
    >>> ring = TensorRing([np.ones((2, 4, 3)), np.ones((3, 5, 2))], names=("time", "place"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_ring(ring, Path(folder, "x.ring"))
    ...     load_ring(Path(folder, "x.ring")).names
    ('time', 'place')
    """
    from safetensors.numpy import save

    check_outputs([path], force=force)
    cores = {f"core.{k}": np.ascontiguousarray(core) for k, core in enumerate(ring.cores)}
    content = save(cores, metadata={"ringlet": json.dumps(_describe(ring))})
    if int.from_bytes(content[:8], "little") > _LARGEST_HEADER:
        raise ArgumentError(f"the names and units take more than {_LARGEST_HEADER} bytes; shorten them")
    with atomic_output(path) as temporary:
        temporary.write_bytes(content)


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
    try:
        return _load(Path(path))
    except FormatError as error:
        raise FormatError(f"{os.fspath(path)}: {_shortened(error)}") from error.__cause__
    except FileNotFoundError as error:
        raise MissingFileError(f"{os.fspath(path)} does not exist") from error
    except OSError as error:
        raise FormatError(f"{os.fspath(path)}: cannot be read: {error.strerror or error}") from error


def _describe(ring: TensorRing) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "shape": ring.shape,
        "rank": ring.rank,
        "dtype": ring.dtype.name,
        "names": ring.names,
        "units": ring.units,
    }


def _load(path: Path) -> TensorRing:
    from safetensors import SafetensorError, safe_open

    described = _description(_header(path))
    try:
        with safe_open(path, framework="numpy") as file:
            names = list(file.keys())
            _check_cores(described, {name: file.get_slice(name) for name in names})
            cores = [_frozen(file.get_tensor(f"core.{k}")) for k in range(len(names))]
    except SafetensorError as error:
        raise FormatError(f"not a sound safetensors file: {error}") from error
    try:
        return TensorRing(cores, names=described["names"], units=described["units"])
    except RingletError as error:
        raise FormatError(f"not a ring: {error}") from error


def _frozen(core: NDArray[Any]) -> NDArray[Any]:
    """Make an array, and what it is a view of, read-only: the ring then takes it without a copy."""
    owner: Any = core
    while isinstance(owner, np.ndarray):
        owner.setflags(write=False)
        owner = owner.base
    return core


# The header: 8 bytes of length, then that much JSON.


def _header(path: Path) -> dict[str, Any]:
    if not path.is_file() and path.exists():
        raise FormatError("not a regular file")
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < 8:
            raise FormatError(f"not a safetensors file: only {size} bytes long")
        length = int.from_bytes(file.read(8), "little")
        if length > size - 8:
            raise FormatError(
                f"truncated, or not a safetensors file: a header of {length} bytes, {size - 8} in the file"
            )
        if length > _LARGEST_HEADER:
            raise FormatError(f"the header has {length} bytes; a ring's has at most {_LARGEST_HEADER}")
        try:
            text = file.read(length).decode()
        except UnicodeDecodeError as error:
            raise FormatError("the header is not UTF-8") from error
    return _object(text, "header")


def _object(text: str, what: str) -> dict[str, Any]:
    try:
        content = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except RecursionError as error:
        raise FormatError(f"the {what} is nested too deeply") from error
    except FormatError as error:
        raise FormatError(f"the {what} {error}") from None
    except ValueError as error:  # Syntax, and integers of thousands of digits.
        raise FormatError(f"the {what} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise FormatError(f"the {what} is not a JSON object")
    return content


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise FormatError("has the same key twice")
    return content


def _no_constant(name: str) -> None:
    raise FormatError(f"holds {name}")


# What the ring says of itself.


def _description(header: dict[str, Any]) -> dict[str, Any]:
    metadata = header.get("__metadata__")
    text = metadata.get("ringlet") if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise FormatError("a safetensors file, but without the metadata of a ring")
    described = _object(text, "metadata")
    _check_version(described.get("version"))
    if set(described) != _FIELDS:
        raise FormatError(f"the metadata lacks or adds {sorted(set(described) ^ _FIELDS)}")
    _check_sizes(described["shape"], described["rank"])
    _check_labels(described["names"], described["units"])
    return described


def _check_version(version: object) -> None:
    if type(version) is not int or version < 1:
        raise FormatError("the metadata gives no format version")
    if version > _VERSION:
        raise FormatError(
            f"format version {version} is from the future; this Ringlet reads up to {_VERSION}: upgrade it"
        )


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


# What the tensors must be to match it.


def _check_cores(described: dict[str, Any], tensors: dict[str, Any]) -> None:
    shape, rank = described["shape"], described["rank"]
    if set(tensors) != {f"core.{k}" for k in range(len(shape))}:
        raise FormatError(f"the metadata tells of {len(shape)} cores, the tensors are: {', '.join(sorted(tensors))}")
    for k, expected in enumerate(zip(rank, shape, rank[1:] + rank[:1], strict=True)):
        core = tensors[f"core.{k}"]
        if tuple(core.get_shape()) != expected:
            raise FormatError(
                f"core {k} has shape {core.get_shape()}; shape and rank in the metadata ask for {expected}"
            )
        if core.get_dtype() not in _DTYPES:
            raise FormatError(f"core {k} has dtype {core.get_dtype()}; a ring holds F32 or F64")
        if _DTYPES[core.get_dtype()] != described["dtype"]:
            raise FormatError(f"core {k} has dtype {core.get_dtype()}, the metadata says {described['dtype']!r}")


def _shortened(text: object) -> str:
    """Keep a hostile file from filling the screen."""
    whole = str(text)
    return whole if len(whole) < 400 else f"{whole[:400]} ..."
