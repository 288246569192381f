"""Checkpoints: a folder with two slots that are written in turn, so that a complete one exists at every instant.

A slot is written under a temporary name, synced, renamed, and the folder is synced. It has a sequence number and a
checksum; the newest complete slot is used.

A lock keeps two processes from working on one checkpoint; the system releases it when a process ends for any reason.
It is an flock: on NFS it holds between machines where the server has a lock service; on Windows there is none.
"""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from ringlet.checks import check_number, check_path
from ringlet.errors import (
    ArgumentError,
    CheckpointError,
    CheckpointWarning,
    FormatError,
    MissingFileError,
    warn,
)
from ringlet.results.records import Saved
from ringlet.solvers.base import Problem, Solver
from ringlet.sources.paths import exists
from ringlet.store.atomic import TEMPORARY, atomic_output, output_target, sync_directory, write_parts
from ringlet.store.fit_identity import describe_fit, differences
from ringlet.store.slots import Slot, read_slot, slot_content

if sys.platform != "win32":
    import fcntl

__all__ = [
    "FitCheckpoint",
    "check_checkpoint",
    "check_place",
    "holds_checkpoint",
    "in_use",
    "open_checkpoint",
    "read_checkpoint",
]

PathLike: TypeAlias = str | os.PathLike[str]

_SLOTS = ("slot-0.safetensors", "slot-1.safetensors")
_LOCK = "lock"


def check_checkpoint(path: PathLike | None, every: int, solver: Solver) -> None:
    """Raise an error for invalid arguments, before any work."""
    check_number("every", every, at_least=1, whole=True)
    if path is None:
        return
    check_path("checkpoint", path)
    if not solver.resumable:
        raise ArgumentError(
            f"checkpoint is not allowed with {type(solver).__name__}, which cannot be resumed; leave it out, or use a "
            "method that can, e.g. ringlet.SAWRTRD()"
        )


def check_place(path: PathLike) -> None:
    """Raise an error for a path that cannot be a checkpoint."""
    name = os.fspath(path)
    with _named_errors(name):
        _check_place(name, output_target(path))


def holds_checkpoint(path: PathLike) -> bool:
    """Whether a fit was set aside there, whole or damaged."""
    return _holds_slots(Path(path))


def in_use(path: PathLike) -> bool:
    """Whether a fit is using a checkpoint now; always False where there are no locks."""
    if sys.platform == "win32":
        return False
    try:
        lock = os.open(Path(path, _LOCK), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, ValueError):  # it is not there, may not be looked at, or is a link
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # if free, locked for an instant
    except OSError as error:
        return isinstance(error, BlockingIOError)
    finally:
        os.close(lock)
    return False


def read_checkpoint(path: PathLike) -> Slot:
    """The last save of a fit, read without a lock while the fit may run.

    Raises
    ------
    MissingFileError
        There is no checkpoint.
    FormatError
        All of it is damaged.
    """
    found = _read_newest(os.fspath(path), Path(path))
    if found is None:
        raise MissingFileError(f"{os.fspath(path)} holds no checkpoint")
    return found[1]


@contextmanager
def open_checkpoint(
    path: PathLike | None, every: int, solver: Solver, problem: Problem
) -> Iterator["FitCheckpoint | None"]:
    """Hold the checkpoint of a fit during the block; None without a path.

    Parameters
    ----------
    path : path or None
        A folder. It is created if necessary, and removed if nothing was saved in it.
    every : int
        Number of sweeps between saves.
    solver, problem
        The fit.

    Raises
    ------
    ArgumentError
        The path cannot be a checkpoint.
    CheckpointError
        Another fit is using it, or it cannot be written to.
    """
    if path is None:
        yield None
        return
    name, folder = os.fspath(path), output_target(path)
    with _named_errors(name):
        _check_place(name, folder)
        lock = _take_lock(name, folder)
    try:
        with suppress(OSError):
            for leftover in folder.glob(f"{TEMPORARY}*"):  # of a process that was killed while it wrote
                leftover.unlink()
        yield FitCheckpoint(name, folder, every, solver.stop_rule().sweeps, describe_fit(solver, problem))
    finally:
        with suppress(OSError):
            if not _holds_slots(folder):
                (folder / _LOCK).unlink()
                folder.rmdir()
        os.close(lock)


@dataclass
class FitCheckpoint:
    """The checkpoint of one fit, in a folder that is locked.

    Attributes
    ----------
    name : str
        As the user gave it.
    folder : Path
    every : int
        Number of sweeps between saves.
    sweeps : int
        Maximum number of sweeps of the fit.
    fit : dict
        Identity of the fit; the checkpoint of another fit is an error.
    """

    name: str
    folder: Path
    every: int
    sweeps: int
    fit: dict[str, Any]
    _newest: tuple[int, int] = field(default=(0, 1), init=False)  # sequence number and place of the newest slot

    def load(self) -> Saved | None:
        """What was saved last; None if nothing was.

        Raises
        ------
        FormatError
            There is a save, but all of it is damaged.
        ArgumentError
            It is of another fit; the message says what differs.
        """
        found = _read_newest(self.name, self.folder)
        if found is None:
            return None
        place, newest, damage = found
        differ = differences(newest.fit, self.fit)
        if differ:
            raise ArgumentError(
                f"checkpoint={self.name!r} is of another fit: {'; '.join(differ)}; give the arguments of that fit, or "
                "another checkpoint"
            )
        if damage:
            warn(
                f"{'; '.join(damage)}; the fit continues from the other slot, sweep {len(newest.saved.history)}",
                CheckpointWarning,
            )
        self._newest = newest.sequence, place
        return newest.saved

    def save(self, saved: Saved) -> None:
        """Write to the slot that does not hold what was saved last.

        Raises
        ------
        CheckpointError
            It cannot be written; what was saved last is intact.
        """
        sequence, place = self._newest[0] + 1, 1 - self._newest[1]
        content = slot_content(Slot(self.fit, self.sweeps, sequence, saved))
        with (
            _named_errors(self.name, f"; it holds what was saved before sweep {len(saved.history)}"),
            atomic_output(self.folder / _SLOTS[place]) as temporary,
        ):
            write_parts(temporary, content)
        self._newest = sequence, place


def _read_newest(name: str, folder: Path) -> tuple[int, Slot, list[str]] | None:
    """Number and content of the newest complete slot, and the damage of the other; None if there is none."""
    slots, damage = {}, []
    for place, slot in enumerate(_SLOTS):
        try:
            slots[place] = read_slot(folder / slot)
        except MissingFileError:
            continue
        except FormatError as error:
            damage.append(str(error))
    if slots:
        place = max(slots, key=lambda place: slots[place].sequence)
        return place, slots[place], damage
    if damage:
        raise FormatError(f"{'; '.join(damage)}; nothing of checkpoint {name} is usable: delete it to start again")
    return None


def _holds_slots(folder: Path) -> bool:
    return any(exists(folder / slot) for slot in _SLOTS)


def _check_place(name: str, folder: Path) -> None:
    if not folder.parent.is_dir():
        reason = "is a file" if folder.parent.exists() else "does not exist; create it first"
        raise ArgumentError(f"checkpoint={name!r}: its directory {reason}")
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ArgumentError(f"checkpoint={name!r} is a file, not the folder of a checkpoint; give another path")
    for entry in sorted(folder.iterdir()):
        if entry.name not in (*_SLOTS, _LOCK) and not entry.name.startswith(TEMPORARY):
            raise ArgumentError(
                f"checkpoint={name!r} is a folder that holds other things, e.g. {entry.name!r}; give a path of its own"
            )


def _take_lock(name: str, folder: Path) -> int:
    """Make the folder and lock it; returns the descriptor that holds the lock."""
    if not folder.exists():
        folder.mkdir(exist_ok=True)
        sync_directory(folder.parent)
    # A link is not followed: somebody else may have laid it there, to have any file made or opened.
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        lock = os.open(folder / _LOCK, flags, 0o666)
    except OSError as error:
        if (folder / _LOCK).is_symlink():
            raise ArgumentError(f"checkpoint={name!r}: its lock is a symbolic link; delete it first") from error
        raise
    try:
        if sys.platform != "win32":
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever held it may have taken the folder away meanwhile.
        if not os.path.samestat(os.fstat(lock), (folder / _LOCK).lstat()):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    except BaseException as error:
        os.close(lock)
        if isinstance(error, BlockingIOError | FileNotFoundError):
            busy = CheckpointError(f"checkpoint {name} is in use by another fit; wait for it, or give another path")
            busy.errno = errno.EAGAIN
            raise busy from error
        raise
    return lock


@contextmanager
def _named_errors(name: str, more: str = "") -> Iterator[None]:
    """Turn any OSError into a CheckpointError."""
    try:
        yield
    except CheckpointError:
        raise
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        named = CheckpointError(f"cannot write checkpoint {name}: {reason}{more}")
        named.errno = error.errno
        raise named from error
