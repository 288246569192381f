"""One step on one core: along the scaled gradient, as far as an exact line search says."""

from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.execution import Profile
from ringlet.ring.arrays import Array64, Run
from ringlet.ring.kronecker import KroneckerSum
from ringlet.robust import Loss
from ringlet.solvers.direction import solve_once
from ringlet.solvers.passes import Pass
from ringlet.solvers.smoothness import laplacian, roughness, smooth_solve

__all__ = ["Scaling", "descend"]

Floats: TypeAlias = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Scaling:
    """By what a gradient is scaled.

    Attributes
    ----------
    gram : KroneckerSum
        G.
    ridge, smooth : float
        Penalties, relative to the mean diagonal of G.
    shares : array, shape (rows, 1)
        For every row, the part of G that its sampled, observed, trusted entries make up; the penalties count in
        proportion.
    room : array of float64, shape (n, n)
        Where to factor G.
    """

    gram: KroneckerSum
    ridge: float
    smooth: float
    shares: Floats
    room: Array64


def descend(
    streamed: Pass, loss: Loss, width: float, scaling: Scaling | None, run: Run, profile: Profile
) -> Floats | None:
    """The rows of a core after one scaled steepest descent step with exact line search; None if nowhere to go.

    Parameters
    ----------
    streamed : Pass
        Over what the update looks at.
    loss : Loss
    width : float
        Of the kernel.
    scaling : Scaling or None
        None: plain steepest descent.
    run : callable
        Used like `map` for independent pieces.
    profile : Profile
    """
    gradient = streamed.gradient(loss, width, run)  # d = (W o P o (X - A S^T)) S
    direction, penalty = gradient, 0.0
    number = gradient.dtype.type
    if scaling is not None:
        gram, shares = scaling.gram, scaling.shares
        share = float(shares.mean())  # of penalties that bind rows together
        level = gram.trace() / gram.size
        if not (isfinite(level) and level > 0.0):
            return None
        ridge, smooth = scaling.ridge * level, scaling.smooth * level
        if ridge:
            gradient -= (number(ridge) * shares) * streamed.rows
        if smooth:
            gradient -= number(smooth * share) * laplacian(streamed.rows)
        with profile.part("solve"):
            if smooth:  # h (G + lambda I) + s L h = d
                direction = smooth_solve(gram, ridge, smooth, gradient, run, scaling.room)
            else:
                direction = solve_once(gram, ridge, gradient, run, scaling.room)  # h = d (G + lambda I)^-1
        penalty = ridge * float(np.vdot(shares * direction, direction)) + share * smooth * roughness(direction)
    numerator = float(np.vdot(gradient, direction))
    denominator = streamed.curvature(direction, loss, width, run) + penalty
    step = numerator / denominator if denominator > 0.0 else 0.0  # eta = <d, h> / || sqrt(W) o P o (h S^T) ||^2
    if step == 0.0 or not isfinite(step):
        return None
    moved: Floats = streamed.rows + number(step) * direction  # A + eta h
    return moved
