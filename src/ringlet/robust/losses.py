"""Robust losses as weights: the weight of an entry, given its residual and the kernel width."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["LOSSES", "Loss"]

Floats: TypeAlias = NDArray[np.floating[Any]]

_EXACT_BELOW = 1e-3  # mean loss in squared widths


@dataclass(frozen=True)
class Loss:
    """A loss rho(e) and the weight rho'(e)/e that its half-quadratic form gives to an entry.

    Attributes
    ----------
    name : str
    weight : callable (residual, width, out) -> out
        Weights in [0, 1], written into `out` (same shape and dtype as `residual`, which it may be).
    value : callable (residual, width) -> array
        rho(e), which is about e^2 / 2 for residuals much smaller than the width.
    """

    name: str
    weight: Callable[[Floats, float, Floats], Floats]
    value: Callable[[Floats, float], Floats]


def _correntropy_weight(residual: Floats, width: float, out: Floats) -> Floats:
    np.multiply(residual, residual, out=out)
    np.multiply(out, -0.5 / width**2, out=out)
    np.exp(out, out=out)  # w = exp(-e^2 / (2 sigma^2))
    return out


def _correntropy_value(residual: Floats, width: float) -> Floats:
    exponent = -0.5 * (residual / width) ** 2
    value = 1.0 - np.exp(exponent)
    if np.mean(value) < _EXACT_BELOW:  # cancellation: use the slower function without it
        value = -np.expm1(exponent)
    return np.asarray(width**2 * value)


def _cauchy_weight(residual: Floats, width: float, out: Floats) -> Floats:
    np.multiply(residual, residual, out=out)
    out *= 1.0 / width**2
    out += 1.0
    np.reciprocal(out, out=out)  # w = 1 / (1 + e^2 / sigma^2)
    return out


def _cauchy_value(residual: Floats, width: float) -> Floats:
    return np.asarray(0.5 * width**2 * np.log1p((residual / width) ** 2))


def _huber_weight(residual: Floats, width: float, out: Floats) -> Floats:
    np.abs(residual, out=out)
    np.maximum(out, width, out=out)
    return np.divide(width, out, out=out)  # w = min(1, sigma / |e|)


def _huber_value(residual: Floats, width: float) -> Floats:
    size = np.abs(residual)
    return np.where(size <= width, 0.5 * residual**2, width * (size - 0.5 * width))


def _l2_weight(_residual: Floats, _width: float, out: Floats) -> Floats:
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
