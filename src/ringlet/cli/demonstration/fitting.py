"""Fits of the demonstration."""

from ringlet.results.fit import Fit
from ringlet.results.records import Status

__all__ = ["uninterrupted"]


def uninterrupted(fit: Fit) -> Fit:
    """The fit, unless Ctrl-C has ended it: then the demonstration ends, too."""
    if fit.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return fit
