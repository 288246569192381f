"""The process of the `ringlet` command: what its streams can hold, and how it ends.

All else is imported inside `main`, for Ctrl-C counts while libraries load, too.
"""

import codecs
import errno
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from io import StringIO, TextIOWrapper
from typing import NoReturn

__all__ = ["main"]

_INTERRUPTED, _UNREAD = 130, 141  # 128 + SIGINT and 128 + SIGPIPE, as shells have it
_UNPRINTED = 2
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # of files it would have been an OutputError
_SIMPLER = dict(zip("─│├╭╮╰╯×", "-|+++++x", strict=True))


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command of the arguments, by default those of the process, and end the process."""
    streams = [stream for stream in (sys.stdout, sys.stderr) if isinstance(stream, TextIOWrapper)]
    codecs.register_error("ringlet", _simpler)
    for stream in streams:
        stream.reconfigure(errors="ringlet")
    try:
        code = _run(arguments)
        for stream in streams:
            stream.flush()
    except KeyboardInterrupt:
        _say("interrupted\n")
        code = _INTERRUPTED
    except (OSError, SystemExit) as error:
        _drop_unwritten(streams)
        if BrokenPipeError in (type(error), type(error.__context__)):  # rich leaves by SystemExit then, too
            code = _UNREAD
        elif isinstance(error, OSError) and error.errno in _FULL:
            code = _UNPRINTED
            with suppress(OSError):
                _say(f"error: cannot print: {error.strerror}\n")
        else:
            raise
    sys.exit(code)


def _run(arguments: Sequence[str] | None) -> int:
    import click

    from ringlet.cli.group import group
    from ringlet.cli.wording import visible

    try:
        return group.main(arguments, standalone_mode=False) or 0
    except click.ClickException as error:
        told = StringIO()
        error.show(told)
        _say(visible(told.getvalue()))
        return error.exit_code
    except click.Abort as error:  # what older versions of click make of Ctrl-C
        raise KeyboardInterrupt from error


def _say(text: str) -> None:
    """Write to stderr, which may be closed."""
    if sys.stderr is not None:
        sys.stderr.write(text)


def _simpler(error: UnicodeError) -> tuple[str | bytes, int]:
    """What is written for a character that an encoding does not have; bytes of file names stay what they are."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    character = error.object[error.start]
    if "\udc80" <= character <= "\udcff":
        return bytes([ord(character) - 0xDC00]), error.start + 1
    return _SIMPLER.get(character, "?"), error.start + 1


def _drop_unwritten(streams: Iterable[TextIOWrapper]) -> None:
    """Let what a stream does not take go nowhere, so that Python does not complain when it flushes at the end."""
    for stream in streams:
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
