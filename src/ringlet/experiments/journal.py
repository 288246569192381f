"""results.jsonl: one line for every finished trial, on disk before the next one starts, never changed."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ringlet.errors import ArgumentError, FormatError, OutputError

__all__ = ["Journal", "Record", "identity_key", "read_records"]

Record = dict[str, Any]


def identity_key(identity: Record) -> str:
    """One text for one identity, whatever the order of its parts."""
    return json.dumps(identity, sort_keys=True)


def read_records(path: Path) -> list[Record]:
    """All whole lines of a journal; a torn last line, of a run that was killed while writing it, is left out."""
    return [record for record, _ in _lines(path)]


class Journal:
    """The records of an output folder, and the file that they are appended to.

    Attributes
    ----------
    records : list of dict
        In the order of the file.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        lines = list(_lines(path))
        self.records = [record for record, _ in lines]
        self._descriptor = descriptor
        os.ftruncate(descriptor, sum(size for _, size in lines))  # a torn last line goes
        os.lseek(descriptor, 0, os.SEEK_END)

    def append(self, record: Record) -> None:
        """Write a record; when this returns, it is on disk."""
        line = (json.dumps(record) + "\n").encode()
        try:
            os.write(self._descriptor, line)
            os.fsync(self._descriptor)
        except OSError as error:
            raise OutputError(f"cannot write results.jsonl: {error.strerror or error}") from error
        self.records.append(record)

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator["Journal"]:
        """Open or begin a journal; only one process at a time can."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
        try:
            _lock(path, descriptor)
            yield cls(path, descriptor)
        finally:
            os.close(descriptor)


def _lock(path: Path, descriptor: int) -> None:
    """For as long as the file is open; the system lets go of it when the process ends, however it ends."""
    if os.name == "nt":
        return
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
