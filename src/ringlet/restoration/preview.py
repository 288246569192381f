"""Restoring within a limit of time: how much of it the fit may take, and a first look at the clean file meanwhile."""

from collections.abc import Callable
from math import inf
from time import perf_counter

from ringlet.amounts import parse_seconds
from ringlet.restoration.clean_file import CleanFile
from ringlet.results.records import State

__all__ = ["Preview", "fit_seconds"]

_FIRST_SHARE = 0.1  # of the time: the ring has taken shape, and most of the time is left
_ENTRY_SECONDS = 4e-6  # that restoring and writing an entry takes after the fit
_MOST_RESERVED = 0.5  # of the time


def fit_seconds(time: float | str | None, entries: int) -> float | None:
    """What a fit may take of a limit of time for all: restored entries and files need some after it.

    Examples
    --------
    >>> fit_seconds("30s", 1_000_000), fit_seconds(30, 10_000_000), fit_seconds(None, 100)
    (26.0, 15.0, None)
    """
    if time is None:
        return None
    seconds = parse_seconds(time)
    return seconds - min(_ENTRY_SECONDS * entries, _MOST_RESERVED * seconds)


class Preview:
    """A callback that writes the clean file once, early in a fit, from the ring as it is then.

    The file is written under a temporary name and renamed, as the final one is. An output that exists is left alone
    until the fit has ended: it may be the input.

    Parameters
    ----------
    clean : CleanFile
    time : float or str
        The limit of the fit.
    tell : callable, optional
        Called with the state whose ring was written, and the seconds since the beginning.
    """

    def __init__(self, clean: CleanFile, time: float | str, tell: Callable[[State, float], None] | None = None) -> None:
        self._clean = clean
        self._tell = tell
        self._start = perf_counter()
        self._due = inf if clean.path.exists() else self._start + _FIRST_SHARE * parse_seconds(time)
        self._written = False

    def __call__(self, state: State) -> None:
        """Write the preview if it is due."""
        if self._written or perf_counter() < self._due or state.ring is None:
            return
        self._clean.write_preview(state.ring)
        self._written = True
        if self._tell is not None:
            self._tell(state, perf_counter() - self._start)

    @property
    def final(self) -> CleanFile:
        """Where the final result goes: it replaces a preview, and nothing else that is not to be replaced."""
        return self._clean.replacing() if self._written else self._clean
