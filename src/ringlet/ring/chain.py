"""Open chains of cores: merging neighbours into one core. Pure array functions."""

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

__all__ = ["Core", "merge", "merge_cost"]

Core = NDArray[np.floating]


def merge(cores: Sequence[Core]) -> Core:
    """Merge neighbouring cores into one.

    Parameters
    ----------
    cores : sequence of arrays
        Core j has shape ``(r_j, I_j, r_{j+1})``.

    Returns
    -------
    array of shape ``(r_first, prod(I_j), r_last)``
        Slice ``(i_1, .., i_m)`` (the last index fastest) is the matrix product of the cores' lateral slices.
    """
    if _fold_cost(cores) <= _fold_cost([core.swapaxes(0, 2) for core in reversed(cores)]):
        return reduce(_merge_two, cores)
    return reduce(lambda right, left: _merge_two(left, right), reversed(cores))


def merge_cost(cores: Sequence[Core]) -> int:
    """Floating-point operations that `merge` spends on these cores."""
    return min(_fold_cost(cores), _fold_cost([core.swapaxes(0, 2) for core in reversed(cores)]))


def _merge_two(left: Core, right: Core) -> Core:
    a, i, c = left.shape
    _, j, b = right.shape
    return (left.reshape(a * i, c) @ right.reshape(c, j * b)).reshape(a, i * j, b)


def _fold_cost(cores: Sequence[Core]) -> int:
    cost, slices = 0, cores[0].shape[1]
    for core in cores[1:]:
        c, i, b = core.shape
        cost += 2 * cores[0].shape[0] * slices * c * i * b
        slices *= i
    return cost
