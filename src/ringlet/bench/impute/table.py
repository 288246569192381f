"""The table of a comparison: one row a case, one column a method, and where `decompose(x)` wins."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ringlet.bench.impute.rivals import METHODS, RINGLET
from ringlet.experiments.journal import Record

__all__ = ["HEADERS", "Row", "markdown", "rows_of"]

HEADERS = ("tensor", "outage", "wrong", "Ringlet", "linear", "PCA-EM", "CP", "Iterative", "KNN", "s")  # as METHODS


@dataclass(frozen=True)
class Row:
    """All scores of one case.

    Attributes
    ----------
    tensor, outage : str
    wrong : int
        In percent.
    nrmse, seconds : dict
        By method, of those that were measured.
    """

    tensor: str
    outage: str
    wrong: int
    nrmse: dict[str, float]
    seconds: dict[str, float]

    @property
    def best_rival(self) -> tuple[str, float] | None:
        """The method with the least error, other than ours."""
        others = {method: nrmse for method, nrmse in self.nrmse.items() if method != RINGLET}
        return min(others.items(), key=lambda one: one[1]) if others else None

    @property
    def won(self) -> bool | None:
        """Whether `decompose(x)` has a smaller error than all others; None if not both were measured."""
        if RINGLET not in self.nrmse or self.best_rival is None:
            return None
        return self.nrmse[RINGLET] < self.best_rival[1]

    def cells(self) -> tuple[str, ...]:
        """Text of the row under `HEADERS`."""
        scores = [_decimal(self.nrmse.get(method)) for method in (RINGLET, *METHODS)]
        seconds = self.seconds.get(RINGLET)
        shown = "" if seconds is None else f"{seconds:.1f}"
        return (self.tensor, self.outage, f"{self.wrong} %", *scores, shown)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "tensor": self.tensor,
            "outage": self.outage,
            "wrong": self.wrong,
            "nrmse": self.nrmse,
            "seconds": self.seconds,
            "best_rival": self.best_rival and self.best_rival[0],
            "won": self.won,
        }


def rows_of(records: Sequence[Record]) -> list[Row]:
    """One row a case, in the order of the records; of two records of a method the later one counts."""
    rows: dict[str, Row] = {}
    for record in records:
        empty = Row(record["tensor"], record["outage"], record["wrong"], {}, {})
        row = rows.setdefault(record["case"], empty)
        row.nrmse.pop(record["method"], None)
        if record["nrmse"] is not None:
            row.nrmse[record["method"]] = record["nrmse"]
            row.seconds[record["method"]] = record["seconds"]
    return list(rows.values())


def markdown(rows: Sequence[Row]) -> str:
    """The table for a page, with the least error of a row in bold.

    Examples
    --------
    >>> print(markdown([Row("sea", "fibre", 5, {"ringlet": 0.05, "CP": 0.06}, {"ringlet": 1.0, "CP": 2.0})]))
    | tensor | outage | wrong | Ringlet | linear | PCA-EM | CP | Iterative | KNN | s |
    |---|---|---|---|---|---|---|---|---|---|
    | sea | fibre | 5 % | **.050** |  |  | .060 |  |  | 1.0 |
    """
    lines = [HEADERS, tuple("---" for _ in HEADERS)]
    text = [f"| {' | '.join(lines[0])} |", f"|{'|'.join(lines[1])}|"]
    for row in rows:
        least = _decimal(min(row.nrmse.values(), default=None))
        cells = row.cells()
        scores = [f"**{cell}**" if cell and cell == least else cell for cell in cells[3:-1]]
        text.append(f"| {' | '.join((*cells[:3], *scores, cells[-1]))} |")
    return "\n".join(text)


def _decimal(value: float | None) -> str:
    """Three digits after the point, without the zero before it."""
    return "" if value is None else f"{value:.3f}".removeprefix("0")
