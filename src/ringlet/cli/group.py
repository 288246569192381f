"""The `ringlet` command: which subcommands there are, and how their errors and warnings read."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import IO, Any

import click

from ringlet import __version__
from ringlet.cli.wording import as_typed, visible
from ringlet.errors import DataWarning, RingletError

__all__ = ["group"]

# Help must come at once, so a command's module is imported only when the command is asked for.
_COMMANDS = {
    "demo": "Fill a sensor log, restore a photo, and write a page about both.",
    "fit": "Fit a tensor ring to a file and save it.",
    "restore": "Write a clean file from a damaged one, in one step.",
    "info": "Describe a .ring file, a checkpoint or a data file.",
    "plan": "Report the cost of a fit, without running it.",
    "bench": "Time sweeps relative to the machine's own speed.",
    "paper": "Run the experiments of the paper.",
}


class _Failure(click.ClickException):
    """What the user can put right: one line, no traceback."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"error: {visible(' '.join(self.message.split()))}", file=file, err=file is None)


class _Commands(click.Group):
    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"ringlet.cli.commands.{cmd_name}").command
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _unread_noticed():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _unread_noticed(), _warnings_in_one_line(partial(self._typed, ctx)):
                return super().invoke(ctx)
        except RingletError as error:
            raise _Failure(self._typed(ctx, error)) from error
        except OSError as error:
            if error.filename is None:  # of a stream: `main` tells
                raise
            raise _Failure(f"{os.fsdecode(error.filename)}: cannot be opened: {error.strerror}") from error

    def _typed(self, ctx: click.Context, message: object) -> str:
        """Give a message as the person who typed the command reads it."""
        command = self.get_command(ctx, ctx.invoked_subcommand or "")
        return as_typed(str(message), [] if command is None else command.params)


@contextmanager
def _unread_noticed() -> Iterator[None]:
    """Leave as rich does where the output is closed; click would make an exit code of its own of it."""
    try:
        yield
    except BrokenPipeError as error:
        raise SystemExit(1) from error


@contextmanager
def _warnings_in_one_line(typed: Callable[[object], str]) -> Iterator[None]:
    """Ringlet's warnings as plain sentences on stderr."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        click.echo(f"warning: {visible(typed(message))}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", DataWarning)
        warnings.showwarning = show
        yield


@click.group(
    name="ringlet",
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=(
        "Exit codes: 0 success; 2 invalid input or usage (one line on stderr says what to change, and nothing was "
        "written); 130 interrupted (a running fit still writes the best ring so far); 141 the pipe that the "
        "output was written to was closed; 1 an error in Ringlet."
    ),
)
@click.version_option(__version__, message="ringlet %(version)s")
def group() -> None:
    """Fill gaps and correct wrong entries in data with several axes, by robust tensor rings.

    Reads and writes pictures, videos, npy, npz, mat, TIFF, netCDF and HDF5 files, zarr stores, csv and parquet tables.
    Start with: ringlet demo
    """
