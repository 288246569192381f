"""The smoothed lp norm: as a loss with weights, and its proximal operator."""

import numpy as np

from ringlet.ring.arrays import Floats
from ringlet.robust import Loss

__all__ = ["lp_loss", "lp_prox"]


_NEWTON_STEPS = 40  # at most; 6 for the defaults, 26 for the smallest eps and mu that make sense


def lp_loss(p: float) -> Loss:
    """The smoothed lp norm as a loss, of width eps: ``(e^2 + eps^2)^(p/2)`` up to a factor and a constant.

    Examples
    --------
    >>> loss = lp_loss(1.0)
    >>> residuals = np.array([0.0, 3.0])
    >>> loss.weight(residuals, 4.0, np.empty(2)), loss.value(residuals, 4.0)
    (array([1. , 0.8]), array([0., 4.]))
    """

    def weight(residual: Floats, width: float, out: Floats) -> Floats:
        np.multiply(residual, residual, out=out)
        out *= 1.0 / width**2
        out += 1.0
        return np.power(out, p / 2 - 1, out=out)  # w = (1 + e^2 / eps^2)^(p/2 - 1)

    def value(residual: Floats, width: float) -> Floats:
        return np.asarray(width**2 / p * ((1.0 + (residual / width) ** 2) ** (p / 2) - 1.0))

    return Loss("lp", weight, value)


def lp_prox(values: Floats, p: float, epsilon: float | Floats, penalty: float) -> Floats:
    """The minimiser of ``(e^2 + eps^2)^(p/2) + (mu/2) (e - z)^2`` for every entry z.

    It is the root of ``e + (p/mu) e (e^2 + eps^2)^(p/2 - 1) = z``. As long as the problem is convex (p = 1, or eps at
    least ``sqrt(1 - p) |z|``) the left side is concave and its second term grows with e >= 0: so Newton's method climbs
    to the root from either of two bounds below it, the largest slope for all e up to the root, or the term at z.

    Examples
    --------
    >>> lp_prox(np.array([-2.0, 0.0, 2.0]), 1.0, 1e-6, 1.0).round(6)
    array([-1.,  0.,  1.])
    """
    goal = np.abs(values)
    pull = p / penalty * goal * (goal * goal + epsilon * epsilon) ** (p / 2 - 1)
    root = np.maximum(goal / (1.0 + p / penalty * epsilon ** (p - 2)), goal - pull)
    enough = 4 * np.finfo(goal.dtype).eps * goal
    for _ in range(_NEWTON_STEPS):
        square = root * root + epsilon * epsilon
        slope = p / penalty * square ** (p / 2 - 1)
        step = (goal - root - slope * root) / (1.0 + slope * (1.0 + (p - 2) * root * root / square))
        root += step
        if np.all(np.abs(step) <= enough):
            break
    return np.asarray(np.copysign(root, values))
