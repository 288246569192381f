"""Writing tensors as npy, npz, mat, zarr, HDF5, pictures and videos: the counterpart of `ringlet.sources.files`."""

import os
import zipfile
from collections.abc import Iterable, Sequence
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ringlet.errors import ArgumentError, ArgumentTypeError
from ringlet.sources.dtypes import as_dtype
from ringlet.sources.kinds import IMAGE_SUFFIXES, Kind
from ringlet.sources.media import import_pillow
from ringlet.store.atomic import atomic_folder, atomic_output, check_outputs
from ringlet.store.chunked_outputs import NewArray, write_store
from ringlet.store.labelled_outputs import write_labelled
from ringlet.store.plain_files import write_npy
from ringlet.store.video_outputs import VIDEO_OUTPUTS, write_video

__all__ = ["check_kind", "check_mat", "holds_alpha", "write_array", "write_frames"]

_DEFAULT_RATE = 25
_ARRAYS: dict[str, Kind] = {
    ".npy": "npy",
    ".npz": "npz",
    ".mat": "mat",
    ".zarr": "zarr",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".tif": "tiff",
    ".tiff": "tiff",
    ".nc": "netcdf",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
}
_COLOURS = {".png": (3, 4), ".webp": (3, 4), ".jpg": (3,), ".jpeg": (3,), ".bmp": (3,)}
_IMAGE_FORMATS = {".png": "PNG", ".webp": "WEBP", ".jpg": "JPEG", ".jpeg": "JPEG", ".bmp": "BMP"}
_LONGEST_SIDE = {".jpg": 65500, ".jpeg": 65500, ".webp": 16383}
_LARGEST_MAT = (1 << 32) - 1


def check_kind(path: str | os.PathLike[str], shape: tuple[int, ...]) -> Kind:
    """Raise an error for a suffix that cannot hold an array of this shape; call it before any work.

    Parameters
    ----------
    path : path
        Where `write_array` is going to write.
    shape : tuple of int
        The shape of the array.

    Returns
    -------
    Kind
        The kind of file the suffix stands for; a path without a suffix is a folder of frames.

    Raises
    ------
    ArgumentError
        The message lists what is allowed.

    Examples
    --------
    >>> check_kind("clean.mp4", (120, 160, 3, 50))
    'video'
    """
    suffix = Path(path).suffix.lower()
    if suffix in _ARRAYS:
        return _ARRAYS[suffix]
    if suffix in IMAGE_SUFFIXES:
        _check_image_shape(path, suffix, shape)
        return "image"
    if suffix in VIDEO_OUTPUTS:
        _check_video_shape(path, shape)
        return "video"
    if not suffix and _is_video(shape):
        return "frames"
    allowed = " ".join((*_ARRAYS, *IMAGE_SUFFIXES, *VIDEO_OUTPUTS))
    raise ArgumentError(f"cannot write {os.fspath(path)}: the suffix must be one of {allowed}")


def holds_alpha(path: str | os.PathLike[str]) -> bool:
    """Whether a path is that of a picture whose pixels can be transparent.

    Examples
    --------
    >>> holds_alpha("clean.png"), holds_alpha("clean.jpg")
    (True, False)
    """
    return 4 in _COLOURS.get(Path(path).suffix.lower(), ())


def write_array(
    path: str | os.PathLike[str],
    array: ArrayLike,
    *,
    frame_rate: Fraction | float | None = None,
    key: str | None = None,
    alpha: NDArray[np.uint8] | None = None,
    force: bool = False,
) -> None:
    """Write a tensor to a file of the kind its suffix says, atomically.

    Pictures and videos hold whole numbers from 0 to 255 (grey png also 16 bits, for uint16 arrays): other
    numbers are rounded and clipped, booleans become black and white.

    Parameters
    ----------
    path : path
        A suffix of .npy, .npz, .mat, .zarr, .h5, .hdf5, .tif, .tiff, .nc, .csv, .tsv, .parquet, .png, .jpg, .jpeg,
        .webp, .bmp, .mp4, .mov, .mkv or .avi; without a suffix it is a folder of frames.
    array : array
        Real numbers. Tables: ``(rows, columns)``. Pictures: ``(height, width)`` or ``(height, width, 3 or 4)``. Videos:
        ``(height, width, 3, frames)`` or ``(height, width, frames)``.
    frame_rate : number, optional
        Frames a second of a video, 25 if not given.
    key : str, optional
        The array's name in an npz, mat or HDF5 file, "tensor" if not given, or in a zarr group.
    alpha : uint8 array ``(height, width)``, optional
        Opacity of the pixels of a grey or colour picture, 255 = opaque; only png and webp store it.
    force : bool
        Replace an existing file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_array(Path(folder, "x.npy"), np.zeros((2, 3)))
    ...     np.load(Path(folder, "x.npy")).shape
    (2, 3)
    """
    array = np.asarray(array)
    if array.dtype.kind not in "biuf":
        raise ArgumentTypeError(f"cannot write an array of dtype {array.dtype}; only real numbers and booleans")
    kind = check_kind(path, array.shape)
    if kind in ("zarr", "hdf5"):
        write_store(path, array.__getitem__, NewArray(array.shape, array.dtype, key=key), force=force)
        return
    if kind == "npy":
        write_npy(path, array.__getitem__, array.shape, array.dtype, force=force)
        return
    key = "tensor" if key is None else key
    if kind == "frames":
        write_frames(path, np.moveaxis(array, -1, 0), force=force)
        return
    if kind == "video":
        rate = _DEFAULT_RATE if frame_rate is None else frame_rate
        write_video(path, _frames(array), rate, force=force)
        return
    if kind == "mat":
        check_mat(path, array.nbytes, key)
    check_outputs([path], force=force)
    if kind in ("tiff", "netcdf", "csv", "parquet"):
        write_labelled(Path(path), array, kind)
        return
    with atomic_output(path) as temporary:
        if kind == "npz":
            _write_npz(temporary, array, key)
        elif kind == "mat":
            _write_mat(temporary, array, key)
        else:
            _write_image(temporary, array, alpha)


def write_frames(
    path: str | os.PathLike[str],
    frames: Iterable[NDArray[Any]],
    *,
    names: Sequence[str] | None = None,
    force: bool = False,
) -> None:
    """Write frames, one after the other, as png files into a folder that appears when complete.

    Parameters
    ----------
    path : path
        Of the folder.
    frames : iterable of arrays ``(height, width)`` or ``(height, width, 3)``
        uint8; grey ones may be uint16.
    names : sequence of str, optional
        Of the files, without a suffix, all different; numbers if not given.
    force : bool
        Replace an existing folder of pictures.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_frames(Path(folder, "film"), [np.zeros((4, 4), np.uint8)] * 2)
    ...     sorted(file.name for file in Path(folder, "film").iterdir())
    ['000000.png', '000001.png']
    """
    check_outputs([path], force=force)
    with atomic_folder(path) as temporary:
        for number, frame in enumerate(frames):
            name = f"{number:06}" if names is None else names[number]
            _write_image(temporary / f"{name}.png", frame, None)


# What each kind can hold.


def _check_image_shape(path: str | os.PathLike[str], suffix: str, shape: tuple[int, ...]) -> None:
    colours = _COLOURS[suffix]
    flat = len(shape) == 2 and suffix != ".webp"  # WebP would be read as colour.
    if not (flat or (len(shape) == 3 and shape[2] in colours)) or 0 in shape:
        grey = "" if suffix == ".webp" else "(height, width) or "
        allowed = f"{grey}(height, width, {' or '.join(map(str, colours))})"
        raise ArgumentError(f"cannot write {os.fspath(path)} from shape {shape}; a {suffix} file holds {allowed}")
    longest = _LONGEST_SIDE.get(suffix)
    if longest and max(shape) > longest:
        raise ArgumentError(
            f"cannot write {os.fspath(path)} from shape {shape}; {suffix} has at most {longest} pixels a side"
        )


def _check_video_shape(path: str | os.PathLike[str], shape: tuple[int, ...]) -> None:
    if not _is_video(shape):
        raise ArgumentError(
            f"cannot write {os.fspath(path)} from shape {shape}; "
            "a video holds (height, width, 3, frames) or (height, width, frames)"
        )


def _is_video(shape: tuple[int, ...]) -> bool:
    return (len(shape) == 3 or (len(shape) == 4 and shape[2] == 3)) and 0 not in shape


def check_mat(path: str | os.PathLike[str], nbytes: int, key: str) -> None:
    """Raise an error for a name or a size that a mat file cannot hold; call it before any work."""
    if not (key.isidentifier() and key.isascii() and key[0] != "_" and len(key) <= 63):
        raise ArgumentError(f"key {key!r} is no MATLAB name: a letter, then letters, digits and _, at most 63")
    if nbytes > _LARGEST_MAT:
        raise ArgumentError(f"cannot write {os.fspath(path)}: a mat file holds less than 4 GB; use .npy")


# The writers.


def _write_npz(path: Path, array: NDArray[Any], key: str) -> None:
    # Not np.savez: it takes the key as a keyword argument, and so cannot hold an array named "file".
    with zipfile.ZipFile(path, "w") as archive, archive.open(f"{key}.npy", "w", force_zip64=True) as member:
        np.lib.format.write_array(member, array, allow_pickle=False)


def _write_mat(path: Path, array: NDArray[Any], key: str) -> None:
    from scipy.io import savemat

    savemat(path, {key: array}, appendmat=False, do_compression=True)


def _write_image(path: Path, array: NDArray[Any], alpha: NDArray[np.uint8] | None) -> None:
    sixteen_bits = array.dtype == np.uint16 and array.ndim == 2 and path.suffix.lower() == ".png"
    pixels = array if sixteen_bits else _eight_bits(array)
    pillow = import_pillow()
    picture = pillow.fromarray(np.ascontiguousarray(pixels))
    if alpha is not None:
        picture.putalpha(pillow.fromarray(alpha))
    # Through memory: Pillow writes some formats to the file by itself and does not notice a full disk.
    encoded = BytesIO()
    # Each format takes the options it knows: full colour resolution in JPEG, no loss at all in WebP.
    picture.save(encoded, _IMAGE_FORMATS[path.suffix.lower()], quality=95, subsampling=0, lossless=True)
    path.write_bytes(encoded.getvalue())


def _eight_bits(values: NDArray[Any]) -> NDArray[np.uint8]:
    if values.dtype == bool:
        return values.astype(np.uint8) * np.uint8(255)
    return as_dtype(values, np.uint8)


def _frames(video: NDArray[Any]) -> Iterable[NDArray[np.uint8]]:
    for t in range(video.shape[-1]):
        frame = _eight_bits(video[..., t])
        yield frame if frame.ndim == 3 else np.repeat(frame[:, :, None], 3, axis=2)
