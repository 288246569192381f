"""Robust losses as weights: how far an entry is trusted, given its residual and the kernel width.

A loss rho(e) gives an entry the weight rho'(e)/e of its half-quadratic form. A `Kernel` is a loss and its width sigma.
A `WidthRule` decides how wide it is, from the residuals of a pilot: a small random sample.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nan
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.arrays import held_arrays

__all__ = ["DEFAULT_FACTORS", "LOSSES", "NARROWING", "Kernel", "Loss", "PilotStats", "WidthRule"]

Floats: TypeAlias = NDArray[np.floating[Any]]

_EXACT_BELOW = 1e-3  # mean loss in squared widths: below it, digits are lost and a slower function is used
_LARGEST = 1e100  # kernel widths; residuals beyond have weight zero whatever they are
# For residuals symmetric about zero "iqr" and "maxabs" agree: the interquartile range is twice the larger quartile.
DEFAULT_FACTORS = {"iqr": 2.5, "maxabs": 5.0, "trusted": 2.0}
NARROWING = 0.85  # an adaptive width shrinks by this factor a sweep at most: see `WidthRule`
_ROUNDS = 8  # in which the trusted quartiles are found
_LEAST_WIDTH = {4: 1e-6, 8: 1e-50}  # of a fixed kernel, in data ranges, by bytes of the working precision
_LARGEST_WIDTH = {4: 1e12, 8: 1e100}  # the same: a wider kernel is least squares


@dataclass(frozen=True)
class Loss:
    """A loss rho(e) and the weight rho'(e)/e that its half-quadratic form gives to an entry.

    Attributes
    ----------
    name : str
    weight : callable (residual, width, out=None, xp=numpy) -> array
        Weights in [0, 1]. NumPy writes them into `out` (same shape and dtype as `residual`, which it may be); with
        another library `xp` of the residuals they are a new array.
    value : callable (residual, width) -> array
        rho(e), which is about e^2 / 2 for residuals much smaller than the width.
    """

    name: str
    weight: Callable[..., Any]
    value: Callable[[Floats, float], Floats]


def _correntropy_weight(residual: Any, width: float, out: Any = None, xp: Any = np) -> Any:
    room = {} if out is None else {"out": out}
    squares = xp.multiply(residual, residual, **room)
    squares *= -0.5 / width**2
    return xp.exp(squares, **room)  # w = exp(-e^2 / (2 sigma^2))


def _correntropy_value(residual: Floats, width: float) -> Floats:
    exponent = -0.5 * (residual / width) ** 2
    value = 1.0 - np.exp(exponent)
    if np.mean(value) < _EXACT_BELOW:
        value = -np.expm1(exponent)
    return np.asarray(width**2 * value)


def _cauchy_weight(residual: Any, width: float, out: Any = None, xp: Any = np) -> Any:
    room = {} if out is None else {"out": out}
    squares = xp.multiply(residual, residual, **room)
    squares *= 1.0 / width**2
    squares += 1.0
    return xp.reciprocal(squares, **room)  # w = 1 / (1 + e^2 / sigma^2)


def _cauchy_value(residual: Floats, width: float) -> Floats:
    return np.asarray(0.5 * width**2 * np.log1p((residual / width) ** 2))


def _huber_weight(residual: Any, width: float, out: Any = None, xp: Any = np) -> Any:
    room = {} if out is None else {"out": out}
    sizes = xp.clip(xp.abs(residual, **room), width, None, **room)
    if out is None:
        return width / sizes
    return np.divide(width, sizes, out=out)  # w = min(1, sigma / |e|)


def _huber_value(residual: Floats, width: float) -> Floats:
    size = np.abs(residual)
    return np.where(size <= width, 0.5 * residual**2, width * (size - 0.5 * width))


def _l2_weight(residual: Any, _width: float, out: Any = None, xp: Any = np) -> Any:
    if out is None:
        return xp.ones_like(residual)
    out.fill(1.0)
    return out


def _l2_value(residual: Floats, _width: float) -> Floats:
    return 0.5 * residual**2


LOSSES = {
    loss.name: loss
    for loss in (
        Loss("correntropy", _correntropy_weight, _correntropy_value),
        Loss("cauchy", _cauchy_weight, _cauchy_value),
        Loss("huber", _huber_weight, _huber_value),
        Loss("l2", _l2_weight, _l2_value),
    )
}


@held_arrays("width")
@dataclass(frozen=True)
class Kernel:
    """How far a residual may go before its entry loses weight.

    Attributes
    ----------
    width : float
        sigma, in the units of the residuals; infinite: every entry has weight one.
    loss : Loss

    Examples
    --------
    >>> Kernel(2.0).weights(np.array([0.0, 20.0])).round(3)
    array([1., 0.])
    """

    width: float = inf
    loss: Loss = LOSSES["correntropy"]

    def weights(self, residuals: Floats) -> Floats:
        """1: trusted, 0: judged an outlier. Safe for residuals of any size; `loss.weight` is faster."""
        if self.width == inf:
            return np.ones_like(residuals)
        with np.errstate(over="ignore"):  # absurd residuals are cut off, so that their squares stay finite
            relative = np.asarray(residuals / self.width)
            np.clip(relative, -_LARGEST, _LARGEST, out=relative)
        return np.asarray(self.loss.weight(relative, 1.0, relative))


@dataclass(frozen=True)
class PilotStats:
    """What the residuals of a pilot look like under a kernel.

    Attributes
    ----------
    kernel : Kernel
        In units of the data's range.
    loss : float
        Mean loss; NaN of a pilot without observed entries.
    mean_weight : float
        Mean weight: about the share of the entries that is trusted.
    settling : bool
        The width is still on its way to where its rule wants it.
    """

    kernel: Kernel
    loss: float = nan
    mean_weight: float = 1.0
    settling: bool = False


@dataclass(frozen=True)
class WidthRule:
    """How a solver chooses the width of its kernel.

    Any width begins wide and narrows slowly, so that entries which an unfinished model does not reach yet are not taken
    for outliers. An adaptive width then follows the residuals; a fixed one is reached and stays.

    Attributes
    ----------
    rule : {"iqr", "maxabs", "trusted"} or None
        ``factor * (q75 - q25)`` of the residuals, ``factor * max(|q25|, |q75|)``, or as the first with quartiles in
        which every residual counts by its weight under the very kernel of this width: also where 40 % of them are
        wrong. None: the width is fixed.
    factor : float
        Of the rule.
    floor : float
        Least width of the rule, in data ranges.
    fixed : float
        The width where no rule is given, in the data's units; infinite: least squares.
    loss : Loss
        Of the kernel.
    """

    rule: str | None
    factor: float = 1.0
    floor: float = 0.0
    fixed: float = inf
    loss: Loss = LOSSES["correntropy"]

    def narrowing(self, data_range: float, sweeps: int) -> float:
        """The factor by which the width shrinks a sweep at most; a fixed one is reached in half of the sweeps."""
        if self.rule is not None or not 0.0 < self.fixed < data_range:
            return NARROWING
        return min(NARROWING, float((self.fixed / data_range) ** (2.0 / sweeps)))

    def pilot(self, residuals: Floats, data_range: float, narrowest: float, factor: float = 1.0) -> PilotStats:
        """Sigma for the residuals of a pilot, and what they look like under a kernel of this width.

        Parameters
        ----------
        residuals : array
            Signed residuals of observed entries, any shape, at least one; in units of `data_range`, as sigma.
        data_range : float
        narrowest : float
            The width must not go below it yet.
        factor : float
            Of an adaptive width.

        Examples
        --------
        >>> rule = WidthRule("iqr", factor=2.0, floor=0.1)
        >>> round(rule.pilot(np.linspace(-1, 1, 1001), data_range=1.0, narrowest=0.0).kernel.width, 3)
        2.002
        """
        if self.rule is None:
            width, settling = self.fixed_width(residuals.dtype, data_range, narrowest)
        else:
            if self.rule == "trusted":
                wanted = _trusted_width(residuals, self.factor, self.floor)
            else:
                q25, q75 = _quantile(residuals, 0.25), _quantile(residuals, 0.75)
                spread = q75 - q25 if self.rule == "iqr" else max(abs(q25), abs(q75))
                wanted = max(self.factor * spread, self.floor)
            wanted *= factor
            width, settling = max(wanted, narrowest), wanted <= narrowest < inf
        loss, kernel = self.loss, Kernel(width, self.loss)
        if width == inf:
            return PilotStats(kernel, float(np.mean(0.5 * residuals.astype(np.float64) ** 2)), settling=settling)
        mean_weight = float(np.mean(loss.weight(residuals, width, np.empty_like(residuals))))
        return PilotStats(kernel, float(np.mean(loss.value(residuals, width))), mean_weight, settling)

    def fixed_width(self, dtype: np.dtype[Any], data_range: float, narrowest: float) -> tuple[float, bool]:
        """Sigma where no rule is given, in units of `data_range`, and whether it is still on its way."""
        fixed = max(self.fixed / data_range, _LEAST_WIDTH[dtype.itemsize])
        if fixed >= _LARGEST_WIDTH[dtype.itemsize]:
            return inf, False
        return max(fixed, narrowest), fixed < narrowest


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
