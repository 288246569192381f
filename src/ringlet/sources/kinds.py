"""Kinds of files, and the errors of reading them."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from ringlet.errors import ArgumentError, FormatError, MissingFileError, RingletError
from ringlet.sources.media import IMAGE_SUFFIXES
from ringlet.sources.paths import exists, is_file, is_folder, open_file

__all__ = [
    "IMAGE_SUFFIXES",
    "VIDEO_SUFFIXES",
    "Kind",
    "holds_only_pictures",
    "is_zarr",
    "kind_of",
    "reading",
    "split_key",
]

Kind = Literal[
    "npy", "npz", "mat", "image", "video", "frames", "zarr", "hdf5", "tiff", "netcdf", "netcdf3", "csv", "parquet"
]

VIDEO_SUFFIXES = (".mp4", ".avi", ".mov", ".mkv", ".webm")
_KINDS: dict[str, Kind] = {
    ".npy": "npy",
    ".npz": "npz",
    ".mat": "mat",
    **dict.fromkeys(IMAGE_SUFFIXES, "image"),
    **dict.fromkeys(VIDEO_SUFFIXES, "video"),
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".tif": "tiff",
    ".tiff": "tiff",
    ".nc": "netcdf",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
}
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # of a server; pathlib has made one slash of two
_ZARR_FILES = ("zarr.json", ".zarray", ".zgroup")


def split_key(path: str | os.PathLike[str], key: str | None) -> tuple[Path, str | None]:
    """A path and a key, from ``file.h5::name`` if there is no file of just that name.

    Examples
    --------
    >>> split_key("run.h5::group/x", None)[1]
    'group/x'
    """
    whole, marker, name = os.fspath(path).rpartition("::")
    if not marker or exists(path):
        return Path(path), key
    if key is not None and key != name:
        raise ArgumentError(f"{os.fspath(path)} names the array {name!r}, but key={key!r}; give one of the two")
    return Path(whole), name


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn any exception of a reader into an error that names the file."""
    try:
        yield
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from error.__cause__
    except (RingletError, Warning):  # warnings, where they are made errors
        raise
    except FileNotFoundError as error:
        remote = _ADDRESS.match(os.fspath(path)) is not None
        more = "; addresses are not read: open it, e.g. by zarr.open or xarray.open_zarr, and give the array" * remote
        raise MissingFileError(f"{path} does not exist{more}") from error
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror or error}") from error
    # The libraries promise no set of exceptions: corrupt input raises KeyError, TypeError, zlib.error ...
    except Exception as error:
        raise FormatError(f"{path}: cannot be read: {error or type(error).__name__}") from error


def kind_of(path: Path) -> Kind:
    """The kind of a file, from its first bytes, or else from its suffix; of a folder, from what is in it."""
    if is_folder(path):
        return _kind_of_folder(path)
    with open_file(path) as file:
        head = file.read(520)
    if head.startswith(b"MATLAB 7.3"):
        raise FormatError("MATLAB files of version 7.3 are not read; in MATLAB: save -v7")
    kind = _kind_in_bytes(head) or _KINDS.get(path.suffix.lower())
    if kind == "hdf5" and path.suffix.lower() == ".nc":
        return "netcdf"  # whose version 4 is HDF5 with conventions
    if kind is None and path.suffix.lower() == ".ring":
        raise FormatError("a ring, not data; in Python np.asarray(ringlet.TensorRing.load(path)) gives its entries")
    if kind is None:
        raise FormatError(
            f"of an unknown kind; the files that are read: {' '.join(_KINDS)}, zarr stores and folders of pictures"
        )
    return kind


def is_zarr(path: Path) -> bool:
    """Whether a folder is a zarr store."""
    return any(is_file(path / name) for name in _ZARR_FILES)


def holds_only_pictures(path: Path) -> bool:
    """Whether a folder holds pictures and nothing else."""
    files = list(path.iterdir()) if path.is_dir() else []
    return bool(files) and all(file.is_file() and file.suffix.lower() in IMAGE_SUFFIXES for file in files)


def _kind_of_folder(path: Path) -> Kind:
    if is_zarr(path):
        return "zarr"
    if any(file.suffix.lower() in IMAGE_SUFFIXES for file in path.iterdir()):
        return "frames"
    raise FormatError(
        f"a folder that is neither a zarr store nor holds pictures ({' '.join(sorted(IMAGE_SUFFIXES))}); stack other "
        "frames, such as TIFF files, to one array first"
    )


def _kind_in_bytes(head: bytes) -> Kind | None:
    if b"\x89HDF\r\n\x1a\n" in (head[:8], head[512:]):
        return "hdf5"
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "npz"
    if head.startswith(b"MATLAB 5.0"):
        return "mat"
    if head.startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")) or head[8:12] == b"WEBP":
        return "image"
    if head.startswith((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")):
        return "tiff"
    if head.startswith((b"CDF\x01", b"CDF\x02")):
        return "netcdf3"
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"\x1a\x45\xdf\xa3") or head[4:8] == b"ftyp" or head[8:12] == b"AVI ":
        return "video"
    return None
