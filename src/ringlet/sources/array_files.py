"""Arrays inside npy, npz and mat files. Files may be hostile: nothing is executed, sizes are checked first."""

import math
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import FormatError

__all__ = ["check_real", "names_in", "open_npy", "read_array", "real_array", "refuse_bomb", "shapes_in"]

_REAL = "biuf"
_MAT_CLASSES = {"double", "single", "logical"} | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
# Deflate can reach a ratio of a thousand, real data hardly ever a hundred.
_BOMB_BYTES, _BOMB_RATIO = 4 << 30, 100


def open_npy(path: Path) -> NDArray[Any]:
    """The array of an npy file, as a read-only memory map."""
    with path.open("rb") as file:
        shape, dtype = _npy_header(file)
        expected, size = file.tell() + math.prod(shape) * dtype.itemsize, path.stat().st_size
    if dtype.hasobject:
        raise FormatError(
            "holds Python objects, which could run anything; only real numbers are read, and truth values of masks"
        )
    if size < expected:
        raise FormatError(f"the file is cut off: it has {size} bytes where its shape {shape} asks for {expected}")
    array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return array


def real_array(array: NDArray[Any]) -> NDArray[Any]:
    """The array, if it holds real numbers or truth values."""
    check_real(array.dtype)
    return array


def check_real(dtype: np.dtype[Any]) -> None:
    """Raise an error for arrays of anything but real numbers and truth values."""
    if dtype.kind not in _REAL:
        raise FormatError(f"an array of dtype {dtype}; only real numbers are read, and truth values of masks")


# Files of several named arrays. Names and shapes are known before any array is read.


def shapes_in(path: Path, kind: str) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the real arrays in an npz or mat file."""
    shapes = _npz_shapes(path) if kind == "npz" else _mat_shapes(path)
    if not shapes:
        raise FormatError("there is no array of real numbers in it")
    return shapes


def names_in(path: Path, kind: str) -> list[str]:
    """Names of all content of an npz or mat file, arrays or not; empty for other files."""
    try:
        if kind == "npz":
            with zipfile.ZipFile(path) as archive:
                return [name.removesuffix(".npy") for name in archive.namelist()]
        from scipy.io import whosmat

        return [name for name, _, _ in whosmat(path, appendmat=False)]
    except Exception:  # readers document no set of exceptions
        return []


def read_array(path: Path, kind: str, key: str) -> NDArray[Any]:
    """One array of an npz or mat file."""
    return real_array(_read_npz(path, key) if kind == "npz" else _read_mat(path, key))


def _npz_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    shapes = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".npy"):
                with archive.open(name) as member:
                    shape, dtype = _npy_header(member)
                if dtype.kind in _REAL:
                    shapes[name.removesuffix(".npy")] = shape
    return shapes


def _read_npz(path: Path, key: str) -> NDArray[Any]:
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo(f"{key}.npy")
        with archive.open(member) as file:
            shape, dtype = _npy_header(file)
            expected = file.tell() + math.prod(shape) * dtype.itemsize
        if member.file_size != expected:
            raise FormatError(f"{key} has {member.file_size} bytes where its shape {shape} asks for {expected}")
        refuse_bomb(member.file_size, member.compress_size)
        with archive.open(member) as file:
            array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    return array


def _npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    try:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        elif version == (2, 0):
            shape, _, dtype = np.lib.format.read_array_header_2_0(file)
        else:  # Version 3 is for structured arrays only.
            raise FormatError(f"an array in npy version {version}; plain arrays have 1.0 or 2.0")
    except FormatError:
        raise
    except ValueError as error:  # NumPy's own message may advise to trust the file
        raise FormatError("cannot be read: it does not begin as an npy file does") from error
    return shape, dtype


def _mat_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    from scipy.io import whosmat

    return {name: shape for name, shape, kind in whosmat(path, appendmat=False) if kind in _MAT_CLASSES}


def _read_mat(path: Path, key: str) -> NDArray[Any]:
    from scipy.io import loadmat

    shape = _mat_shapes(path)[key]
    refuse_bomb(8 * math.prod(shape), path.stat().st_size)
    # MATLAB packs whole numbers into small integers on disk; mat_dtype gives back what they were.
    array: NDArray[Any] = loadmat(path, appendmat=False, variable_names=[key], mat_dtype=True)[key]
    return array


def refuse_bomb(size: int, compressed: int) -> None:
    """Raise an error where few bytes claim to be very many."""
    if size > _BOMB_BYTES and size > _BOMB_RATIO * compressed:
        raise FormatError(f"{compressed} bytes that claim to unpack to {size}; refused as a decompression bomb")
