"""Stops at single file operations: every call into the operating system that the store makes can be made its last.

The interpreter itself reports the calls (``sys.setprofile``), so nothing of the program is replaced.
"""

import sys
from pathlib import Path

import ringlet.store

_STORE = str(Path(ringlet.store.__file__).parent)

_HARMLESS = {"fspath", "getpid", "strerror", "urandom", "fileno", "readable", "writable", "seekable", "tell"}


def _touches_files(function):
    """Whether a built-in function is one of the operating system's, or a method of an open file."""
    if function.__name__ in _HARMLESS:
        return False
    if getattr(function, "__module__", None) in ("posix", "_io", "io", "fcntl"):
        return True
    return type(getattr(function, "__self__", None)).__module__ == "_io"


def _from_store(frame):
    while frame is not None and not frame.f_code.co_filename.startswith(_STORE):
        frame = frame.f_back
    return frame is not None


def watch(act, *, returns=False):
    """Call ``act(number, name)`` before every file operation of the store, numbered from 1; also after it, if asked.

    What `act` raises comes out of the operation. `unwatch` ends it.
    """
    count = 0

    def hook(frame, event, function):
        nonlocal count
        wanted = event == "c_call" or (returns and event == "c_return")
        if wanted and _touches_files(function) and _from_store(frame):
            count += 1
            act(count, function.__name__)

    sys.setprofile(hook)


def unwatch():
    sys.setprofile(None)
