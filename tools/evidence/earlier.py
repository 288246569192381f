"""Tables of measurements whose program kept no record: the CSV files of benchmarks/earlier, typed when measured."""

import csv
from functools import partial
from pathlib import Path

from evidence.markdown import table

__all__ = ["earlier"]

_FOLDER = Path(__file__).parents[2] / "benchmarks" / "earlier"


def earlier(*names: str) -> dict[str, partial[str]]:
    """What writes the tables of these files, by name."""
    return {name: partial(_table, name) for name in names}


def _table(name: str) -> str:
    with (_FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        heads, *rows = csv.reader(file)
    return table(heads, rows)
