"""The local scale of residuals: a product of one robust factor for every slice of every mode."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["LocalScale", "Selection", "fit_local_scale"]

Floats: TypeAlias = NDArray[np.floating[Any]]
Selection: TypeAlias = slice | NDArray[np.intp]

_MEDIAN_TO_STD = 1.4826  # of Gaussian numbers: standard deviation over the median of their sizes
_ROUNDS = 3  # over all modes; the factors settle in two
_PRIOR_ENTRIES = 8.0  # a slice with this number of entries is halfway between its own scale and that of all


@dataclass(frozen=True, eq=False)
class LocalScale:
    """The standard deviation that residuals have where they are.

    Attributes
    ----------
    whole : float
        Robust standard deviation over all modes, in the data's units.
    factors : tuple of arrays, one a mode
        Of every slice, relative to the whole.
    floor : float
        No scale is below it: residuals cannot be smaller than the rounding of the data.
    """

    whole: float
    factors: tuple[NDArray[np.float64], ...]
    floor: float

    def block(self, block: Sequence[Selection]) -> NDArray[np.float64]:
        """Scales of the entries of a block, one selection a mode.

        Examples
        --------
        >>> scale = LocalScale(2.0, (np.array([1.0, 3.0]), np.array([1.0, 0.5])), floor=1.5)
        >>> scale.block((slice(None), slice(None)))
        array([[2. , 1.5],
               [6. , 3. ]])
        """
        parts = [factor[chosen] for factor, chosen in zip(self.factors, block, strict=True)]
        return np.asarray(np.maximum(self.whole * reduce(np.multiply.outer, parts), self.floor))

    def points(self, places: Sequence[NDArray[np.integer[Any]]]) -> NDArray[np.float64]:
        """Scales of single entries, one array of indices a mode."""
        parts = [factor[indices] for factor, indices in zip(self.factors, places, strict=True)]
        return np.asarray(np.maximum(self.whole * reduce(np.multiply, parts), self.floor))


def fit_local_scale(
    residuals: Floats, places: Sequence[NDArray[np.integer[Any]]], shape: Sequence[int], floor: float
) -> LocalScale:
    """Factors of every slice from a sample of residuals, by alternating medians of their sizes.

    Parameters
    ----------
    residuals : array of shape (M,)
        At observed entries.
    places : sequence of int arrays of shape (M,)
        Their indices, one array a mode.
    shape : sequence of int
        Of the tensor. Slices without a residual in the sample get the factor 1.
    floor : float
        Least scale.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows, columns = np.indices((2, 4000)).reshape(2, -1)
    >>> noise = rng.standard_normal(8000) * np.where(rows == 0, 1.0, 4.0)
    >>> scale = fit_local_scale(noise, (rows, columns), (2, 4000), floor=0.0)
    >>> bool(3.5 < scale.factors[0][1] / scale.factors[0][0] < 4.5)
    True
    """
    factors = [np.zeros(length) for length in shape]  # logarithms, in which products are sums and medians stay medians
    if not residuals.size:
        return LocalScale(floor, tuple(np.exp(factor) for factor in factors), floor)
    least = max(floor / _MEDIAN_TO_STD, float(np.finfo(np.float64).tiny))
    logs = np.log(np.maximum(np.abs(residuals).astype(np.float64), least))
    whole = float(np.median(logs))
    for _ in range(_ROUNDS):
        for mode, place in enumerate(places):
            relative, counts = _slice_medians(logs - whole, place, shape[mode])
            step = counts / (counts + _PRIOR_ENTRIES) * (relative + factors[mode]) - factors[mode]
            factors[mode] += step
            logs = logs - step[place]
        whole = float(np.median(logs))
    scale = _MEDIAN_TO_STD * float(np.exp(whole))
    return LocalScale(scale, tuple(np.exp(factor) for factor in factors), floor)


def _slice_medians(
    values: NDArray[np.float64], place: NDArray[np.integer[Any]], length: int
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Median and number of the values in every slice; the median is 0 where there are none."""
    counts = np.bincount(place, minlength=length)
    ordered = values[np.lexsort((values, place))]
    first = np.cumsum(counts) - counts
    low, high = first + np.maximum(counts - 1, 0) // 2, first + counts // 2
    last = ordered.size - 1
    medians = (ordered[np.minimum(low, last)] + ordered[np.minimum(high, last)]) / 2
    return np.where(counts > 0, medians, 0.0), counts
