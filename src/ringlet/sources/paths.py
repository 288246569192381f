"""Paths that are read: the one place that looks into folders and opens files.

Asking never fails: what may not be looked at, or cannot exist, is not there. Opening never blocks: pipes and devices
are refused.
"""

import os
import stat
from pathlib import Path
from typing import IO

from ringlet.errors import FormatError

__all__ = ["exists", "is_file", "is_folder", "open_file"]


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether something is there.

    Examples
    --------
    >>> exists("."), exists("n" * 1000)
    (True, False)
    """
    return os.path.exists(path)  # noqa: PTH110 - that of pathlib raises for names that are too long


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether a regular file is there."""
    return os.path.isfile(path)  # noqa: PTH113 - as above


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a folder is there."""
    return os.path.isdir(path)  # noqa: PTH112 - as above


def open_file(path: Path) -> IO[bytes]:
    """Open a regular file for reading.

    Raises
    ------
    FormatError
        It is a pipe, a device or a folder: reading from these may never end.
    OSError
        It is not there, or may not be read.
    """
    # Without O_NONBLOCK opening a pipe waits for somebody to write to it.
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except ValueError:
        raise FormatError("cannot be read: no file can have this name") from None  # with a null character, for instance
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FormatError("not a regular file")
    return os.fdopen(descriptor, "rb")
