"""The best rank, ridge and kernel width on a grid, chosen with the truth, which no user has."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ringlet.ring.ranks import bond_limits

__all__ = ["climb", "grid_of", "ring_numbers"]

_BONDS = (2, 3, 5, 8, 12, 20, 30, 45, 70)
_RIDGES = (0.0, 0.02, 0.1, 0.3, 1.0)
_WIDTHS: tuple[dict[str, Any], ...] = (
    {"sigma_factor": 1.5, "sigma_min": 0.07},
    {"sigma_factor": 2.5, "sigma_min": 0.15},  # the default
    {"sigma_factor": 4.0, "sigma_min": 0.3},
    {"loss": "l2"},  # infinitely wide
)
_SMALLER = 5  # times that a ring on the grid is smaller than the data, number for number

Axes = tuple[Sequence[Any], ...]
Point = tuple[int, ...]


def grid_of(shape: tuple[int, ...]) -> Axes:
    """Ranks, ridges and widths: bonds of 2 to 70, no wider than a mode is long, in rings a fifth of the data's size."""
    ranks = [bond_limits(shape, [min(bond, length) for length in shape]) for bond in _BONDS]
    small = [rank for rank in ranks if _SMALLER * ring_numbers(shape, rank) <= prod(shape)]
    return tuple(dict.fromkeys(small or ranks[:1])), _RIDGES, _WIDTHS


def ring_numbers(shape: Sequence[int], rank: Sequence[int]) -> int:
    """Numbers in the cores.

    Examples
    --------
    >>> ring_numbers((10, 20, 3), (9, 5, 3))
    831
    """
    return sum(rank[k] * shape[k] * rank[(k + 1) % len(shape)] for k in range(len(shape)))


def climb(axes: Axes, height: Callable[[Point], float]) -> tuple[Point, float]:
    """The best point found by searches along single axes from the middle of the grid; no point is tried twice.

    Examples
    --------
    >>> climb((range(9), range(5)), lambda point: -(point[0] - 7) ** 2 - (point[1] - 1) ** 2)
    ((7, 1), 0)
    """
    tried: dict[Point, float] = {}

    def at(point: Point) -> float:
        if point not in tried:
            tried[point] = height(point)
        return tried[point]

    best = tuple(len(axis) // 2 for axis in axes)
    start = None
    while best != start:
        start = best
        for axis, values in enumerate(axes):
            line = [(*best[:axis], place, *best[axis + 1 :]) for place in range(len(values))]
            best = max([best, *line], key=at)
    return best, at(best)
