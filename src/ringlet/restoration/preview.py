"""A first look at the clean file while a fit with a limit of time still runs."""

from collections.abc import Callable
from math import inf
from time import perf_counter

from ringlet.amounts import parse_seconds
from ringlet.restoration.clean_file import CleanFile
from ringlet.results.records import State

__all__ = ["Preview"]

_FIRST_SHARE = 0.1  # of the time: the ring has taken shape, and most of the time is left


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
