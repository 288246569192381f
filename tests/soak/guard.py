"""What cases have in common: their random numbers, how they fail, and a guard that hears what reading a file does."""

import os
import sys
from contextlib import contextmanager

import numpy as np

_FORBIDDEN = ("pickle.find_class", "socket.connect", "os.system", "os.exec", "os.rename", "os.remove", "shutil.rmtree")
_seen = []  # forbidden things that happened while one was on guard
_guarding = []


class ViolationError(Exception):
    """A promise that was not kept."""


def generator(family, number):
    """The random numbers of a case."""
    return np.random.default_rng([sum(family.encode()), number])


@contextmanager
def on_guard():
    """Nothing is unpickled, written, run or sent meanwhile."""
    _seen.clear()
    _guarding.append(True)
    try:
        yield
    finally:
        _guarding.clear()
    if _seen:
        raise ViolationError(f"while reading: {_seen[0]}")


def _hear(event, arguments):
    if _guarding and (event in _FORBIDDEN or (event == "open" and _writes(arguments))):
        _seen.append(f"{event} {arguments!r}"[:200])


def _writes(arguments):
    path, mode = arguments[:2]
    if isinstance(path, int) or path == os.devnull:  # a pipe to the process in which files are tried
        return False
    return isinstance(mode, str) and any(letter in mode for letter in "wax+")


sys.addaudithook(_hear)
