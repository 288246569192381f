"""results.jsonl: one line for every finished trial, on disk before the next one starts, never changed."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any

from ringlet.errors import ArgumentError, FormatError, OutputError

__all__ = ["Journal", "Record", "identity_key", "read_records", "settled_key"]

Record = dict[str, Any]

_SETTLING = ("experiment", "item", "content", "method", "run", "noise", "observed", "settings", "clip")


def identity_key(identity: Record) -> str:
    """Canonical text of an identity, independent of the order of its parts."""
    return json.dumps(identity, sort_keys=True)


def settled_key(record: Record) -> str:
    """Key of a task and its record: a task whose key is in the journal need not run again."""
    return identity_key({name: record[name] for name in _SETTLING if name in record})


def read_records(path: Path) -> list[Record]:
    """All complete lines of a journal; a partial last line, of a run that was killed, is left out."""
    return [record for record, _ in _lines(path)]


class Journal:
    """The records of an output folder, and the file that they are appended to.

    Attributes
    ----------
    records : list of dict
        In the order of the file.
    """

    def __init__(self, path: Path, file: FileIO) -> None:
        lines = list(_lines(path))
        self.records = [record for record, _ in lines]
        self._file = file
        self._file.truncate(sum(size for _, size in lines))  # a partial last line is removed

    def append(self, record: Record) -> None:
        """Write a record; when this returns, it is on disk."""
        left = (json.dumps(record) + "\n").encode()
        try:
            while left:  # a full disk may store a part of it before it raises an error
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            raise OutputError(f"cannot write results.jsonl: {error.strerror or error}") from error
        self.records.append(record)

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator["Journal"]:
        """Open or begin a journal; only one process at a time can."""
        try:
            file = path.open("ab", buffering=0)
        except OSError as error:
            raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
        with file:
            _lock(path, file)
            yield cls(path, file)


def _lock(path: Path, file: FileIO) -> None:
    """Lock the file while it is open; the system releases the lock when the process ends for any reason."""
    if os.name == "nt":
        return
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise ArgumentError(f"another run is writing to {path}; wait for it, or give another --out") from error


def _lines(path: Path) -> Iterator[tuple[Record, int]]:
    """Records and their lengths in bytes."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                record = json.loads(line)
                if not isinstance(record, dict):
                    raise ValueError("not an object")
            except ValueError as error:
                raise FormatError(f"{path}: line {number} is damaged; delete it to go on: {error}") from error
            yield record, len(line)
