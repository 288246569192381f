"""Tables in Markdown."""

from collections.abc import Iterable, Sequence
from datetime import date

__all__ = ["days", "decimal", "percent", "table"]


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """One line for the heads, one for every row.

    Examples
    --------
    >>> print(table(("case", "dB"), [("coffee", "25.2")]))
    | case | dB |
    |---|---|
    | coffee | 25.2 |
    """
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines)


def decimal(value: float | None, digits: int = 1) -> str:
    """A number with that many digits after the point; a dash for what was not measured.

    Examples
    --------
    >>> decimal(24.25), decimal(0.004, 2), decimal(None)
    ('24.2', '0.00', '–')
    """
    return "–" if value is None else f"{value:.{digits}f}"


def percent(share: float | None) -> str:
    """A share in whole per cent; a dash for what was not measured.

    Examples
    --------
    >>> percent(0.884)
    '88 %'
    """
    return "–" if share is None else f"{100 * share:.0f} %"


def days(found: Iterable[str | None]) -> str:
    """When records were measured, as a sentence; records without a day are older than all others.

    Examples
    --------
    >>> days(["2026-11-18", "2026-11-19", "2026-11-18"])
    'Measured from 2026-11-18 to 2026-11-19.'
    >>> days([None, "2026-11-18"])
    'Measured on 2026-11-18 and before; 1 of 2 records name no day.'
    """
    every = list(found)
    named = sorted(date.fromisoformat(day) for day in every if day)
    without = every.count(None)
    if not named:
        return "The records name no day: they are older than those that do."
    if without:
        return f"Measured on {named[-1]} and before; {without} of {len(every)} records name no day."
    return f"Measured on {named[0]}." if named[0] == named[-1] else f"Measured from {named[0]} to {named[-1]}."
