"""Mutual exclusion of processes by locks on files."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from ringlet.errors import OutputError

if sys.platform != "win32":
    import fcntl

__all__ = ["one_at_a_time"]

_LONGEST_WAIT = 1800.0  # seconds: longer than most videos take to decode
_PAUSE = 0.05  # seconds between two tries


@contextmanager
def one_at_a_time(path: Path, seconds: float = _LONGEST_WAIT) -> Iterator[None]:
    """Wait until nobody else, here or in another process, is inside such a block for the same file or folder.

    It is an flock on what is at `path` itself: nothing is written, and the system drops it when a process dies. Where
    there is none, on Windows and on some network file systems, nobody waits. Anybody who may read the file can lock
    it, so the wait is limited: after these seconds there is an OutputError.

    Examples
    --------
    >>> with one_at_a_time(Path()):
    ...     pass
    """
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        _wait_for_lock(descriptor, path, monotonic() + seconds)
        yield
    finally:
        os.close(descriptor)


def _wait_for_lock(descriptor: int, path: Path, deadline: float) -> None:
    while sys.platform != "win32":
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() > deadline:
                raise OutputError(f"{path} is locked by another process, which may be decoding it; try again") from None
            sleep(_PAUSE)
        except OSError:  # a file system without locks
            return
        else:
            return
