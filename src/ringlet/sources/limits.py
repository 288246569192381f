"""What a file from a stranger may ask of this machine, asked before any memory is taken."""

import os

from ringlet.amounts import format_bytes, machine_memory, parse_bytes
from ringlet.errors import FormatError

__all__ = ["DEFLATE_RATIO", "LONGEST_HEADER", "MOST_MODES", "check_size", "size_limit"]

LONGEST_HEADER = 1 << 16  # bytes; NumPy and MATLAB need less than 1 kB for any array
MOST_MODES = 64  # NumPy has no arrays of more
DEFLATE_RATIO = 1100  # deflate, the most common compression, makes at most 1032 bytes of one
_SHARE = 4  # a tensor may take a quarter of the machine's memory: a fit needs room beside it
_UNKNOWN_MEMORY = 8 << 30  # bytes, where the system does not tell


def size_limit(max_size: float | str | None = None) -> int:
    """Bytes that one array, picture, video or chunk may take in memory: those given, or a quarter of the machine's.

    Examples
    --------
    >>> size_limit("2GB"), size_limit() > 1_000_000
    (2000000000, True)
    """
    if max_size is not None:
        return parse_bytes(max_size, "max_size")
    return (machine_memory() or _UNKNOWN_MEMORY) // _SHARE


def check_size(size: int, max_size: float | str | None, what: str | os.PathLike[str] = "its array") -> None:
    """Refuse what would take more memory than is allowed.

    Examples
    --------
    >>> check_size(3_000_000, "2MB")
    Traceback (most recent call last):
    ringlet.errors.FormatError: its array takes 3 MB of memory, more than the 2 MB allowed: perhaps a decompression \
bomb; if it is not, give a larger max_size
    """
    limit = size_limit(max_size)
    if size > limit:
        told = format_bytes(min(size, 1 << 80))  # more than that is beyond floats, and beyond all machines
        raise FormatError(
            f"{os.fspath(what)} takes {told} of memory, more than the {format_bytes(limit)} allowed: perhaps a "
            "decompression bomb; if it is not, give a larger max_size"
        )
