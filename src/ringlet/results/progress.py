"""The progress line of a fit: phase, sweep, change, time left. Live in terminals and notebooks, else plain lines."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic
from typing import Any

from ringlet.results.records import SweepReport

__all__ = ["ProgressLine", "progress_line"]

_SECONDS_BETWEEN_LINES = 5.0
_USUAL_SHARE = 0.33  # share of the allowed sweeps that fits usually take: automatic fits took 16 to 46 of 80
_GROWING_SHARE = 0.4  # the same for fits whose ring still grows
_LONGER = 1.2  # sweeps in all over sweeps done, if more than usual were done
_RECENT = 5  # last sweeps, whose mean time predicts the next: rings grow, and so do times


class ProgressLine:
    """Shows how far a fit is.

    Parameters
    ----------
    console : rich.console.Console
    update : callable or None
        Updates the live line; None: lines are printed.
    """

    def __init__(self, console: Any, update: Any = None) -> None:
        self._console = console
        self._update = update
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self._spent = 0.0
        self._last = monotonic()

    def phase(self, words: str) -> None:
        """Name the work before the first sweep."""
        self._show(words)

    def sweep(self, number: int, sweeps: int, seconds: float, report: SweepReport, *, limit: float = inf) -> None:
        """Show a sweep that has ended, by its stage or its change; the fit ends after `limit` seconds."""
        self._recent.append(seconds)
        self._spent += seconds
        left = time_left(number, sweeps, sum(self._recent) / len(self._recent))
        if report.growing:
            left = max(left, growing_time_left(number, sweeps, self._spent))
        left = min(left, max(limit, 0.0))
        words = f"about {left:.0f} s left, sweep {number} of at most {sweeps}, "
        self._show(words + (report.stage or f"change {report.change:.1e}"), now=number == sweeps)

    def _show(self, words: str, *, now: bool = False) -> None:
        if self._update is not None:
            self._update(words)
        elif now or monotonic() - self._last >= _SECONDS_BETWEEN_LINES:
            self._console.print(words)
            self._last = monotonic()


def time_left(done: int, sweeps: int, seconds: float) -> float:
    """Seconds that a fit will still take, from what fits usually take.

    Examples
    --------
    >>> round(time_left(10, 80, 2.0)), time_left(50, 80, 2.0), time_left(80, 80, 2.0)
    (33, 20.0, 0.0)
    """
    return seconds * (_expected(done, sweeps, _USUAL_SHARE) - done)


def growing_time_left(done: int, sweeps: int, spent: float) -> float:
    """Seconds that a fit with a growing ring will still take: time grows with the square of the sweeps.

    Examples
    --------
    >>> round(growing_time_left(10, 80, 2.0)), growing_time_left(80, 80, 2.0)
    (18, 0.0)
    """
    return spent * ((_expected(done, sweeps, _GROWING_SHARE) / done) ** 2 - 1)


def _expected(done: int, sweeps: int, usual: float) -> float:
    """Sweeps that a fit will take."""
    return min(sweeps, max(usual * sweeps, _LONGER * done))


@contextmanager
def progress_line() -> Iterator[ProgressLine]:
    """A progress line on standard error, for as long as the context is open."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield ProgressLine(console)
        return
    columns = (
        SpinnerColumn(),
        TimeElapsedColumn(table_column=Column(no_wrap=True, min_width=7)),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis")),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield ProgressLine(console, lambda words: bar.update(task, description=words))
