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
from ringlet.solvers.engine.block_work import cut
from ringlet.solvers.engine.gram_solve import solve_once
from ringlet.solvers.engine.passes import Pass
from ringlet.solvers.engine.smoothness import laplacian, roughness, smooth_solve

__all__ = ["Scaling", "descend"]

Floats: TypeAlias = NDArray[np.floating[Any]]

_BLOCK_NUMBERS = 1 << 18  # of a core that are worked on at once: temporaries stay small


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
    rows, direction, penalty = streamed.rows, gradient, 0.0
    number = gradient.dtype.type
    blocks = cut(len(rows), max(1, _BLOCK_NUMBERS // rows.shape[1]))
    if scaling is not None:
        gram, shares = scaling.gram, scaling.shares
        share = float(shares.mean())  # of penalties that bind rows together
        level = gram.trace() / gram.size
        if not (isfinite(level) and level > 0.0):
            return None
        ridge, smooth = scaling.ridge * level, scaling.smooth * level
        if ridge:

            def pull(block: slice) -> None:
                gradient[block] -= (number(ridge) * shares[block]) * rows[block]

            for _ in run(pull, blocks):
                pass
        if smooth:
            gradient -= number(smooth * share) * laplacian(rows)
        with profile.part("solve"):
            if smooth:  # h (G + lambda I) + s L h = d
                direction = smooth_solve(gram, ridge, smooth, gradient, run, scaling.room)
            else:
                direction = solve_once(gram, ridge, gradient, run, scaling.room)  # h = d (G + lambda I)^-1
        if ridge:
            penalty += ridge * sum(
                run(lambda block: float(np.vdot(shares[block] * direction[block], direction[block])), blocks)
            )
        if smooth:
            penalty += share * smooth * roughness(direction)
    numerator = sum(run(lambda block: float(np.vdot(gradient[block], direction[block])), blocks))
    denominator = streamed.curvature(direction, loss, width, run) + penalty
    step = numerator / denominator if denominator > 0.0 else 0.0  # eta = <d, h> / || sqrt(W) o P o (h S^T) ||^2
    if step == 0.0 or not isfinite(step):
        return None

    def move(block: slice) -> None:  # A + eta h, where h was
        direction[block] *= number(step)
        direction[block] += rows[block]

    for _ in run(move, blocks):
        pass
    return direction
