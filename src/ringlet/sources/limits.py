"""Limits on the memory that an untrusted file may take, checked before any is allocated."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from ringlet.amounts import format_bytes, machine_memory, parse_bytes
from ringlet.checks import check_one_of
from ringlet.errors import FormatError

__all__ = [
    "DEFLATE_RATIO",
    "LONGEST_HEADER",
    "MOST_CHUNKS",
    "MOST_MODES",
    "ReadRules",
    "check_claim",
    "check_size",
    "size_limit",
]

LONGEST_HEADER = 1 << 16  # bytes; NumPy and MATLAB need less than 1 kB for any array
MOST_MODES = 64  # NumPy has no arrays of more
DEFLATE_RATIO = 1100  # deflate, the most common compression, makes at most 1032 bytes of one
MOST_CHUNKS = 1 << 22  # of a store, that are ever told apart: lists of them take some 100 MB
_PLAUSIBLE_RATIO = 10_000  # of what a store claims to what it holds: beyond what sparse arrays and compression reach
_SHARE = 4  # a tensor may take a quarter of the machine's memory: a fit needs room beside it
_UNKNOWN_MEMORY = 8 << 30  # bytes, where the system does not tell


@dataclass(frozen=True)
class ReadRules:
    """What a file may ask for, and how what it lacks is read.

    Attributes
    ----------
    max_size : number or str, optional
        Bytes that one array, picture, video or chunk may take in memory; by default a quarter of the machine's.
    follow_links : bool
        Read what a store keeps in other files: external links and storage, virtual datasets, symbolic links.
    absent : {"fill", "missing"}
        Chunks that a store does not hold are read as its fill value, or taken as missing.
    """

    max_size: float | str | None = None
    follow_links: bool = False
    absent: Literal["fill", "missing"] = "fill"

    def __post_init__(self) -> None:
        size_limit(self.max_size)
        check_one_of("absent", self.absent, ("fill", "missing"))


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
    ringlet.errors.FormatError: its array takes 3 MB of memory or more, but 2 MB are allowed: perhaps a decompression \
bomb; if it is not, give a larger max_size
    """
    limit = size_limit(max_size)
    if size > limit:
        told = format_bytes(min(size, 1 << 80))  # more than that is beyond floats, and beyond all machines
        raise FormatError(
            f"{os.fspath(what)} takes {told} of memory or more, but {format_bytes(limit)} are allowed: perhaps a "
            "decompression bomb; if it is not, give a larger max_size"
        )


def check_claim(shape: Sequence[int], itemsize: int, stored: Callable[[], int], max_size: float | str | None) -> None:
    """Refuse a store whose shape claims far more than it holds, so that even one pass over it would not end.

    Parameters
    ----------
    shape : sequence of int
    itemsize : int
        Bytes of an entry.
    stored : callable
        Gives the bytes that the store holds; asked only if the claim is large.
    max_size : number or str, optional
        Bytes that may always be claimed.

    Examples
    --------
    >>> check_claim((10**8, 10**7), 8, lambda: 4000, "2GB")
    Traceback (most recent call last):
    ringlet.errors.FormatError: its shape (100000000, 10000000) needs 8e+03 TB, but only 4 kB are stored; if that \
is right, give a larger max_size
    """
    if len(shape) > MOST_MODES:
        raise FormatError(f"it has {len(shape)} modes; at most {MOST_MODES} are read")
    claimed = prod(shape) * itemsize
    if claimed > size_limit(max_size) and claimed > _PLAUSIBLE_RATIO * (held := stored()):
        told = format_bytes(min(claimed, 1 << 80))
        raise FormatError(
            f"its shape {tuple(shape)} needs {told}, but only {format_bytes(held)} are stored; if that is right, "
            "give a larger max_size"
        )
