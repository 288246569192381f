"""Taking times."""

from collections.abc import Callable
from math import ceil
from time import perf_counter

__all__ = ["least_seconds"]

_ENOUGH = 1e-3  # seconds that can be timed; shorter work is repeated


def least_seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Minimum time of several runs, after a warm-up; short work is repeated until it can be timed."""
    work()
    start = perf_counter()
    work()
    often = max(1, ceil(_ENOUGH / max(perf_counter() - start, 1e-9)))
    times = []
    for _ in range(repeats):
        start = perf_counter()
        for _ in range(often):
            work()
        times.append((perf_counter() - start) / often)
    return min(times)
