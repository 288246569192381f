"""The entry-wise work of a pass on arrays of any library: residuals and weights of a block of entries.

The counterpart of `ringlet.solvers.engine.block_work`, written for the array API standard. The
formulas of the weights are those of `ringlet.robust.kernel`.
"""

from collections.abc import Callable
from math import isinf
from typing import Any

import numpy as np

from ringlet.arrays import Place
from ringlet.robust import Kernel
from ringlet.solvers.engine.block_work import LARGEST_ENTRY

__all__ = ["scaled_entries", "weights_of"]


def scaled_entries(place: Place, values: Any, observed: Any, data_range: float, dtype: np.dtype[Any]) -> Any:
    """Entries in units of the data's range, in the working precision; zero where nothing is observed."""
    xp = place.xp
    scaled = xp.astype(values, place.dtype(dtype))
    scaled *= float(dtype.type(1.0 / data_range))
    if xp.isdtype(values.dtype, "real floating"):
        largest = LARGEST_ENTRY[dtype.itemsize]
        scaled = xp.clip(scaled, -largest, largest)
        if observed is not None:  # missing entries may be NaN, which no weight removes
            scaled = xp.where(observed, scaled, xp.zeros_like(scaled))
    return scaled


def weights_of(place: Place, residuals: Any, observed: Any, kernel: Kernel) -> Any:
    """Weights W o P; None: all are one."""
    xp = place.xp
    if isinf(kernel.width):
        return None if observed is None else xp.astype(observed, residuals.dtype)
    weights = _WEIGHTS[kernel.loss.name](xp, residuals, kernel.width)
    return weights if observed is None else weights * xp.astype(observed, residuals.dtype)


def _correntropy(xp: Any, residuals: Any, width: float) -> Any:
    squares = residuals * residuals
    squares *= -0.5 / width**2
    return xp.exp(squares)  # w = exp(-e^2 / (2 sigma^2))


def _cauchy(xp: Any, residuals: Any, width: float) -> Any:  # noqa: ARG001 - the same for all libraries
    squares = residuals * residuals
    squares *= 1.0 / width**2
    squares += 1.0
    return 1.0 / squares  # w = 1 / (1 + e^2 / sigma^2)


def _huber(xp: Any, residuals: Any, width: float) -> Any:
    return width / xp.clip(xp.abs(residuals), width, None)  # w = min(1, sigma / |e|)


def _l2(xp: Any, residuals: Any, width: float) -> Any:  # noqa: ARG001 - no width matters
    return xp.ones_like(residuals)


_WEIGHTS: dict[str, Callable[[Any, Any, float], Any]] = {
    "correntropy": _correntropy,
    "cauchy": _cauchy,
    "huber": _huber,
    "l2": _l2,
}
