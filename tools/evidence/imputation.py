"""Filling in outages: the record of `ringlet bench impute`."""

from pathlib import Path

from evidence.markdown import days
from evidence.markdown import table as lined
from ringlet.bench.impute.rivals import METHODS, RINGLET
from ringlet.bench.impute.table import HEADERS, Row, markdown, rows_of
from ringlet.experiments.journal import read_records

__all__ = ["RECORD", "brief", "counts", "measure", "table"]

_OUTAGES = ("random", "fibre", "block")
_WORDS = {"random": "single entries", "fibre": "whole fibres, such as days", "block": "boxes"}
RECORD = Path(__file__).parents[2] / "benchmarks" / "imputation.jsonl"


def measure(data: Path | None, _minutes: float) -> list[list[str]]:
    """The commands: `decompose(x)` anew, and the others where they are missing."""
    if data is None:
        raise SystemExit("imputation needs --data: the page is about measured tensors; see benchmarks/README.md")
    bench = ["bench", "impute", "--data", str(data), "--fibre-mode", "temperatures", "0", "--out", str(RECORD)]
    return [[*bench, "--method", RINGLET, "--again"], bench]


def _rows() -> list[Row]:
    """Tensor by tensor, in the order in which they were first measured."""
    rows = rows_of(read_records(RECORD))
    tensors = list(dict.fromkeys(row.tensor for row in rows))
    return sorted(rows, key=lambda row: (tensors.index(row.tensor), _OUTAGES.index(row.outage), row.wrong))


def _decided() -> list[Row]:
    return [row for row in _rows() if row.won is not None]


def _count(wrong: int) -> str:
    rows = [row for row in _decided() if row.wrong == wrong]
    return f"{sum(row.won is True for row in rows)} of {len(rows)}"


def counts() -> str:
    """How many cases are won, for a sentence."""
    return f"in {_count(5)} cases in which 5 % of the entries are wrong, and in {_count(0)} in which none is"


def brief() -> str:
    """Means over the tensors of which all methods were measured, in a few lines."""
    rows = [row for row in _rows() if {RINGLET, *METHODS} <= set(row.nrmse)]
    lines = []
    for outage in _OUTAGES:
        for wrong in (0, 5):
            cases = [row.nrmse for row in rows if (row.outage, row.wrong) == (outage, wrong)]
            means = [sum(case[name] for case in cases) / len(cases) for name in (RINGLET, *METHODS)]
            shown, least = [f"{mean:.2f}" for mean in means], f"{min(means):.2f}"
            scores = [f"**{mean}**" if mean == least else mean for mean in shown]
            lines.append((_WORDS[outage], f"{wrong} %", *scores))
    heads = ("missing", "wrong", *HEADERS[3:-1])
    count = len({row.tensor for row in rows})
    return f"{lined(heads, lines)}\n\nMeans over {count} measured tensors of which 30 % is hidden."


def table() -> str:
    """All cases, and which are lost."""
    decided = _decided()
    lost = [f"{row.tensor}, {row.outage}, {row.wrong} % wrong" for row in decided if not row.won]
    told = f"`decompose(x)` has the least error in {len(decided) - len(lost)} of {len(decided)} cases."
    if lost:
        told += " Not in: " + "; ".join(lost) + "."
    ours = {record["case"]: record.get("day") for record in read_records(RECORD) if record["method"] == RINGLET}
    return f"{markdown(_rows())}\n\n{told} {days(ours.values())}"
