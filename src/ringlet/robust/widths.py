"""Where the kernel width sigma is decided: rules that take it from the residuals of a pilot, a small random sample."""

from dataclasses import dataclass
from math import inf, nan
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.robust.kernel import Kernel

__all__ = ["DEFAULT_FACTORS", "NARROWING", "PilotStats", "WidthRule", "kernel_width"]

Floats: TypeAlias = NDArray[np.floating[Any]]

# For residuals symmetric about zero "iqr" and "maxabs" agree: the interquartile range is twice the larger quartile.
DEFAULT_FACTORS = {"iqr": 2.5, "maxabs": 5.0, "trusted": 2.0}
NARROWING = 0.85  # an adaptive width shrinks by this factor a sweep at most: see `WidthRule`
_ROUNDS = 8  # in which the trusted quartiles are found
_LEAST_WIDTH = {4: 1e-6, 8: 1e-50}  # of a fixed kernel, in data ranges, by bytes of the working precision
_LARGEST_WIDTH = {4: 1e12, 8: 1e100}  # the same: a wider kernel is least squares


@dataclass(frozen=True)
class WidthRule:
    """How a solver chooses the width of its kernel.

    An adaptive width begins at the spread of the data and narrows slowly, so that entries which an unfinished model
    does not reach yet are not taken for outliers.

    Attributes
    ----------
    rule : {"iqr", "maxabs", "trusted"} or None
        As in `kernel_width`; None: the width is fixed.
    factor : float
        Of the rule.
    floor : float
        Least width of the rule, in data ranges.
    fixed : float
        The width where no rule is given, in the data's units; infinite: least squares.
    """

    rule: str | None
    factor: float = 1.0
    floor: float = 0.0
    fixed: float = inf

    def width(self, residuals: Floats, data_range: float) -> float:
        """Sigma for these residuals, at least one; residuals and sigma are in units of `data_range`."""
        if self.rule is not None:
            return kernel_width(residuals, self.rule, self.factor, self.floor)
        itemsize = residuals.dtype.itemsize
        width = max(self.fixed / data_range, _LEAST_WIDTH[itemsize])
        return width if width < _LARGEST_WIDTH[itemsize] else inf


@dataclass(frozen=True)
class PilotStats:
    """What the residuals of a pilot look like under a kernel.

    Attributes
    ----------
    kernel : Kernel
        In units of the data's range.
    loss : float
        Mean loss; NaN of a pilot without observed entries, which says nothing.
    mean_weight : float
        Mean weight: about the share of the entries that is trusted.
    """

    kernel: Kernel
    loss: float = nan
    mean_weight: float = 1.0

    @classmethod
    def of(cls, residuals: Floats, kernel: Kernel) -> "PilotStats":
        """The mean loss and the mean weight of residuals, at least one, under this kernel."""
        width, loss = kernel.width, kernel.loss
        if width == inf:
            return cls(kernel, float(np.mean(0.5 * residuals.astype(np.float64) ** 2)))
        weights = loss.weight(residuals, width, np.empty_like(residuals))
        return cls(kernel, float(np.mean(loss.value(residuals, width))), float(np.mean(weights)))


def kernel_width(residuals: Floats, rule: str, factor: float, floor: float) -> float:
    """Kernel width sigma from the quartiles of signed residuals of observed entries.

    Parameters
    ----------
    residuals : array
        Signed residuals, any shape, at least one.
    rule : {"iqr", "maxabs", "trusted"}
        ``factor * (q75 - q25)``, ``factor * max(|q25|, |q75|)``, or as the first with quartiles in which every residual
        counts by its weight under the very kernel of this width: also where 40 % of them are wrong.
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
    q25, q75 = _quantile(residuals, 0.25), _quantile(residuals, 0.75)
    spread = q75 - q25 if rule == "iqr" else max(abs(q25), abs(q75))
    return max(factor * float(spread), floor)


def _trusted_width(residuals: Floats, factor: float, floor: float) -> float:
    """The width of a correntropy kernel that is `factor` ranges between the quartiles of what it trusts."""
    ordered = np.sort(residuals, axis=None).astype(np.float64)
    weights = np.ones_like(ordered)
    for _ in range(_ROUNDS):
        below = np.cumsum(weights) - weights / 2
        q25, q75 = np.interp(np.array([0.25, 0.75]) * weights.sum(), below, ordered)
        width = max(factor * float(q75 - q25), floor)
        weights = np.exp(-0.5 * (ordered / width) ** 2)
        if not weights.any():  # all lie far from zero, side by side
            break
    return width


def _quantile(values: Floats, share: float) -> float:
    """A quantile by the "hazen" rule. One partial sort: NumPy's vectorised one for single places beats sorting all."""
    place = min(max(share * values.size - 0.5, 0.0), values.size - 1.0)
    low = int(place)
    parted = np.partition(values, low, axis=None)
    below = float(parted[low])
    return below + (place - low) * (float(parted[low + 1 :].min()) - below) if place > low else below
