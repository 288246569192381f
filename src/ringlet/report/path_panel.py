"""The path of a fit as a part of a page: lines over the sweeps that take the page's colours and width."""

from collections.abc import Sequence
from html import escape
from math import isfinite, log10

from ringlet.results.records import SweepRecord

__all__ = ["path_panel"]

Points = list[tuple[int, float]]  # sweeps and numbers


def path_panel(history: Sequence[SweepRecord], units: str) -> str:
    """Charts of a fit's history, and a table of all sweeps to unfold.

    The first chart is the validation error, or the change of the ring where nothing was held out; the second one is the
    mean weight of the entries in use: those judged wrong between sweeps are not among them.

    Examples
    --------
    >>> record = SweepRecord(sweep=1, seconds=0.25, change=0.1, loss=1.0, sigma=2.0, mean_weight=1.0)
    >>> path_panel([record], "")
    '<p>The fit took one sweep: there is no path to draw.</p>'
    """
    if len(history) < 2:
        count = "no" if not history else "one"
        return f"<p>The fit took {count} sweep{'' if history else 's'}: there is no path to draw.</p>"
    errors = [(one.sweep, one.held_out) for one in history if isfinite(one.held_out) and one.held_out > 0]
    changes = [(one.sweep, one.change) for one in history if isfinite(one.change) and one.change > 0]
    trust = [(one.sweep, 100 * one.mean_weight) for one in history if isfinite(one.mean_weight)]
    charts = []
    if len(errors) > 1:
        told = f"Validation error{f' ({units})' if units else ''}"
        charts.append(_chart(told, "lower is better", errors, "", logarithmic=True))
    elif len(changes) > 1:
        charts.append(_chart("Change of the ring in a sweep", "the fit stops when it is small", changes, "", True))
    if len(trust) > 1:
        charts.append(_chart("Mean weight of the entries in use", "100 % = all of them count", trust, " %", False))
    return f'<div class="charts">{"".join(charts)}</div>{_sweeps(history)}'


def _chart(title: str, note: str, points: Points, unit: str, logarithmic: bool) -> str:
    """A line in a box; its numbers are text beside it, which keeps its size on a narrow screen."""
    heights = [log10(number) if logarithmic else number for _, number in points]
    low, high = (min(heights), max(heights)) if logarithmic else (0.0, 100.0)
    up = (high - low) or 1.0
    first, last = points[0][0], points[-1][0]
    across = (last - first) or 1
    places = " ".join(
        f"{100 * (sweep - first) / across:.2f},{100 * (high - height) / up:.2f}"
        for (sweep, _), height in zip(points, heights, strict=True)
    )
    top, bottom = (f"{10**end if logarithmic else end:.3g}{unit}" for end in (high, low))
    start, end = points[0][1], points[-1][1]
    told = f"{title}: {start:.3g}{unit} in sweep {first}, {end:.3g}{unit} in sweep {last}"
    dot = f"left:100%;top:{100 * (high - heights[-1]) / up:.2f}%"
    return (
        f'<figure class="chart"><figcaption><b>{escape(title)}</b> <span class="muted">{escape(note)}</span>'
        f'</figcaption><div class="plot"><div class="y"><span>{escape(top)}</span><span>{escape(bottom)}</span></div>'
        f'<div class="area"><svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(told)}"><polyline points="{places}"/></svg><i style="{dot}"></i></div>'
        f'<div class="x"><span>sweep {first}</span><span>{end:.3g}{escape(unit)} in sweep {last}</span></div></div>'
        "</figure>"
    )


def _sweeps(history: Sequence[SweepRecord]) -> str:
    heads = ("sweep", "seconds", "validation error", "change", "kernel width", "mean weight")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    lines = "".join(
        f'<tr><th scope="row">{one.sweep}</th>'
        + "".join(
            f"<td>{_number(value)}</td>"
            for value in (one.seconds, one.held_out, one.change, one.sigma, one.mean_weight)
        )
        + "</tr>"
        for one in history
    )
    return (
        '<details><summary>All sweeps in numbers</summary><div class="wide" tabindex="0" role="region" '
        f'aria-label="All sweeps"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div></details>'
    )


def _number(value: float) -> str:
    return f"{value:.3g}" if isfinite(value) else "–"
