"""Predictions from one side of an entry: at an edge it agrees with the neighbours on its own side of it."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.local.neighbours import Array32, shifted

__all__ = ["SIDE_REACH", "agreeing_sides"]

SIDE_REACH = 2  # entries to one side along every mode
_LEAST_MASS = np.float32(1.7)  # of the neighbours on a side: two that are hardly in doubt
_CALM = np.float32(1 / 256)  # of the variance around an entry; a side that varies more shows no edge
_UNUSED = np.float32(1e30)  # variance of a side that does not count


def agreeing_sides(
    residuals: Array32, ring: Array32, weights: Array32, modes: Sequence[int], places: tuple[NDArray[np.intp], ...]
) -> Iterator[tuple[Array32, Array32]]:
    """The mean of the data on each side of some entries, less the ring, and their variance around the mean.

    The data are compared, not the ring's errors: across an edge that the ring does not hold these change from entry to
    entry, also where the data are even. Of two modes there are four sides, the corners of a window, with eight
    neighbours each. The variance is huge of sides that hold less than two, or are not far calmer than all around.

    Parameters
    ----------
    residuals, ring, weights : float32 arrays
        Data less the ring, the ring, and how far entries are trusted.
    modes : sequence of int
    places : tuple of int arrays
        Indices of the entries, one array for each mode.

    Examples
    --------
    >>> row = np.array([1, 1, 1, 9, 8, 9, 8], np.float32)
    >>> sides = agreeing_sides(row - 4, np.full_like(row, 4), np.ones_like(row), (0,), (np.array([2]),))
    >>> [(round(float(mean[0]), 1), round(float(variance[0]), 1)) for mean, variance in sides]
    [(-3.0, 0.0), (4.5, 1.0000000150474662e+30)]
    """
    if not modes:
        return
    values = residuals + ring
    own = np.stack([weights, weights * values, weights * values * values])
    here: tuple[Any, ...] = (slice(None), *places)
    alone, offset = own[here], ring[here[1:]]
    corners = [sums[here] - alone for sums in _corners(own, [mode + 1 for mode in modes])]
    usual = _moments(sum(corners[1:], corners[0].copy()))[1]
    usual *= _CALM
    for sums in corners:
        mean, variance = _moments(sums)
        variance += (variance > usual) * _UNUSED
        mean -= offset
        yield mean, variance


def _moments(sums: Array32) -> tuple[Array32, Array32]:
    """Mean and variance from sums of weights, weighted values and weighted squares."""
    mass, mean, variance = sums
    few = mass < _LEAST_MASS
    np.maximum(mass, _LEAST_MASS, out=mass)
    mean /= mass
    variance /= mass
    variance -= mean * mean
    np.maximum(variance, 0, out=variance)
    variance += few * _UNUSED
    return mean, variance


def _corners(values: Array32, modes: Sequence[int]) -> Iterator[Array32]:
    """Sums over every entry and those just before it, or just after it, along each mode: all combinations."""
    if not modes:
        yield values
        return
    first, *rest = modes
    for forth in (False, True):
        sums = values.copy()
        for distance in range(1, min(SIDE_REACH, values.shape[first] - 1) + 1):
            later, earlier = shifted(first, distance)
            to, of = (earlier, later) if forth else (later, earlier)
            sums[to] += values[of]
        yield from _corners(sums, rest)
