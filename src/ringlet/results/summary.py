"""How a fit is shown: one line of text, and a card for notebooks with its error over the sweeps."""

from collections.abc import Sequence
from html import escape
from math import isfinite, log10

from ringlet.amounts import format_bytes
from ringlet.results.records import SweepRecord

__all__ = ["Facts", "card", "history_facts", "line", "size_fact"]

Facts = list[tuple[str, str]]  # names and values, in the order in which they are shown

_ACCENT = "#4a90d9"  # as in the drawing of a ring: visible on white and on black
_FONT = "12px system-ui, sans-serif"
_WIDTH, _HEIGHT = 220, 64  # of the path, in pixels
_MARGIN = 4


def history_facts(history: Sequence[SweepRecord]) -> Facts:
    """Sweeps and seconds.

    Examples
    --------
    >>> record = SweepRecord(sweep=1, seconds=0.25, change=0.1, loss=1.0, sigma=2.0, mean_weight=1.0)
    >>> history_facts([record, record])
    [('sweeps', '2'), ('time', '0.5 s')]
    """
    return [("sweeps", str(len(history))), ("time", f"{sum(record.seconds for record in history):.3g} s")]


def size_fact(ring_bytes: int, data_bytes: int) -> tuple[str, str]:
    """The sizes of a ring and its data, with a remark if the ring is larger.

    Examples
    --------
    >>> size_fact(1000, 20_000)[1]
    '1 kB for 20 kB of data'
    >>> size_fact(3000, 1000)[1]
    '3 kB for 1 kB of data: LARGER than the data; give a smaller rank, or save with precision="int8"'
    """
    told = f"{format_bytes(ring_bytes)} for {format_bytes(data_bytes)} of data"
    if ring_bytes > data_bytes:
        told += ': LARGER than the data; give a smaller rank, or save with precision="int8"'
    return "ring", told


def line(name: str, facts: Facts) -> str:
    """Facts as the ``repr`` of an object.

    Examples
    --------
    >>> line("Fit", [("shape", "6 × 5"), ("status", "CONVERGED")])
    'Fit(shape 6 × 5, status CONVERGED)'
    """
    return f"{name}({', '.join(f'{label} {value}' for label, value in facts)})"


def card(name: str, facts: Facts, history: Sequence[SweepRecord]) -> str:
    """Facts as an HTML fragment without scripts, with the path of the validation error or of the change.

    Examples
    --------
    >>> card("Fit", [("shape", "6 × 5")], []).startswith("<div")
    True
    """
    rows = "".join(
        f'<div style="opacity:.65">{escape(label)}</div><div style="overflow-wrap:anywhere">{escape(value)}</div>'
        for label, value in facts
    )
    return (
        f'<div style="display:flex;flex-wrap:wrap;align-items:center;gap:8px 28px;font:{_FONT}">'
        f'<div style="max-width:34em"><div style="font-weight:600;margin-bottom:6px">{escape(name)}</div>'
        f'<div style="display:grid;grid-template-columns:auto 1fr;gap:3px 14px">{rows}</div></div>'
        f"{_path(history)}</div>"
    )


def _path(history: Sequence[SweepRecord]) -> str:
    """A small SVG with a logarithmic axis; empty for fewer than two numbers."""
    label = "validation error"
    numbers = [(record.sweep, record.held_out) for record in history]
    if sum(_is_drawn(number) for _, number in numbers) < 2:
        label, numbers = "change of the model", [(record.sweep, record.change) for record in history]
    points = [(sweep, log10(number)) for sweep, number in numbers if _is_drawn(number)]
    if len(points) < 2:
        return ""
    sweeps, heights = [sweep for sweep, _ in points], [height for _, height in points]
    across, up = (sweeps[-1] - sweeps[0]) or 1, (max(heights) - min(heights)) or 1.0
    places = " ".join(
        f"{_MARGIN + (_WIDTH - 2 * _MARGIN) * (sweep - sweeps[0]) / across:.1f},"
        f"{_MARGIN + (_HEIGHT - 2 * _MARGIN) * (max(heights) - height) / up:.1f}"
        for sweep, height in points
    )
    first, last = 10 ** heights[0], 10 ** heights[-1]
    told = f"{label}: {first:.3g} in sweep {sweeps[0]}, {last:.3g} in sweep {sweeps[-1]}"
    return (
        f'<div><svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{told}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"><polyline points="{places}" fill="none" '
        f'stroke="{_ACCENT}" stroke-width="2" stroke-linejoin="round"/></svg>'
        f'<div style="opacity:.65">{told}</div></div>'
    )


def _is_drawn(number: float) -> bool:
    return isfinite(number) and number > 0
