"""How large compressed bytes would become, found before a library unpacks them. Knows formats only.

The codecs of stores unpack whatever they are given, as a whole: a chunk of 4 MB may take 4 GB, or much more. So bytes
that could become too large are unpacked piece by piece first, only to be counted.
"""

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import Any

from ringlet.sources.limits import DEFLATE_RATIO, check_size, size_limit

__all__ = ["check_inflation"]

_PIECE = 1 << 20  # bytes that are unpacked at a time
_GZIP, _BZ2, _XZ, _LZMA, _ZSTD = b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x5d\x00\x00", b"\x28\xb5\x2f\xfd"
_ZSTD_BLOCK = 1 << 17  # bytes that one compressed block becomes at most


def check_inflation(packed: bytes, max_size: float | str | None, what: str) -> None:
    """Refuse compressed bytes that would unpack to more than is allowed; bytes of unknown formats pass.

    Examples
    --------
    >>> import gzip
    >>> check_inflation(gzip.compress(bytes(5_000_000), mtime=0), "1MB", "chunk 0")
    Traceback (most recent call last):
    ringlet.errors.FormatError: chunk 0 takes 1.05 MB of memory or more, but 1 MB are allowed: perhaps a \
decompression bomb; if it is not, give a larger max_size
    """
    limit = size_limit(max_size)
    try:
        size = _inflated_size(packed, limit)
    except (zlib.error, lzma.LZMAError, OSError, EOFError, IndexError):
        return  # it only looks like that format; if it is damaged, the codec will tell
    check_size(size, limit, what)


def _inflated_size(packed: bytes, limit: int) -> int:
    """Bytes after unpacking, or a bound of them; past the limit they are not counted any more."""
    if packed.startswith(_GZIP):
        return _counted(packed, limit, lambda: zlib.decompressobj(31), DEFLATE_RATIO)
    if packed[:1] == b"\x78" and int.from_bytes(packed[:2], "big") % 31 == 0:
        return _counted(packed, limit, zlib.decompressobj, DEFLATE_RATIO)
    if packed.startswith(_BZ2):
        return _counted(packed, limit, bz2.BZ2Decompressor)
    if packed.startswith((_XZ, _LZMA)):
        return _counted(packed, limit, lzma.LZMADecompressor)
    if packed.startswith(_ZSTD):
        return _zstd_bound(packed, limit)
    if len(packed) >= 16 and packed[0] in (1, 2) and int.from_bytes(packed[12:16], "little") == len(packed):
        return int.from_bytes(packed[4:8], "little")  # Blosc
    return len(packed)


def _counted(packed: bytes, limit: int, new: Callable[[], Any], ratio: int | None = None) -> int:
    """Unpack one stream after the other and count; not at all where the ratio of the format keeps within the limit."""
    if ratio is not None and ratio * len(packed) <= limit:
        return len(packed)
    total, rest = 0, packed
    while rest:
        inflater, piece = new(), rest
        while not inflater.eof:
            plain = inflater.decompress(piece, _PIECE)
            piece = getattr(inflater, "unconsumed_tail", b"")  # bz2 and lzma keep it themselves
            total += len(plain)
            if total > limit or not (plain or piece):
                return total
        rest = inflater.unused_data if inflater.unused_data[:2] == packed[:2] else b""
    return total


def _zstd_bound(packed: bytes, limit: int) -> int:
    """What the frames of Zstandard declare, which its decoder takes, or else what their blocks become at most."""
    total, at = 0, 0
    while packed[at : at + 4] == _ZSTD and total <= limit:
        declared, at = _zstd_header(packed, at + 4)
        frame, last = 0, False
        while not last:
            header = int.from_bytes(packed[at : at + 3], "little")
            last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
            if at + 3 > len(packed):
                break
            at += 3 + (1 if kind == 1 else size)  # a run of one byte is stored as that byte
            frame += _ZSTD_BLOCK if kind == 2 else size
        total += frame if declared is None else declared
    return total


def _zstd_header(packed: bytes, at: int) -> tuple[int | None, int]:
    """The size that the header of a frame declares, if it does, and where the blocks begin."""
    descriptor = packed[at]
    single = descriptor >> 5 & 1
    at += 1 + (1 - single) + (0, 1, 2, 4)[descriptor & 3]
    width = (single, 2, 4, 8)[descriptor >> 6]
    declared = int.from_bytes(packed[at : at + width], "little") + (256 if width == 2 else 0)
    return declared if width else None, at + width
