"""Predictions of the residual of an entry from its neighbours, the entry itself left out.

Sums over neighbours at several scales come from one cascade: the filter (1, 2, 1) along every ordered mode, with its
taps 1, 2, 4, ... entries apart, gives triangular windows of 3, 7, 15, ... entries. The centre of such a window is
known, so taking the entry out of its own sum costs one subtraction.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.local.modes import NeighbourModes

__all__ = [
    "Array32",
    "Predictions",
    "agreeing_pairs",
    "neighbour_predictions",
    "other_slices",
    "pair_sums",
    "shifted",
    "slice_sum",
    "window_concentration",
    "window_mean",
]

Array32: TypeAlias = NDArray[np.float32]

_DENSITY_LEVEL = 1  # level whose sum of weights is the density of the neighbourhood
_SHRINKAGE = np.float32(0.02)  # weight of a prediction 0 in the mean over a window, whose own weights sum to at most 1
_PAIR_SHRINKAGE = np.float32(0.2)  # the same in the mean of two neighbours, in entries
_SLICE_SHRINKAGE = np.float32(0.3)  # the same in the mean of other slices, in entries
_PAIR_WEIGHT = np.float32(1.2)  # weight of two neighbours: neither is surely wrong, as none exceeds 1
_ALONE = np.float32(1e30)  # variance of a pair with an unknown neighbour
_SLICE_ENTRIES = 1 << 12  # least number filtered at a time: with fewer, the loop costs more than the sums
_BASES = 2  # lowest levels that give differences of the other slices


@dataclass(frozen=True, eq=False)
class Predictions:
    """Several predictions of every residual, none of which uses the residual itself.

    Attributes
    ----------
    columns : array of shape (C, ...)
        Predictions, one array each.
    density : array
        Weights of the neighbours: 1 where all are known and trusted.
    """

    columns: Array32
    density: Array32


def neighbour_predictions(
    residuals: Array32, weights: Array32, modes: NeighbourModes, levels: int, core: tuple[slice, ...] = ()
) -> Predictions:
    """Predict every residual from those of its neighbours.

    Parameters
    ----------
    residuals : float32 array
        0 where nothing is observed.
    weights : float32 array of the same shape
        From 0 (unknown, or wrong) to 1 (trusted).
    modes : NeighbourModes
    levels : int
        Number of scales; the farthest neighbour is ``2**levels - 1`` entries away.
    core : tuple of slice
        The part of the entries that are predicted; by default all.

    Examples
    --------
    >>> row, known = np.array([0, 9, 0], np.float32), np.ones(3, np.float32)
    >>> said = neighbour_predictions(row, known, NeighbourModes((0,), ()), levels=2)
    >>> [round(float(column[1]), 2) for column in said.columns], round(float(said.columns[0][0]), 1)
    ([0.0, 0.0, 0.0], 8.7)
    """
    inside = (slice(None), *core)
    both = np.empty((2, *residuals.shape), np.float32)  # sums of residuals, and of weights
    np.multiply(residuals, weights, out=both[0])
    both[1] = weights
    own = both[inside]
    ordered = [mode + 1 for mode in modes.ordered]
    scales = levels if ordered else 0
    columns = np.empty((_number(modes, scales), *own.shape[1:]), np.float32)
    density = np.zeros(own.shape[1:], np.float32)
    wide = both
    for level in range(scales):
        wide = _hats(wide, ordered, 2**level)
        centre = 2.0 ** ((level + 1) * len(ordered))
        around = wide[inside] - np.float32(centre) * own
        around *= np.float32(1 / (centre * centre - centre))
        mass = np.maximum(around[1], 0, out=around[1])
        if level == _DENSITY_LEVEL:
            density = mass.copy()
        mass += _SHRINKAGE
        np.divide(around[0], mass, out=columns[level])
    for number, mode in enumerate(ordered, start=scales):
        two = pair_sums(both, mode)[inside]
        two[1] += _PAIR_SHRINKAGE
        np.divide(two[0], two[1], out=columns[number])
    bases = columns[:_BASES] if ordered else columns[:0]
    filled = scales + len(ordered)
    for mode in modes.related:
        for column in other_slices(residuals[core], weights[core], bases, mode):
            columns[filled] = column
            filled += 1
    return Predictions(columns, density)


def window_mean(values: Array32, modes: Sequence[int], levels: int, first: int = 0) -> Array32:
    """Weighted sums over a triangular window around every entry, which is in it; the weights sum to 1.

    Entries outside the array count as 0. With another first level, `values` come from the levels before.

    Examples
    --------
    >>> window_mean(np.array([0, 0, 1, 0, 0], np.float32), (0,), 1)
    array([0.  , 0.25, 0.5 , 0.25, 0.  ], dtype=float32)
    """
    for level in range(first, first + levels):
        values = _hats(values, modes, 2**level)
    return values * np.float32(4.0 ** (-levels * len(modes)))


def window_concentration(modes: int, levels: int) -> float:
    """Sum of the squared weights of a window of `window_mean`: one divided by the number of entries that count in it.

    Examples
    --------
    >>> window_concentration(1, 1) == 0.25**2 + 0.5**2 + 0.25**2
    True
    """
    width = 2**levels
    return float(((2 * width**2 + 1) / (3 * width**3)) ** modes)


def other_slices(residuals: Array32, weights: Array32, bases: Sequence[Array32] | Array32, mode: int) -> list[Array32]:
    """Predictions from the same place in other slices of a mode: residuals, and how these differ from around them."""
    mass = slice_sum(weights, mode) - weights
    mass += _SLICE_SHRINKAGE
    columns = []
    for base in [*bases, None]:
        differences = residuals * weights if base is None else (residuals - base) * weights
        others = np.subtract(slice_sum(differences, mode), differences, out=differences)
        others /= mass
        columns.append(others)
    return columns


def pair_sums(values: Array32, mode: int) -> Array32:
    """Sum of the two nearest neighbours along a mode."""
    result = np.zeros_like(values)
    ahead, behind = shifted(mode, 1)
    result[ahead] = values[behind]
    result[behind] += values[ahead]
    return result


def agreeing_pairs(
    residuals: Array32, weights: Array32, modes: Sequence[int], core: tuple[slice, ...] = ()
) -> Iterator[tuple[Array32, Array32]]:
    """The mean of the two nearest neighbours along each of some modes, and their variance around it.

    The variance is huge unless both have a weight: one neighbour alone may be wrong in the same way as the entry.

    Examples
    --------
    >>> ((mean, variance),) = agreeing_pairs(np.array([0, 5, 4], np.float32), np.ones(3, np.float32), (0,))
    >>> float(mean[1]), variance.tolist()
    (2.0, [1.0000000150474662e+30, 4.0, 1.0000000150474662e+30])
    """
    core = core or (slice(None),) * residuals.ndim
    weighted = weights * residuals
    for mode in modes:
        lines, inside = (*core[:mode], slice(None), *core[mode + 1 :]), (*(slice(None),) * mode, core[mode])
        known, values = weights[lines], residuals[lines]
        mass, mean = pair_sums(known, mode)[inside], pair_sums(weighted[lines], mode)[inside]
        alone = (mass < _PAIR_WEIGHT) * _ALONE
        np.maximum(mass, _PAIR_WEIGHT, out=mass)
        mean /= mass
        squares = np.zeros(values.shape, np.float32)
        ahead, behind = shifted(mode, 2)
        apart = squares[(*(slice(None),) * mode, slice(1, -1))]
        np.subtract(values[ahead], values[behind], out=apart)
        apart *= apart
        apart *= known[ahead]
        apart *= known[behind]
        mass *= mass
        variance = np.divide(squares[inside], mass, out=mass)
        variance += alone
        yield mean, variance


def shifted(mode: int, distance: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Indices of all entries but the first ones of a mode, and but the last ones."""
    before = (slice(None),) * mode
    return (*before, slice(distance, None)), (*before, slice(None, -distance))


def slice_sum(values: Array32, mode: int) -> Array32:
    """Sum over a mode, which stays; slice by slice, several times as fast as NumPy's sum over a short last mode."""
    slices = np.moveaxis(values, mode, 0)
    total = slices[0].copy()
    for other in slices[1:]:
        total += other
    return np.expand_dims(total, mode)


def _number(modes: NeighbourModes, scales: int) -> int:
    """Number of predictions."""
    return scales + len(modes.ordered) + len(modes.related) * (1 + min(_BASES, scales))


def _hats(values: Array32, modes: Sequence[int], distance: int) -> Array32:
    """The filter (1, 2, 1) along some modes, its taps this many entries apart.

    Slices of the modes before these are filtered one by one, so that intermediate results stay in the cache.
    """
    first = min(modes, default=0)
    while first and prod(values.shape[first:]) < _SLICE_ENTRIES:  # short slices are filtered together
        first -= 1
    result = np.empty(values.shape, np.float32)
    for slices in np.ndindex(values.shape[:first]):
        filtered = values[slices]
        for number, mode in enumerate(modes, start=1):
            out = result[slices] if number == len(modes) else np.empty(filtered.shape, np.float32)
            filtered = _hat(filtered, mode - first, distance, out)
    return result if modes else values


def _hat(values: Array32, mode: int, distance: int, out: Array32) -> Array32:
    """The filter along one mode, as two sums of two entries each."""
    length = values.shape[mode]
    ahead, behind = shifted(mode, distance)
    if length < 2 * distance:
        np.add(values, values, out=out)
        if distance < length:
            out[ahead] += values[behind]
            out[behind] += values[ahead]
        return out
    before = (slice(None),) * mode
    sums = values[ahead] + values[behind]
    np.add(sums[ahead], sums[behind], out=out[(*before, slice(distance, length - distance))])
    for end in (slice(None, distance), slice(-distance, None)):
        np.add(sums[(*before, end)], values[(*before, end)], out=out[(*before, end)])
    return out
