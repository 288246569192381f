"""Mutual exclusion of processes by locks on files."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

__all__ = ["one_at_a_time"]


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Wait until no other thread or process is inside such a block for the same file or folder.

    It is an flock on `path` itself: nothing is written, and the system releases it when a process dies. On Windows and
    on some network file systems there are no locks, and the block starts at once.

    Examples
    --------
    >>> with one_at_a_time(Path()):
    ...     pass
    """
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
