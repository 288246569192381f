"""Pictures and videos as arrays, through Pillow and PyAV. Only decodes."""

import re
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import DataWarning, FormatError, MissingDependencyError, warn
from ringlet.sources.limits import check_size, size_limit
from ringlet.sources.paths import open_file

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = [
    "IMAGE_SUFFIXES",
    "Moving",
    "frame_files",
    "import_av",
    "import_pillow",
    "opened_frames",
    "opened_video",
    "read_frames",
    "read_image",
]

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp")

# Only these readers of each library are used: others follow links to further files and addresses.
_IMAGE_FORMATS = ("PNG", "JPEG", "WEBP", "BMP")
_VIDEO_FORMATS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi"
_SEVERAL_CHANNELS = (2, 4, 6)  # RGB, grey with alpha, RGB with alpha, as PNG numbers them
_BLOCK_BYTES = 64 << 20  # of the frames that are stacked together while their number is unknown
_PIXEL_BYTES = 16  # while it is decoded: Pillow's own 4, as many turned and converted, and the array


def import_pillow() -> ModuleType:
    """Import Pillow's Image module, or raise an error that says how to install it."""
    try:
        import PIL.Image
    except ImportError as error:
        raise MissingDependencyError('pictures need Pillow: pip install "ringlet[media]"') from error
    return PIL.Image


def import_av() -> ModuleType:
    """Import PyAV, or raise an error that says how to install it."""
    try:
        import av
    except ImportError as error:
        raise MissingDependencyError('videos need PyAV: pip install "ringlet[media]"') from error
    module: ModuleType = av
    return module


def read_image(path: Path, max_size: float | str | None = None) -> tuple[NDArray[Any], NDArray[np.uint8] | None]:
    """Read the colours of a picture as ``(height, width)`` or ``(height, width, 3)``, upright, and its alpha.

    Grey stays grey (16 bits stay 16 bits), everything else becomes RGB of 8 bits, with a warning if it had 16. Alpha,
    ``(height, width)``, 255 = opaque, is there only if some pixel is not opaque. A picture that would take more than
    `max_size` while it is decoded is refused before.
    """
    pillow = import_pillow()
    from PIL import ImageOps

    with open_file(path) as opened:
        head = opened.read(26)
        try:
            picture = pillow.open(opened, formats=_IMAGE_FORMATS)
        except pillow.UnidentifiedImageError as error:  # its message names an object of Python
            raise OSError("it does not begin as a picture does" if head else "it is empty") from error
        with picture as file:
            pixels = f"decoding {file.width} x {file.height} pixels"
            check_size(file.width * file.height * _PIXEL_BYTES, max_size, pixels)
            _warn_of_lost_bits(head)
            return _plain(ImageOps.exif_transpose(file))


def _warn_of_lost_bits(head: bytes) -> None:
    """Look at the beginning of a PNG file: at 24 the bits a channel, at 25 the kind of colour."""
    if head.startswith(b"\x89PNG") and head[24] == 16 and head[25] in _SEVERAL_CHANNELS:
        warn("pictures of 16 bits a channel are read with 8 of them; give an array (.npy) to keep all", DataWarning)


def _plain(image: "Image") -> tuple[NDArray[Any], NDArray[np.uint8] | None]:
    if image.mode.startswith("I"):
        return np.asarray(image).astype(np.uint16), None
    grey = image.mode in ("1", "L", "LA")
    alpha = None
    if image.has_transparency_data:
        image = image.convert("LA" if grey else "RGBA")
        alpha = np.array(image.getchannel("A"))
    colours = np.array(image.convert("L" if grey else "RGB"))
    return colours, None if alpha is None or alpha.min() == 255 else alpha


@dataclass(frozen=True)
class Moving:
    """Frames to be decoded, in order.

    Attributes
    ----------
    frames : iterator of arrays ``(height, width, 3)``, of pictures also ``(height, width)``
    rate : Fraction or None
        Frames a second, if known.
    nbytes : int or None
        Bytes of all frames, where that is known before they are decoded.
    """

    frames: Iterator[NDArray[Any]]
    rate: Fraction | None
    nbytes: int | None


def read_frames(
    path: Path,
    kind: str,
    frames: int | None = None,
    max_size: float | str | None = None,
    *,
    block_bytes: int = _BLOCK_BYTES,
) -> tuple[NDArray[Any], Fraction | None]:
    """Decode a video or the pictures of a folder once, in order; at most `frames` frames, and `max_size` bytes.

    Their number may be unknown before: they are collected in blocks of about `block_bytes`.

    Returns
    -------
    array of shape ``(height, width, 3, frames)``, of pictures also ``(height, width, frames)``
        A view of memory in which frame follows frame.
    Fraction or None
        Frames a second, if known.
    """
    with opened_frames(path, kind, max_size) as moving:
        stacked = _stack(islice(moving.frames, frames), size_limit(max_size), block_bytes)
    return np.moveaxis(stacked, 0, -1), moving.rate


@contextmanager
def opened_frames(path: Path, kind: str, max_size: float | str | None = None) -> Iterator[Moving]:
    """The frames of a video, or of a folder of pictures in the order of their names, none of them decoded yet.

    A single frame may take `max_size` in memory.
    """
    if kind == "frames":
        files = frame_files(path)
        yield Moving(_pictures(files, max_size), None, len(files) * _picture(files[0], max_size)[0].nbytes)
        return
    av = import_av()
    with opened_video(path) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        rate = stream.average_rate or stream.guessed_rate
        seconds = (container.duration or 0) / av.time_base
        count = stream.frames or int(seconds * (rate or 0))
        decoded = (frame.to_ndarray(format="rgb24") for frame in container.decode(stream))
        check_size(_PIXEL_BYTES * stream.width * stream.height, max_size, "a frame")
        nbytes = 3 * stream.width * stream.height * count or None
        yield Moving(decoded, Fraction(rate) if rate else None, nbytes)


@contextmanager
def opened_video(path: Path) -> Iterator[Any]:
    """The container of a video, of which nothing is decoded yet."""
    av = import_av()
    with open_file(path) as file:
        if _is_cut_short(file):
            raise FormatError("the video is truncated")
        file.seek(0)
        # An open file, not a path: a path could be read as an address.
        with av.open(file, options={"format_whitelist": _VIDEO_FORMATS}) as container:
            if not container.streams.video:
                raise FormatError("there is no video in it")
            yield container


def frame_files(folder: Path) -> list[Path]:
    """The pictures of a folder, in the order of their names, with numbers compared as numbers: f2 comes before f10.

    Hidden files are left out: some systems store metadata of a file beside it, with a dot before its name.
    """
    files = (file for file in folder.iterdir() if not file.name.startswith("."))
    return sorted((file for file in files if file.suffix.lower() in IMAGE_SUFFIXES), key=_by_numbers)


def _by_numbers(file: Path) -> tuple[list[str | int], str]:
    # Words and numbers alternate, starting with a word, so only equal types are compared.
    parts = re.split(r"([0-9]+)", file.name)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)], file.name


def _pictures(files: Iterable[Path], max_size: float | str | None) -> Iterator[NDArray[Any]]:
    """The colours of pictures of one size and dtype; the first that is not is named, and the first with holes."""
    first, size, warned = "", "", False
    for file in files:
        picture, alpha = _picture(file, max_size)
        if alpha is not None and not alpha.all() and not warned:
            warn(
                f"{file.name} has wholly transparent pixels; of frames all colours count as known: give a mask of "
                "those that are not",
                DataWarning,
            )
            warned = True
        found = f"{' x '.join(map(str, picture.shape))} {picture.dtype}"
        if size and found != size:
            raise FormatError(f"{file.name} is {found}, but {first} is {size}; frames have one size and dtype")
        first, size = first or file.name, found
        yield picture


def _picture(file: Path, max_size: float | str | None) -> tuple[NDArray[Any], NDArray[np.uint8] | None]:
    try:
        return read_image(file, max_size)
    except FormatError as error:
        raise FormatError(f"{file.name}: {error}") from error
    except (OSError, ValueError, SyntaxError) as error:  # what Pillow throws at damaged files
        raise FormatError(f"{file.name} cannot be read: {error}") from error


def _stack(frames: Iterable[NDArray[Any]], limit: int, block_bytes: int) -> NDArray[Any]:
    """Stack an unknown number of frames, with about one block more memory than the result takes.

    What a file says of its duration may be false, so the bytes are counted as they come.
    """
    blocks: list[NDArray[Any]] = []
    used, total = 0, 0
    for frame in frames:
        if blocks and (frame.shape != blocks[0].shape[1:] or frame.dtype != blocks[0].dtype):
            raise FormatError(f"frame {total} has another size or dtype than the frames before it")
        if not blocks or used == len(blocks[-1]):
            blocks.append(np.empty((max(1, block_bytes // frame.nbytes), *frame.shape), frame.dtype))
            used = 0
        blocks[-1][used] = frame
        used, total = used + 1, total + 1
        check_size(total * frame.nbytes, limit, f"the first {total} frames")
    if not blocks:
        raise FormatError("no frame of the video can be decoded")
    # The operating system allocates the pages of `stacked` as they are filled, while the blocks are released.
    stacked = np.empty((total, *blocks[0].shape[1:]), blocks[0].dtype)
    blocks.reverse()
    start = 0
    while blocks:
        block = blocks.pop()
        stop = min(total, start + len(block))
        stacked[start:stop] = block[: stop - start]
        start = stop
    return stacked


# FFmpeg decodes a truncated file without an error, so the declared sizes are checked.


def _is_cut_short(file: IO[bytes]) -> bool:
    head = file.read(64)
    size = file.seek(0, 2)
    if head[:4] == b"RIFF":
        return _riff_end(head) > size + 1  # Some writers leave out the last padding byte.
    if head[:4] == b"\x1a\x45\xdf\xa3":
        return _matroska_end(head) > size
    return _mp4_end(file, size) > size


def _riff_end(head: bytes) -> int:
    (length,) = struct.unpack("<I", head[4:8].ljust(4, b"\0"))
    return 0 if length == 0xFFFFFFFF else 8 + int(length)


def _matroska_end(head: bytes) -> int:
    """Where the segment ends: it follows the EBML header; both have an identifier of 4 bytes and a size."""
    length, start = _matroska_size(head, 4)
    segment = start + length
    if head[segment : segment + 4] != b"\x18\x53\x80\x67":
        return 0
    length, start = _matroska_size(head, segment + 4)
    return start + length


def _matroska_size(head: bytes, start: int) -> tuple[int, int]:
    """Read a variable-length integer: as many leading zero bits as further bytes. All ones mean unknown."""
    if start >= len(head) or head[start] == 0:
        return 0, start + 1
    width = 9 - head[start].bit_length()
    bits = 7 * width
    value = int.from_bytes(head[start : start + width], "big") & ((1 << bits) - 1)
    return (0 if value == (1 << bits) - 1 else value), start + width


def _mp4_end(file: IO[bytes], size: int) -> int:
    """Where the furthest box with pictures or their index ends."""
    position = end = 0
    while position < size:
        file.seek(position)
        head = file.read(16).ljust(16, b"\0")
        length, name, long_length = struct.unpack(">I4sQ", head)
        if length == 1:
            length = long_length
        if length < 8:  # Zero: up to the end of the file. Else it is no box, and the decoder raises an error.
            break
        position += length
        if name in (b"mdat", b"moov", b"moof"):
            end = position
    return end
