"""How results appear: compact tables on stdout for people, or one JSON object for programs."""

import json
from collections.abc import Iterable, Sequence
from math import isfinite
from textwrap import wrap
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ringlet.amounts import percent
from ringlet.cli.wording import visible

__all__ = ["percent", "print_facts", "print_json", "print_table", "terminal_width", "times"]


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print names and values in two columns; values wrap at spaces only, so that paths stay whole."""
    rows = [(name, visible(value)) for name, value in facts]
    console = _console()
    indent = 2 + max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        lines = [piece for line in value.splitlines() for piece in _wrapped(line, console.width - indent)]
        text = Text.assemble((name.ljust(indent), "dim"), f"\n{' ' * indent}".join(lines))
        console.print(text, soft_wrap=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, text: Iterable[int] = (0,)) -> None:
    """Print a table; columns are numbers, to the right, except those in `text`."""
    from rich.box import SIMPLE_HEAD

    words = set(text)
    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1))
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number in words else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    _console().print(table)


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON object; numbers that JSON does not have become null."""
    click.echo(json.dumps(_finite(content), indent=2))


def times(shape: Iterable[int]) -> str:
    """Write a shape for people.

    Examples
    --------
    >>> times((300, 451, 3))
    '300 × 451 × 3'
    """
    return " × ".join(map(str, shape))


def terminal_width() -> int:
    """Columns of the terminal, 80 where there is none."""
    return _console().width


def _console() -> Console:
    return Console(highlight=False)


def _wrapped(line: str, width: int) -> list[str]:
    return wrap(line, max(20, width), break_long_words=False, break_on_hyphens=False)


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not isfinite(content) else content
