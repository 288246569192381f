"""Arrays inside npy, npz and mat files. Files may be hostile: nothing is executed, sizes are checked first."""

import math
import os
import re
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import FormatError
from ringlet.sources.limits import DEFLATE_RATIO, LONGEST_HEADER, check_size
from ringlet.sources.mat_files import mat_arrays, read_mat
from ringlet.sources.paths import open_file

__all__ = ["check_real", "names_in", "open_npy", "read_array", "real_array", "shapes_in"]

_REAL = "biuf"
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # NumPy's; others are unpacked without a bound


def open_npy(path: Path) -> NDArray[Any]:
    """The array of an npy file, as a read-only memory map."""
    with open_file(path) as file:
        shape, dtype = _npy_header(file)
        expected, size = file.tell() + math.prod(shape) * dtype.itemsize, file.seek(0, os.SEEK_END)
    if dtype.hasobject:
        raise FormatError(
            "holds Python objects, which could run anything; only real numbers are read, and booleans of masks"
        )
    if size < expected:
        raise FormatError(f"the file is cut off: it has {size} bytes where its shape {shape} needs {expected}")
    array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return array


def real_array(array: NDArray[Any]) -> NDArray[Any]:
    """The array, if it holds real numbers or booleans."""
    check_real(array.dtype)
    return array


def check_real(dtype: np.dtype[Any]) -> None:
    """Raise an error for arrays of anything but real numbers and booleans."""
    if dtype.kind not in _REAL:
        raise FormatError(f"an array of dtype {dtype}; only real numbers are read, and booleans of masks")


# Files of several named arrays. Names and shapes are known before any array is read.


def shapes_in(path: Path, kind: str) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the real arrays in an npz or mat file."""
    if kind == "npz":
        shapes = _npz_shapes(path)
    else:
        shapes = {name: array.shape for name, array in mat_arrays(path).items() if array.dtype is not None}
    if not shapes:
        raise FormatError("there is no array of real numbers in it")
    return shapes


def names_in(path: Path, kind: str) -> list[str]:
    """Names of all content of an npz or mat file, arrays or not; empty for other files."""
    try:
        if kind == "npz":
            with zipfile.ZipFile(path) as archive:
                return [name.removesuffix(".npy") for name in archive.namelist()]
        return list(mat_arrays(path))
    except Exception:  # readers promise no set of exceptions
        return []


def read_array(path: Path, kind: str, key: str, max_size: float | str | None = None) -> NDArray[Any]:
    """One array of an npz or mat file, if it takes no more memory than `max_size` allows."""
    if kind == "mat":
        return read_mat(path, mat_arrays(path)[key], max_size)
    return real_array(_read_npz(path, key, max_size))


def _npz_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    shapes = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".npy"):
                _check_member_name(name)
                with archive.open(name) as member:
                    shape, dtype = _npy_header(member)
                if dtype.kind in _REAL:
                    shapes[name.removesuffix(".npy")] = shape
    return shapes


def _check_member_name(name: str) -> None:
    """Refuse a name that, where somebody unpacks a copy of the file, leads out of the folder."""
    if name.startswith(("/", "\\")) or ".." in re.split(r"[/\\]", name):
        raise FormatError(f"it holds an array of the name {name!r}, which leads out of the folder that it is put in")


def _read_npz(path: Path, key: str, max_size: float | str | None) -> NDArray[Any]:
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo(f"{key}.npy")
        if member.compress_type not in _ZIP_METHODS:
            raise FormatError(f"{key} is compressed by a method that NumPy does not write; only deflate is read")
        with archive.open(member) as file:
            shape, dtype = _npy_header(file)
            expected = file.tell() + math.prod(shape) * dtype.itemsize
        if member.file_size != expected:
            raise FormatError(f"{key} has {member.file_size} bytes where its shape {shape} needs {expected}")
        if expected > DEFLATE_RATIO * member.compress_size:
            raise FormatError(
                f"{member.compress_size} bytes that claim to unpack to {expected}; refused as a decompression bomb"
            )
        check_size(expected, max_size, key)
        with archive.open(member) as file:
            array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    return array


def _npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    try:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(file, max_header_size=LONGEST_HEADER)
        elif version == (2, 0):
            _check_header_2(file)
            shape, _, dtype = np.lib.format.read_array_header_2_0(file, max_header_size=LONGEST_HEADER)
        else:  # Version 3 is for structured arrays only.
            raise FormatError(f"an array in npy version {version}; plain arrays have 1.0 or 2.0")
    except FormatError:
        raise
    except ValueError as error:  # NumPy's own message may advise to trust the file
        raise FormatError("cannot be read: it does not begin as an npy file does") from error
    if min(shape, default=0) < 0:
        raise FormatError(f"its shape is {shape}; no size is below 0")
    return shape, dtype


def _check_header_2(file: IO[bytes]) -> None:
    """Refuse a long header, which NumPy would read before it counts; it stands behind its length in 4 bytes."""
    start = file.tell()
    length = int.from_bytes(file.read(4), "little")
    if length > LONGEST_HEADER:
        raise FormatError(f"its header has {length} bytes; at most {LONGEST_HEADER} are read")
    file.seek(start)
