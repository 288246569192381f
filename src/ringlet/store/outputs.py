"""Writing tensors as npy, npz, mat, zarr, HDF5, pictures and videos: the counterpart of `ringlet.sources.files`."""

import os
import zipfile
from collections.abc import Iterable
from fractions import Fraction
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ringlet.errors import ArgumentError, ArgumentTypeError
from ringlet.sources.dtypes import as_dtype
from ringlet.sources.kinds import IMAGE_SUFFIXES, Kind
from ringlet.sources.media import import_av, import_pillow
from ringlet.store.atomic import atomic_output, check_outputs
from ringlet.store.chunked_outputs import NewArray, write_store
from ringlet.store.plain_files import write_npy

__all__ = ["check_kind", "check_mat", "holds_alpha", "write_array", "write_video"]

_DEFAULT_RATE = 25
_ARRAYS: dict[str, Kind] = {
    ".npy": "npy",
    ".npz": "npz",
    ".mat": "mat",
    ".zarr": "zarr",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
}
_VIDEOS = (".mp4", ".mov", ".mkv", ".avi")  # The containers that hold H.264; webm does not.
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
    {"npy", "npz", "mat", "zarr", "hdf5", "image", "video"}
        The kind of file the suffix stands for.

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
    if suffix in _VIDEOS:
        _check_video_shape(path, shape)
        return "video"
    allowed = " ".join((*_ARRAYS, *IMAGE_SUFFIXES, *_VIDEOS))
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
    numbers are rounded and clipped, truth values become black and white.

    Parameters
    ----------
    path : path
        A suffix of .npy, .npz, .mat, .zarr, .h5, .hdf5, .png, .jpg, .jpeg, .webp, .bmp, .mp4, .mov, .mkv or .avi.
    array : array
        Real numbers. Pictures: ``(height, width)`` or ``(height, width, 3 or 4)``. Videos:
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
        raise ArgumentTypeError(f"cannot write an array of dtype {array.dtype}; only real numbers and truth values")
    kind = check_kind(path, array.shape)
    if kind in ("zarr", "hdf5"):
        write_store(path, array.__getitem__, NewArray(array.shape, array.dtype, key=key), force=force)
        return
    if kind == "npy":
        write_npy(path, array.__getitem__, array.shape, array.dtype, force=force)
        return
    key = "tensor" if key is None else key
    if kind == "video":
        rate = _DEFAULT_RATE if frame_rate is None else frame_rate
        write_video(path, _frames(array), rate, force=force)
        return
    if kind == "mat":
        check_mat(path, array.nbytes, key)
    check_outputs([path], force=force)
    with atomic_output(path) as temporary:
        if kind == "npz":
            _write_npz(temporary, array, key)
        elif kind == "mat":
            _write_mat(temporary, array, key)
        else:
            _write_image(temporary, array, alpha)


def write_video(
    path: str | os.PathLike[str],
    frames: Iterable[NDArray[np.uint8]],
    frame_rate: Fraction | float,
    *,
    force: bool = False,
) -> None:
    """Encode frames, one after the other, as H.264 of high quality.

    Parameters
    ----------
    path : path
        A suffix of .mp4, .mov, .mkv or .avi.
    frames : iterable of uint8 arrays ``(height, width, 3)``
        RGB, all of one size; taken one at a time, so they need not fit in memory together.
    frame_rate : number
        Frames a second.
    force : bool
        Replace an existing file.

    Examples
    --------
    >>> import tempfile
    >>> black = np.zeros((16, 16, 3), np.uint8)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_video(Path(folder, "x.mp4"), [black] * 3, 25)
    """
    if Path(path).suffix.lower() not in _VIDEOS:
        raise ArgumentError(f"cannot write {os.fspath(path)}: the suffix must be one of {' '.join(_VIDEOS)}")
    if not 0.001 <= frame_rate <= 100_000:
        raise ArgumentError(f"frame_rate must be from 0.001 to 100000 frames a second; got {frame_rate}")
    check_outputs([path], force=force)
    # Keeps rates such as 30000/1001; the last digits of a float would overflow the file's time base.
    rate = Fraction(frame_rate).limit_denominator(10_000)
    with atomic_output(path) as temporary:
        _encode(temporary, iter(frames), rate)


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
    if not (len(shape) == 3 or (len(shape) == 4 and shape[2] == 3)) or 0 in shape:
        raise ArgumentError(
            f"cannot write {os.fspath(path)} from shape {shape}; "
            "a video holds (height, width, 3, frames) or (height, width, frames)"
        )


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


def _encode(path: Path, frames: Iterable[NDArray[np.uint8]], rate: Fraction) -> None:
    av = import_av()
    frames = iter(frames)
    first = next(frames, None)
    if first is None:
        raise ArgumentError("a video needs at least one frame")
    height, width, _ = _checked_frame(first, first.shape)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=rate, options={"crf": "16"})
        stream.height, stream.width = height, width
        # Players expect colour at half resolution, which only even sizes have.
        stream.pix_fmt = "yuv444p" if height % 2 or width % 2 else "yuv420p"
        for pixels in chain([first], frames):
            _checked_frame(pixels, first.shape)
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def _checked_frame(frame: NDArray[np.uint8], shape: tuple[int, ...]) -> tuple[int, ...]:
    if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3 or frame.shape != shape:
        raise ArgumentError(
            f"frames are uint8 (height, width, 3) and of one size; got {frame.dtype} of shape {frame.shape}"
        )
    return frame.shape
