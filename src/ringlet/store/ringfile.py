"""The `.ring` file: cores in safetensors, what they mean in JSON beside them. No pickle, no code.

The file is read as if an enemy had written it. Our own pass over the header bounds its size and finds what
safetensors lets through (repeated keys, wrong meaning); safetensors then checks that the tensors tile the
file exactly, so nothing larger than the file is ever allocated.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError, FormatError, MissingFileError, RingletError
from ringlet.ring import TensorRing
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
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
            shapes = {name: tuple(part.get_shape()) for name, part in slices.items()}
            dtypes = {part.get_dtype() for part in slices.values()}
            _check_tensors(described, shapes, dtypes)
            cores = [file.get_tensor(f"core.{k}") for k in range(len(shapes))]
    except SafetensorError as error:
        raise FormatError(f"not a sound safetensors file: {error}") from error
    _check_finite(cores)
    try:
        return TensorRing(cores, names=described["names"], units=described["units"])
    except RingletError as error:
        raise FormatError(f"not a ring: {error}") from error


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
        odd = ", ".join(sorted(set(described) ^ _FIELDS))
        raise FormatError(f"the metadata lacks or adds: {odd}")
    for field in ("shape", "rank"):
        described[field] = _sizes(described[field], field)
    for field in ("names", "units"):
        described[field] = _labels(described[field], field)
    return described


def _check_version(version: object) -> None:
    if type(version) is not int or version < 1:
        raise FormatError("the metadata gives no format version")
    if version > _VERSION:
        raise FormatError(
            f"format version {version} is from the future; this Ringlet reads up to {_VERSION}: upgrade it"
        )


def _sizes(value: object, field: str) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(size) is int and size > 0 for size in value):
        raise FormatError(f"the metadata's {field} is not a list of positive integers")
    return tuple(value)


def _labels(value: object, field: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(label, str) for label in value):
        raise FormatError(f"the metadata's {field} is neither null nor a list of texts")
    return tuple(value)


# What the tensors must be to match it.


def _check_tensors(described: dict[str, Any], shapes: dict[str, tuple[int, ...]], dtypes: set[str]) -> None:
    order = len(described["shape"])
    if set(shapes) != {f"core.{k}" for k in range(order)}:
        raise FormatError(
            f"the metadata tells of {order} cores, the tensors are named {', '.join(sorted(shapes))}"
        )
    cores = [shapes[f"core.{k}"] for k in range(order)]
    if any(len(shape) != 3 for shape in cores):
        raise FormatError("a core does not have three axes")
    if any(left[2] != right[0] for left, right in zip(cores, cores[1:] + cores[:1], strict=True)):
        raise FormatError(f"the cores do not close to a ring: their shapes are {cores}")
    if tuple(shape[1] for shape in cores) != described["shape"]:
        raise FormatError(f"the metadata says shape {described['shape']}, the cores have shapes {cores}")
    if tuple(shape[0] for shape in cores) != described["rank"]:
        raise FormatError(f"the metadata says rank {described['rank']}, the cores have shapes {cores}")
    _check_dtypes(described["dtype"], dtypes)


def _check_dtypes(described: object, dtypes: set[str]) -> None:
    if not dtypes <= set(_DTYPES):
        raise FormatError(f"cores of dtype {', '.join(sorted(dtypes))}; a ring holds float32 or float64")
    if [described] != [_DTYPES[dtype] for dtype in dtypes]:
        raise FormatError(f"the metadata says dtype {described}, the cores have {', '.join(sorted(dtypes))}")


def _check_finite(cores: list[NDArray[np.floating]]) -> None:
    for k, core in enumerate(cores):
        # One number tells: infinities and NaNs do not vanish in a minimum and maximum. No array is allocated.
        if not (np.isfinite(core.min()) and np.isfinite(core.max())):
            raise FormatError(f"core {k} holds NaN or infinity")


def _shortened(text: object) -> str:
    """Keep a hostile file from filling the screen."""
    return re.sub(r"(?s)^(.{400}).+", r"\1 ...", str(text))
