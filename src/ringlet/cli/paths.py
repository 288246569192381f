"""Paths as they are typed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

__all__ = ["GivenPath", "suffixed"]


class GivenPath(click.Path):
    """A path that is not empty: an empty one, of a variable that is not set, would mean the current folder."""

    def __init__(self, *, file_okay: bool = True, dir_okay: bool = True) -> None:
        super().__init__(file_okay=file_okay, dir_okay=dir_okay, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Make a Path of it."""
        if value == "":
            self.fail("the path is empty; the current folder is .", param, ctx)
        try:
            return super().convert(value, param, ctx)
        except ValueError:
            self.fail(f"{value!r} holds a null character, which no path can", param, ctx)


def suffixed(*suffixes: str) -> Callable[[click.Context, click.Parameter, Path | None], Path | None]:
    """Check that an output path ends in one of these suffixes; for `click.option(callback=)`."""

    def check(ctx: click.Context, param: click.Parameter, path: Path | None) -> Path | None:
        if path is not None and path.suffix.lower() not in suffixes:
            raise click.BadParameter(f"{path} must end in {' or '.join(suffixes)}", ctx, param)
        return path

    return check
