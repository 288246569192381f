"""A trial of HDF5 files in another process: some damaged ones hang libhdf5 or crash it, and the whole program with it.

One child process serves all files. It reads what is read of a file before its entries: its groups, links and
attributes. A file at which the child crashes, hangs or takes too much memory is refused, and the next one gets a new
child.
"""

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import IO

from ringlet.errors import FormatError
from ringlet.sources.limits import ReadRules

__all__ = ["READY", "try_reading"]

READY = b"ready\n"  # the first line that the child says

_SECONDS = 30.0  # that a trial may take
_START = "import sys; sys.path[:] = sys.argv[1:]; from ringlet.sources.trial_child import serve; serve()"
_LATE = (1, -14)  # exit codes of a child whose time is over: on Windows, and by SIGALRM
_ADVICE = "if you trust it, open it with h5py and give the open dataset"


def try_reading(path: Path, kind: str, key: str | None, rules: ReadRules, seconds: float = _SECONDS) -> None:
    """Raise a FormatError if a file cannot be read without harm; errors of other kinds are left to its reader.

    Where no other process can be started, as in a frozen application, nothing is tried.

    Parameters
    ----------
    path : Path
    kind : {"hdf5", "netcdf"}
    key : str, optional
        Which array will be read.
    rules : ReadRules
    seconds : float
        That it may take.
    """
    request = {"path": os.path.abspath(path), "kind": kind, "key": key, "rules": asdict(rules), "seconds": seconds}  # noqa: PTH100
    with _LOCK:
        child = _child()
        answer = None if child is None else child.ask(request)
    if answer:
        raise FormatError(f"{answer}; {_ADVICE}")


class _Child:
    """A process that answers one line of JSON with another."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.owner = os.getpid()  # a fork of this process must not use its pipes

    def ready(self) -> bool:
        """Whether it has started and can answer."""
        if _pipe(self.process.stdout).readline() == READY:
            return True
        self.close()
        return False

    def ask(self, request: Mapping[str, object]) -> str:
        """What is wrong with a file; empty if nothing is."""
        line = b""
        with suppress(OSError):  # it has just ended
            _pipe(self.process.stdin).write(json.dumps(request).encode() + b"\n")
            _pipe(self.process.stdin).flush()
            line = _pipe(self.process.stdout).readline()
        if line.endswith(b"\n"):
            return str(json.loads(line))
        code = self.close()
        if code in _LATE:
            return f"libhdf5 needs more than {request['seconds']:g} s for its groups and attributes, or hangs"
        return "libhdf5 crashes at its groups or attributes: the file is damaged"

    def close(self) -> int:
        """Let it end, and give its exit code."""
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                _pipe(pipe).close()
        try:
            return self.process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # noqa: S101 - it was asked for
    return pipe


_LOCK = Lock()
_children: list[_Child] = []  # one at most


def _child() -> _Child | None:
    """The process that tries files, started if there is none; None where that is impossible."""
    if _children and (_children[0].owner != os.getpid() or _children[0].process.poll() is not None):
        _children.clear()
    if not _children and sys.executable and not getattr(sys, "frozen", False):
        command = [sys.executable, "-P", "-c", _START, *sys.path]
        with suppress(OSError):
            process = subprocess.Popen(  # noqa: S603 - this interpreter, with our own code
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for us alone
            )
            child = _Child(process)
            if child.ready():
                _children.append(child)
    return _children[0] if _children else None


@atexit.register
def _close() -> None:
    if _children and _children[0].owner == os.getpid():
        _children.pop().close()
