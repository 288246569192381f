"""The progress line of long work: sweep, change, time left. Live in a terminal or notebook, plain lines elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

__all__ = ["show_progress"]

_SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def show_progress(sweeps: int, done: int = 0) -> Iterator[Callable[[int, float], None]]:
    """Give a function ``shown(sweep, change)`` that keeps the progress line current.

    The first `done` sweeps were done before: the time left is estimated from the others.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal or console.is_jupyter:
        with _live(console, sweeps, done) as shown:
            yield shown
    else:
        yield _plain(console, sweeps, done)


@contextmanager
def _live(console: object, sweeps: int, done: int) -> Iterator[Callable[[int, float], None]]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("sweep"),
        MofNCompleteColumn(),
        BarColumn(bar_width=30),
        TextColumn("change {task.fields[change]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:  # type: ignore[arg-type]
        task = bar.add_task("fit", total=sweeps, completed=done, change="-")

        def shown(sweep: int, change: float) -> None:
            bar.update(task, completed=sweep, change=f"{change:.1e}")

        yield shown


def _plain(console: object, sweeps: int, done: int) -> Callable[[int, float], None]:
    start = monotonic()
    last = start

    def shown(sweep: int, change: float) -> None:
        nonlocal last
        now = monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES or sweep == sweeps:
            left = (now - start) / (sweep - done) * (sweeps - sweep)
            # No bound either way: fewer sweeps may do, and bonds that grow make them slower.
            told = f"about {left:.0f} s left if all sweeps are used"
            console.print(f"sweep {sweep}/{sweeps}  change {change:.1e}  {told}")  # type: ignore[attr-defined]
            last = now

    return shown
