"""What the neighbours of an entry say of its residual, the entry itself left out.

Sums over neighbours at several scales come from one cascade: the filter (1, 2, 1) / 4 along every ordered mode, with
its taps 1, 2, 4, ... entries apart, gives triangular windows of 3, 7, 15, ... entries. The centre of such a window is
known, so taking the entry out of its own sum costs one subtraction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.local.modes import NeighbourModes

__all__ = ["Array32", "Predictions", "hat", "neighbour_predictions", "other_slices", "pairs", "shifted", "window_mean"]

Array32: TypeAlias = NDArray[np.float32]

_DENSITY_LEVEL = 1  # whose sum of weights tells how dense the neighbourhood is
_SHRINKAGE = np.float32(0.02)  # weight of a prediction 0 in the mean over a window, whose own weights sum to at most 1
_PAIR_SHRINKAGE = np.float32(0.1)  # the same in the mean of two neighbours
_SLICE_SHRINKAGE = np.float32(0.3)  # the same in the mean of other slices, in entries
_BASES = (0, 1)  # levels from which the other slices' own differences are taken


@dataclass(frozen=True, eq=False)
class Predictions:
    """Several predictions of every residual, none of which knows the residual itself.

    Attributes
    ----------
    columns : list of arrays
        One prediction each.
    density : array
        Weights of the neighbours: 1 where all are known and trusted.
    """

    columns: list[Array32]
    density: Array32


def neighbour_predictions(residuals: Array32, weights: Array32, modes: NeighbourModes, levels: int) -> Predictions:
    """Predict every residual by those of its neighbours.

    Parameters
    ----------
    residuals : float32 array
        0 where nothing is observed.
    weights : float32 array of the same shape
        From 0 (unknown, or wrong) to 1 (trusted).
    modes : NeighbourModes
    levels : int
        Number of scales; the farthest neighbour is ``2**levels - 1`` entries away.

    Examples
    --------
    >>> row, known = np.array([0, 9, 0], np.float32), np.ones(3, np.float32)
    >>> said = neighbour_predictions(row, known, NeighbourModes((0,), ()), levels=2)
    >>> [round(float(column[1]), 2) for column in said.columns], round(float(said.columns[0][0]), 1)
    ([0.0, 0.0, 0.0], 8.7)
    """
    sums = weights * residuals
    columns: list[Array32] = []
    density = np.zeros_like(weights)
    for level, (total, mass) in enumerate(_windows(sums, weights, modes.ordered, levels)):
        if level == _DENSITY_LEVEL:
            density = mass
        columns.append(total / (mass + _SHRINKAGE))
    columns += [pairs(sums, mode) / (pairs(weights, mode) + _PAIR_SHRINKAGE) for mode in modes.ordered]
    for mode in modes.related:
        columns += other_slices(residuals, weights, [columns[base] for base in _BASES if modes.ordered], mode)
    return Predictions(columns, density)


def window_mean(values: Array32, modes: Sequence[int], levels: int) -> Array32:
    """Weighted sums over a triangular window around every entry, which is in it; the weights sum to 1.

    Entries outside the array count as 0.

    Examples
    --------
    >>> window_mean(np.array([0, 0, 1, 0, 0], np.float32), (0,), 1)
    array([0.  , 0.25, 0.5 , 0.25, 0.  ], dtype=float32)
    """
    for level in range(levels):
        for mode in modes:
            values = hat(values, mode, 2**level)
    return values


def _windows(sums: Array32, weights: Array32, modes: Sequence[int], levels: int) -> list[tuple[Array32, Array32]]:
    """Sums of residuals and of weights over the window of every level, without their centre."""
    if not modes:
        return []
    total, mass, result = sums, weights, []
    for level in range(levels):
        for mode in modes:
            total, mass = hat(total, mode, 2**level), hat(mass, mode, 2**level)
        centre = np.float32(2.0 ** (-(level + 1) * len(modes)))
        rest = np.float32(1 / (1 - centre))
        result.append(((total - centre * sums) * rest, np.maximum(mass - centre * weights, 0) * rest))
    return result


def other_slices(residuals: Array32, weights: Array32, bases: list[Array32], mode: int) -> list[Array32]:
    """What the other slices of a mode say of the same place: their residuals, and how these differ from around them."""
    mass = _sum(weights, mode) - weights + _SLICE_SHRINKAGE
    columns = []
    for differences in [*(residuals - base for base in bases), residuals]:
        differences = weights * differences
        columns.append((_sum(differences, mode) - differences) / mass)
    return columns


def _sum(values: Array32, mode: int) -> Array32:
    """Sum over a mode, which stays; slice by slice, several times as fast as NumPy's sum over a short last mode."""
    first, *others = np.split(values, values.shape[mode], axis=mode)
    total: Array32 = first.copy()
    for other in others:
        total += other
    return total


def hat(values: Array32, mode: int, distance: int) -> Array32:
    """The filter (1, 2, 1) / 4 along a mode, its taps this many entries apart."""
    result = values * np.float32(0.5)
    if distance < values.shape[mode]:
        ahead, behind = shifted(mode, distance)
        quarter = values * np.float32(0.25)
        result[ahead] += quarter[behind]
        result[behind] += quarter[ahead]
    return result


def pairs(values: Array32, mode: int) -> Array32:
    """Mean of the two nearest neighbours along a mode."""
    result = np.zeros_like(values)
    ahead, behind = shifted(mode, 1)
    half = values * np.float32(0.5)
    result[ahead] += half[behind]
    result[behind] += half[ahead]
    return result


def shifted(mode: int, distance: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Indices of all entries but the first ones of a mode, and but the last ones."""
    before = (slice(None),) * mode
    return (*before, slice(distance, None)), (*before, slice(None, -distance))
