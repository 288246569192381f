"""Reading tensors and masks from single files: npy, npz, mat, pictures, videos.

Files may be damaged or hostile: nothing in them is executed, sizes are checked before memory is taken, and
whatever goes wrong inside a reader comes out as a FormatError that names the file.
"""

import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError, FormatError, MissingFileError, RingletError
from ringlet.sources.media import read_image, read_video

__all__ = ["IMAGE_SUFFIXES", "VIDEO_SUFFIXES", "Kind", "Loaded", "load", "load_mask"]

Kind = Literal["npy", "npz", "mat", "image", "video"]

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp")
VIDEO_SUFFIXES = (".mp4", ".avi", ".mov", ".mkv", ".webm")
_KINDS: dict[str, Kind] = {
    ".npy": "npy",
    ".npz": "npz",
    ".mat": "mat",
    **dict.fromkeys(IMAGE_SUFFIXES, "image"),
    **dict.fromkeys(VIDEO_SUFFIXES, "video"),
}
_MASK_KEYS = ("observed", "mask")
_REAL = "biuf"
_MAT_CLASSES = {"double", "single", "logical"} | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
# Deflate can reach a ratio of a thousand, real data hardly ever a hundred.
_BOMB_BYTES, _BOMB_RATIO = 4 << 30, 100
_NAMES = {2: ("height", "width"), 3: ("height", "width", "colour")}


@dataclass(frozen=True, eq=False)
class Loaded:
    """A tensor from a file, and what the file says about it.

    Attributes
    ----------
    array : array
        The entries in the file's own dtype; of an npy file a read-only memory map.
    kind : {"npy", "npz", "mat", "image", "video"}
        What kind of file it was.
    names : tuple of str, or None
        The modes' names, where the kind of file tells them.
    frame_rate : Fraction or None
        Frames a second, of a video.
    key : str or None
        Under which name the array was found, in an npz or mat file.
    observed : array of bool, or None
        True where an entry is known, if the file has an array `observed` or `mask` too.
    """

    array: NDArray[Any]
    kind: Kind
    names: tuple[str, ...] | None = None
    frame_rate: Fraction | None = None
    key: str | None = None
    observed: NDArray[np.bool_] | None = None


def load(path: str | os.PathLike[str], *, key: str | None = None, frames: int | None = None) -> Loaded:
    """Read a tensor from a file; what kind of file it is shows in its first bytes, or else in its suffix.

    Parameters
    ----------
    path : path
        An npy, npz, mat (up to version 7), png, jpg, webp, bmp, mp4, mov, mkv, webm or avi file.
    key : str, optional
        Which array of an npz or mat file. Without it: the only one, or the one named `tensor`.
    frames : int, optional
        Read at most so many frames of a video.

    Returns
    -------
    Loaded

    Raises
    ------
    MissingFileError
        There is no such file.
    FormatError
        The file is damaged, or of a kind that is not read.
    ArgumentError
        `key` is not in the file, or is needed to choose.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "x.npz")
    ...     np.savez(file, tensor=np.zeros((3, 4), np.uint8), observed=np.ones((3, 4), bool))
    ...     loaded = load(file)
    >>> loaded.array.shape, loaded.key, loaded.observed.all()
    ((3, 4), 'tensor', np.True_)
    """
    path = Path(path)
    with _reading(path):
        kind = _kind_of(path)
        if key is not None and kind not in ("npz", "mat"):
            raise ArgumentError(f"{path} has no keys; key={key!r} is for npz and mat files")
        if kind == "npy":
            return Loaded(_real(_open_npy(path)), kind)
        if kind == "image":
            picture = read_image(path)
            return Loaded(picture, kind, names=_NAMES[picture.ndim])
        if kind == "video":
            video, rate = read_video(path, frames)
            return Loaded(video, kind, names=("height", "width", "colour", "frame"), frame_rate=rate)
        shapes = _shapes_in(path, kind)
        key = _choose(path, shapes, key)
        observed = _mask_beside(path, kind, shapes, key)
        return Loaded(_read_array(path, kind, key), kind, key=key, observed=observed)


def load_mask(path: str | os.PathLike[str], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Read which entries of a tensor are known.

    Parameters
    ----------
    path : path
        An npy, npz or mat file of truth values or zeros and ones, or a picture, where anything but black is
        known (a png: the blur of a jpg leaves little black).
    shape : tuple of int
        The tensor's shape. A mask of only its first modes (at least two), such as ``(height, width)`` for a
        video, holds for all of the others.

    Returns
    -------
    array of bool with that shape
        True where an entry is known. It may be a read-only view.

    Raises
    ------
    MissingFileError, FormatError
        As for `load`; also for arrays with other values than 0 and 1.
    ArgumentError
        The mask does not have the tensor's shape.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "mask.npy")
    ...     np.save(file, np.eye(2))
    ...     load_mask(file, (2, 2, 3))[..., 0]
    array([[ True, False],
           [False,  True]])
    """
    path = Path(path)
    with _reading(path):
        kind = _kind_of(path)
        if kind == "video":
            raise FormatError("a video cannot be a mask; give an npy, npz or mat file or a picture")
        if kind == "image":
            return _spread(_picture_mask(read_image(path), shape), shape)
        if kind == "npy":
            return _spread(_truth(_real(_open_npy(path))), shape)
        shapes = _shapes_in(path, kind)
        key = _mask_key(shapes) or _choose(path, shapes, None)
        return _spread(_truth(_read_array(path, kind, key)), shape)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn whatever a reader throws at a bad file into errors that name the file."""
    try:
        yield
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error.__cause__
    except RingletError:
        raise
    except FileNotFoundError as error:
        raise MissingFileError(f"{path} does not exist") from error
    # The libraries promise no set of exceptions: corrupt input raises KeyError, TypeError, zlib.error ...
    except Exception as error:
        raise FormatError(f"{path}: cannot be read: {error or type(error).__name__}") from error


def _kind_of(path: Path) -> Kind:
    if path.exists() and not path.is_file():
        raise FormatError("not a regular file")
    with path.open("rb") as file:
        head = file.read(520)
    if head.startswith(b"MATLAB 7.3") or b"\x89HDF\r\n\x1a\n" in (head[:8], head[512:]):
        raise FormatError("HDF5 files (MATLAB's version 7.3 too) are not read yet; in MATLAB: save -v7")
    kind = _kind_in_bytes(head) or _KINDS.get(path.suffix.lower())
    if kind is None:
        raise FormatError(f"of an unknown kind; the files that are read: {' '.join(_KINDS)}")
    return kind


def _kind_in_bytes(head: bytes) -> Kind | None:
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "npz"
    if head.startswith(b"MATLAB 5.0"):
        return "mat"
    if head.startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")) or head[8:12] == b"WEBP":
        return "image"
    if head.startswith(b"\x1a\x45\xdf\xa3") or head[4:8] == b"ftyp" or head[8:12] == b"AVI ":
        return "video"
    return None


def _open_npy(path: Path) -> NDArray[Any]:
    with path.open("rb") as file:
        _, dtype = _npy_header(file)
    if dtype.hasobject:
        raise FormatError("holds Python objects, which could run anything; only real numbers and truth values are read")
    array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return array


def _real(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind not in _REAL:
        raise FormatError(f"an array of dtype {array.dtype}; only real numbers and truth values are read")
    return array


# Files of several named arrays. Names and shapes are known before any array is read.


def _shapes_in(path: Path, kind: Kind) -> dict[str, tuple[int, ...]]:
    shapes = _npz_shapes(path) if kind == "npz" else _mat_shapes(path)
    if not shapes:
        raise FormatError("there is no array of real numbers in it")
    return shapes


def _choose(path: Path, shapes: Mapping[str, tuple[int, ...]], key: str | None) -> str:
    listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
    if key is not None:
        if key not in shapes:
            raise ArgumentError(f"{path} has no array {key!r}; it holds: {listed}")
        return key
    # A lone mask is still an array to read.
    candidates = [name for name in shapes if name not in _MASK_KEYS] or list(shapes)
    if len(candidates) == 1:
        return candidates[0]
    if "tensor" in candidates:
        return "tensor"
    raise ArgumentError(f"{path} holds several arrays; choose one with key: {listed}")


def _read_array(path: Path, kind: Kind, key: str) -> NDArray[Any]:
    return _real(_read_npz(path, key) if kind == "npz" else _read_mat(path, key))


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
        _refuse_bomb(member.file_size, member.compress_size)
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
    except ValueError as error:  # NumPy's own words may advise to trust the file
        raise FormatError("cannot be read: it does not begin as an npy file does") from error
    return shape, dtype


def _mat_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    from scipy.io import whosmat

    return {name: shape for name, shape, kind in whosmat(path, appendmat=False) if kind in _MAT_CLASSES}


def _read_mat(path: Path, key: str) -> NDArray[Any]:
    from scipy.io import loadmat

    shape = _mat_shapes(path)[key]
    _refuse_bomb(8 * math.prod(shape), path.stat().st_size)
    # MATLAB packs whole numbers into small integers on disk; mat_dtype gives back what they were.
    array: NDArray[Any] = loadmat(path, appendmat=False, variable_names=[key], mat_dtype=True)[key]
    return array


def _refuse_bomb(size: int, compressed: int) -> None:
    if size > _BOMB_BYTES and size > _BOMB_RATIO * compressed:
        raise FormatError(f"{compressed} bytes that claim to unpack to {size}; refused as a decompression bomb")


# Masks.


def _mask_beside(
    path: Path, kind: Kind, shapes: Mapping[str, tuple[int, ...]], tensor_key: str
) -> NDArray[np.bool_] | None:
    key = _mask_key(shapes)
    if key is None or tensor_key in _MASK_KEYS:
        return None
    return _spread(_truth(_read_array(path, kind, key)), shapes[tensor_key])


def _mask_key(shapes: Mapping[str, tuple[int, ...]]) -> str | None:
    return next((key for key in _MASK_KEYS if key in shapes), None)


def _picture_mask(picture: NDArray[Any], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    if picture.ndim == 2 or picture.shape == shape[:3]:
        return picture.astype(bool)
    return np.asarray(picture[..., :3].any(axis=2))


def _truth(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype == bool:
        return values
    truth = values.astype(bool)
    if (truth != values).any():
        raise FormatError("a mask holds truth values, or zeros and ones; this one holds other numbers")
    return truth


def _spread(mask: NDArray[np.bool_], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    if mask.shape == shape:
        return mask
    if mask.ndim < 2 or mask.shape != shape[: mask.ndim]:
        raise ArgumentError(
            f"the mask has shape {mask.shape}, the tensor {shape}; a mask has the same shape, "
            "or that of the first modes (two or more)"
        )
    return np.broadcast_to(mask.reshape(mask.shape + (1,) * (len(shape) - mask.ndim)), shape)
