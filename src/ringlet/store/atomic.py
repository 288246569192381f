"""Atomic writing of files and folders, independent of their content."""

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile

from ringlet.checks import check_flag, check_path
from ringlet.errors import ArgumentError, OutputError, OutputExistsError, RingletError
from ringlet.sources.kinds import holds_only_pictures, is_zarr
from ringlet.sources.paths import exists, is_folder

__all__ = [
    "TEMPORARY",
    "atomic_folder",
    "atomic_output",
    "check_outputs",
    "output_target",
    "sync_directory",
    "write_parts",
]

TEMPORARY = ".ringlet-"  # prefix of files that are still being written


def check_outputs(paths: Iterable[str | os.PathLike[str]], *, force: bool) -> None:
    """Raise an error for outputs that cannot be written; call it before any work.

    Parameters
    ----------
    paths : iterable of paths
        Where files are going to be written.
    force : bool
        Allow existing files to be replaced.

    Raises
    ------
    OutputExistsError
        A file exists and `force` is false.
    ArgumentError
        The path is a directory or a device, its directory is missing, it is no path at all, or it is given twice.
    OutputError
        No file can be written to its directory; this is tested with an unnamed file.

    Examples
    --------
    >>> check_outputs(["nowhere/x.ring"], force=False)
    Traceback (most recent call last):
    ringlet.errors.ArgumentError: cannot write nowhere/x.ring: its directory does not exist; create it first
    """
    check_flag("force", force)
    targets: set[Path] = set()
    for path in paths:
        target = output_target(path)
        if target in targets:
            raise ArgumentError(f"{path} is given for two outputs; choose two paths")
        targets.add(target)
        if target.exists() and not (target.is_file() or is_zarr(target) or holds_only_pictures(target)):
            raise ArgumentError(f"cannot write {path}: it exists and is not a regular file")
        if target.exists() and not force:
            raise OutputExistsError(f"{path} exists already; choose another path, or overwrite it with force=True")
        if not is_folder(target.parent):
            reason = "is a file" if exists(target.parent) else "does not exist; create it first"
            raise ArgumentError(f"cannot write {path}: its directory {reason}")
        try:
            with TemporaryFile(dir=target.parent) as file:
                file.write(b"x")
        except OSError as error:
            raise _output_error(path, error) from error


def output_target(path: str | os.PathLike[str]) -> Path:
    """Follow the links of an output path; raise an error for paths that the file system cannot hold.

    Raises
    ------
    ArgumentError
        A name is too long, links run in a circle, or a directory may not be entered.

    Examples
    --------
    >>> output_target("x.ring").name
    'x.ring'
    """
    check_path("path", path)
    try:
        target = Path(path).resolve()
        with suppress(FileNotFoundError, NotADirectoryError):
            target.stat()  # from Python 3.13 on, only this notices a circle
    except OSError as error:
        raise ArgumentError(f"cannot write {os.fspath(path)}: {error.strerror or error}") from error
    except RuntimeError as error:  # the exception of pathlib before Python 3.13
        raise ArgumentError(f"cannot write {os.fspath(path)}: its symbolic links run in a circle") from error
    except ValueError as error:  # a null character
        raise ArgumentError(f"cannot write {os.fspath(path)!r}: {error}") from error
    return target


@contextmanager
def atomic_output(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a file that appears under its name only when it is complete and on disk.

    An existing file at `path` is not changed until the block ends without an exception.

    Parameters
    ----------
    path : path
        Where the file ends up. A symbolic link is followed, so the link itself stays.

    Yields
    ------
    Path
        An empty temporary file beside the target, with the same suffix, to be written inside the block.

    Raises
    ------
    OutputError
        In place of any OSError, inside the block or after it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_output(Path(folder, "greeting.txt")) as temporary:
    ...         _ = temporary.write_text("hello")
    ...     print([file.name for file in Path(folder).iterdir()])
    ['greeting.txt']
    """
    with _appearing(path, is_file=True) as (temporary, target):
        temporary.touch(exist_ok=False)
        if target.exists():
            shutil.copymode(target, temporary)
        yield temporary
        _sync(temporary)
        temporary.replace(target)


@contextmanager
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a folder that appears under its name only when it is complete; an existing one is replaced.

    Yields
    ------
    Path
        An empty temporary folder beside the target, to be filled inside the block.

    Raises
    ------
    OutputError
        In place of any OSError, inside the block or after it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_folder(Path(folder, "letters")) as temporary:
    ...         _ = Path(temporary, "a.txt").write_text("a")
    ...     print([file.name for file in Path(folder, "letters").iterdir()])
    ['a.txt']
    """
    with _appearing(path, is_file=False) as (temporary, target):
        temporary.mkdir()
        yield temporary
        for folder, _, files in os.walk(temporary):
            for name in files:
                _sync(Path(folder, name))
            sync_directory(Path(folder))
        _replace_folder(temporary, target)


@contextmanager
def _appearing(path: str | os.PathLike[str], *, is_file: bool) -> Iterator[tuple[Path, Path]]:
    """A temporary name and the target that it is given in the block; if that fails, nothing temporary is left."""
    target = output_target(path)
    # The name does not grow with the target's, which may already be as long as the file system allows.
    temporary = target.with_name(f"{TEMPORARY}{secrets.token_hex(8)}{target.suffix if is_file else ''}")
    try:
        yield temporary, target
        sync_directory(target.parent)
    except BaseException as error:
        with suppress(OSError):  # The original exception is the one to report.
            if is_file:
                temporary.unlink(missing_ok=True)
            else:
                shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError) and not isinstance(error, RingletError):
            raise _output_error(path, error) from error
        raise


def _replace_folder(new: Path, target: Path) -> None:
    """Rename a folder, and restore the old one if that fails; for an instant there is none."""
    if not target.exists():
        new.rename(target)
        return
    old = target.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
    target.rename(old)
    try:
        new.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def write_parts(path: Path, parts: Iterable[memoryview]) -> None:
    """Write buffers one after the other, without copies."""
    with path.open("wb") as file:
        file.writelines(parts)


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_directory(path: Path) -> None:
    """Sync a directory, so that its names survive a loss of power."""
    if os.name == "nt":  # Windows opens no directories, and makes renames durable by itself.
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _output_error(path: str | os.PathLike[str], error: OSError) -> OutputError:
    named = OutputError(f"cannot write {os.fspath(path)}: {error.strerror or error}")
    named.errno = error.errno
    return named
