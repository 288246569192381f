"""The `.ring` file: cores in safetensors, metadata in JSON, and a checksum.

Version 1 holds the cores as they are. Version 2 holds them as codes of fewer bytes and their scales; its metadata have
two more fields, `precision` and `error`.
"""

import os
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.checks import check_number, check_one_of
from ringlet.errors import ArgumentError, FormatError, PrecisionError, RingletError
from ringlet.ring.chain import balanced_cores
from ringlet.ring.tensor_ring import TensorRing
from ringlet.store.atomic import atomic_output, check_outputs, write_parts
from ringlet.store.compact_cores import PRECISIONS, compact, expanded
from ringlet.store.sealed import LARGEST_HEADER, SealedFile, open_sealed, seal

__all__ = ["load_ring", "save_ring", "stored_precision"]

_KIND, _FULL, _COMPACT = "ring", 1, 2  # files of full precision stay readable for programs that know version 1 only
_FIELDS = {"shape", "rank", "dtype", "names", "units"}
_COMPACT_FIELDS = {"precision", "error"}
_DTYPES = {"F32": "float32", "F64": "float64"}
_CODES = {"float16": "F16", "int8": "I8"}
_ALLOWED_PART = 1 / 4  # of the fit's own error: together they are then 3 % larger


def save_ring(
    ring: TensorRing,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    precision: str | None = None,
    error: float | None = None,
) -> float:
    """Write a ring to a `.ring` file, atomically.

    Parameters
    ----------
    ring : TensorRing
        The ring to save, with its names and units.
    path : path
        Where to.
    force : bool
        Replace an existing file.
    precision : {"float16", "int8"}, optional
        Store the cores in 2 bytes or 1 byte per number; by default in their own dtype.
    error : float, optional
        Root mean square error of the ring itself, in the data's units. A precision that costs more than a quarter of it
        is refused.

    Returns
    -------
    float
        Relative error (Frobenius norm) that the precision costs; 0 by default.

    Raises
    ------
    PrecisionError
        The precision costs too much; nothing is written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> ring = TensorRing([np.ones((2, 4, 3)), np.ones((3, 5, 2))], names=("time", "place"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cost = save_ring(ring, Path(folder, "x.ring"))
    ...     load_ring(Path(folder, "x.ring")).names
    ('time', 'place')
    """
    check_outputs([path], force=force)
    if error is not None:
        check_number("error", error, above=0)
    cost, version, description = 0.0, _FULL, _describe(ring)
    if precision is None:
        tensors = {f"core.{k}": np.ascontiguousarray(core) for k, core in enumerate(ring.cores)}
    else:
        check_one_of("precision", precision, PRECISIONS)
        tensors, cost = _compact_tensors(ring, precision)
        _check_cost(ring, precision, cost, error)
        version, description = _COMPACT, {**description, "precision": precision, "error": cost}
    header, *parts = seal(tensors, _KIND, version, description)
    if int.from_bytes(header[:8], "little") > LARGEST_HEADER:
        raise ArgumentError(f"the names and units take more than {LARGEST_HEADER} bytes; shorten them")
    with atomic_output(path) as temporary:
        write_parts(temporary, [header, *parts])
    return cost


def _compact_tensors(ring: TensorRing, precision: str) -> tuple[dict[str, NDArray[Any]], float]:
    """The tensors of a compact file, and the relative error of the ring that they give."""
    pairs = [compact(core, precision) for core in balanced_cores(ring.cores) or ring.cores]
    norm = ring.norm()
    cost = ring.distance(TensorRing([expanded(*pair) for pair in pairs])) / norm if norm > 0 else 0.0
    codes = {f"core.{k}": np.ascontiguousarray(codes) for k, (codes, _) in enumerate(pairs)}
    return codes | {f"scale.{k}": np.ascontiguousarray(scales) for k, (_, scales) in enumerate(pairs)}, cost


def _check_cost(ring: TensorRing, precision: str, cost: float, error: float | None) -> None:
    if error is None:
        return
    added = cost * ring.norm() / sqrt(ring.size)
    if added > _ALLOWED_PART * error:
        raise PrecisionError(
            f"precision={precision!r} would add an error of {added:.3g}, more than a quarter of the ring's own, "
            f"{error:.3g}; " + ("give precision='float16' or leave it out" if precision == "int8" else "leave it out")
        )


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
    with open_sealed(path, _KIND, _COMPACT) as file:
        described = file.description
        _check_description(described, file.version)
        cores = [file.read(f"core.{k}") for k in _checked_cores(described, file)]
        if "precision" in described:
            scales = [file.read(f"scale.{k}") for k in range(len(cores))]
            with np.errstate(all="ignore"):  # what is not finite is reported below
                cores = [expanded(*pair) for pair in zip(cores, scales, strict=True)]
        try:
            return TensorRing(cores, names=described["names"], units=described["units"])
        except RingletError as error:
            raise FormatError(f"not a ring: {error}") from error


def stored_precision(path: str | os.PathLike[str]) -> tuple[str, float] | None:
    """Precision of a compact file and the relative error that it costs; None of a file of full precision."""
    with open_sealed(path, _KIND, _COMPACT) as file:
        _check_description(file.description, file.version)
        if "precision" not in file.description:
            return None
        return file.description["precision"], float(file.description["error"])


def _describe(ring: TensorRing) -> dict[str, Any]:
    return {
        "shape": ring.shape,
        "rank": ring.rank,
        "dtype": ring.dtype.name,
        "names": ring.names,
        "units": ring.units,
    }


# Metadata of the ring.


def _check_description(described: dict[str, Any], version: int) -> None:
    fields = _FIELDS if version == _FULL else _FIELDS | _COMPACT_FIELDS
    if set(described) != fields:
        raise FormatError(f"the metadata lacks or adds {sorted(set(described) ^ fields)}")
    if "precision" in described:
        _check_precision(described["precision"], described["error"])
    _check_sizes(described["shape"], described["rank"])
    _check_labels(described["names"], described["units"])


def _check_precision(precision: object, error: object) -> None:
    if precision not in PRECISIONS:
        raise FormatError(f"the metadata's precision is {precision!r}; known are {', '.join(PRECISIONS)}")
    if not isinstance(error, int | float) or isinstance(error, bool) or not 0 <= error < inf:
        raise FormatError("the metadata's error is not a number of at least 0")


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


def _checked_cores(described: dict[str, Any], file: SealedFile) -> range:
    """Numbers of the cores, all of whose tensors are as the metadata say."""
    shape, rank, precision = described["shape"], described["rank"], described.get("precision")
    names = {f"core.{k}" for k in range(len(shape))}
    if precision is not None:
        names |= {f"scale.{k}" for k in range(len(shape))}
    if set(file.shapes) != names:
        raise FormatError(
            f"the metadata describes {len(shape)} cores, the tensors are: {', '.join(sorted(file.shapes))}"
        )
    for k, expected in enumerate(zip(rank, shape, rank[1:] + rank[:1], strict=True)):
        _check_shape(f"core {k}", file.shapes[f"core.{k}"], expected)
        dtype = file.dtypes[f"core.{k}"]
        if precision is None:
            _check_dtype(f"core {k}", dtype, described["dtype"])
            continue
        if dtype != _CODES[precision]:
            raise FormatError(f"core {k} has dtype {dtype}, the metadata say precision {precision!r}")
        _check_shape(f"scale {k}", file.shapes[f"scale.{k}"], (1, shape[k], 1))
        _check_dtype(f"scale {k}", file.dtypes[f"scale.{k}"], described["dtype"])
    return range(len(shape))


def _check_shape(name: str, found: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if found != expected:
        raise FormatError(f"{name} has shape {list(found)}; shape and rank in the metadata need {expected}")


def _check_dtype(name: str, dtype: str, described: object) -> None:
    if dtype not in _DTYPES:
        raise FormatError(f"{name} has dtype {dtype}; a ring holds F32 or F64")
    if _DTYPES[dtype] != described:
        raise FormatError(f"{name} has dtype {dtype}, the metadata says {described!r}")
