"""How far a model may be from entries that it has not seen, judged by its residuals at those that it has.

Residuals at fitted entries are too small, by a factor sqrt(1 - h), and errors at others are larger, by sqrt(1 + h),
where the leverage h is about the number of unknowns per known entry. Slices with few known entries have more of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.robust.local_scale import LocalScale, Selection, fit_local_scale

__all__ = ["ErrorModel", "Leverage", "fit_error_model"]

Array64: TypeAlias = NDArray[np.float64]

_MOST_LEVERAGE = 0.5  # penalties on the cores keep it from growing further
_NOMINAL = 0.9  # share of the errors within 1.645 standard errors, for which these are calibrated
_NORMAL_QUANTILE = 1.645  # of that share
_KERNEL_WIDTH = 5.0  # deviations: how the validation error leaves gross errors out
_NO_WEIGHT = 50.0 * _KERNEL_WIDTH  # deviations: the kernel is zero in floats from 39 widths on


@dataclass(frozen=True, eq=False)
class Leverage:
    """Unknowns per known entry, as a sum of one term for every slice of every mode.

    Attributes
    ----------
    terms : tuple of arrays, one a mode
        Unknowns of a slice over its known entries.
    gauge : float
        Unknowns that change nothing, over all known entries.
    """

    terms: tuple[Array64, ...]
    gauge: float

    def block(self, block: Sequence[Selection]) -> Array64:
        """Leverages of the entries of a block."""
        parts = [term[chosen] for term, chosen in zip(self.terms, block, strict=True)]
        return self._limited(reduce(np.add.outer, parts))

    def points(self, places: Sequence[NDArray[np.integer[Any]]]) -> Array64:
        """Leverages of single entries, one array of indices a mode."""
        return self._limited(reduce(np.add, [term[place] for term, place in zip(self.terms, places, strict=True)]))

    def _limited(self, sums: Array64) -> Array64:
        return np.clip(sums - self.gauge, 0.0, _MOST_LEVERAGE)


@dataclass(frozen=True, eq=False)
class ErrorModel:
    """Standard errors of a model at entries that were not used.

    Attributes
    ----------
    scale : LocalScale
        Of residuals that are corrected for their leverage.
    leverage : Leverage
    factor : float
        Calibrates the standard errors.
    """

    scale: LocalScale
    leverage: Leverage
    factor: float

    def block(self, block: Sequence[Selection]) -> Array64:
        """Standard errors of the entries of a block."""
        return np.asarray(self.factor * self.scale.block(block) * np.sqrt(1.0 + self.leverage.block(block)))


def fit_error_model(
    residuals: Array64,
    places: Sequence[NDArray[np.integer[Any]]],
    leverage: Leverage,
    floor: float,
    validation: float,
    varied: NDArray[np.bool_],
) -> ErrorModel:
    """Standard errors from residuals at fitted entries, and from the validation error where there is one.

    Parameters
    ----------
    residuals : array of shape (M,)
        A sample.
    places : sequence of int arrays of shape (M,)
        Their indices, one array a mode.
    leverage : Leverage
    floor : float
        Least scale.
    validation : float
        Error at held-out entries, to which the level is fitted; NaN: unknown.
    varied : bool array of shape (M,)
        Which entries are no background: a value that is very common, and fitted exactly.
    """
    own = leverage.points(places)
    corrected = residuals / np.sqrt(1.0 - own)
    scale = fit_local_scale(corrected, places, [len(term) for term in leverage.terms], floor)
    if not residuals.size:
        return ErrorModel(scale, leverage, 1.0)
    spread = scale.points(places)
    relative = np.divide(np.abs(corrected), spread, out=np.zeros_like(corrected), where=spread > 0)
    factor = float(np.quantile(relative, _NOMINAL)) / _NORMAL_QUANTILE
    expected = _trusted_rms(corrected * np.sqrt(1.0 + own), varied)
    if isfinite(validation) and expected > 0:
        factor *= validation / expected
    return ErrorModel(scale, leverage, factor)


def _trusted_rms(residuals: Array64, varied: NDArray[np.bool_]) -> float:
    """Root mean square under a wide kernel, as the validation error is measured."""
    deviation = 1.4826 * float(np.median(np.abs(residuals[varied]))) if varied.any() else 0.0
    if deviation <= 0.0:
        return 0.0
    with np.errstate(over="ignore"):  # a quotient beyond floats is cut off too
        squares = np.minimum(np.abs(residuals / deviation), _NO_WEIGHT) ** 2  # of the residuals could overflow
    weights = np.exp(-0.5 / _KERNEL_WIDTH**2 * squares)
    return deviation * float(np.sqrt(weights @ squares / weights.sum()))
