"""What people use for still cameras: the median over time, and robust PCA. Time is the last mode."""

import numpy as np
from numpy.typing import NDArray

from ringlet.bench.rivals.gaps import Array, Mask, mean_filled

__all__ = ["median_over_time", "robust_pca"]

_ROUNDS = 100
_CLOSE = 1e-4  # relative residual at which robust PCA stops
_GROWTH = 1.3  # of the penalty from round to round


def median_over_time(values: Array, observed: Mask) -> Array:
    """The median of a pixel's observed entries, at all times; the median of all where it has none."""
    gaps = np.where(observed, values, np.nan)
    whole = float(np.median(values[observed]))
    never = ~observed.any(axis=-1, keepdims=True)
    median = np.nanmedian(np.where(never, whole, gaps), axis=-1, keepdims=True)
    return np.broadcast_to(median, values.shape).astype(values.dtype)


def robust_pca(values: Array, observed: Mask) -> Array:
    """Low rank and sparse part of pixels x times by principal component pursuit; the answer is the low-rank part.

    Missing entries are free in the sparse part, at no cost. Alternating directions with a growing penalty.

    References
    ----------
    Candès, Li, Ma & Wright, "Robust principal component analysis?", Journal of the ACM 58(3), 2011.
    """
    data = mean_filled(values, observed).reshape(-1, values.shape[-1]).astype(np.float64)
    known = observed.reshape(data.shape)
    centre = float(np.median(values[observed]))
    data -= centre
    cost = 1 / np.sqrt(max(data.shape))  # of a sparse entry
    norm = float(np.linalg.norm(data))
    if norm == 0:
        return np.full_like(values, centre)
    penalty = 1.25 / float(np.linalg.norm(data, 2))
    sparse, dual = np.zeros_like(data), np.zeros_like(data)
    low = data
    for _ in range(_ROUNDS):
        low = _shrunk_spectrum(data - sparse + dual / penalty, 1 / penalty)
        rest = data - low + dual / penalty
        sparse = np.where(known, np.sign(rest) * np.maximum(np.abs(rest) - cost / penalty, 0), rest)
        gap = data - low - sparse
        dual += penalty * gap
        if float(np.linalg.norm(gap)) < _CLOSE * norm:
            break
        penalty *= _GROWTH
    return (low + centre).reshape(values.shape).astype(values.dtype)


def _shrunk_spectrum(matrix: NDArray[np.float64], amount: float) -> NDArray[np.float64]:
    """The matrix with its singular values made smaller by an amount, by the eigenvectors of its small Gram matrix."""
    squares, right = np.linalg.eigh(matrix.T @ matrix)
    singular = np.sqrt(np.maximum(squares, 0))
    factors = np.maximum(singular - amount, 0) / np.maximum(singular, 1e-300)
    kept = factors > 0
    shrunk: NDArray[np.float64] = (matrix @ (right[:, kept] * factors[kept])) @ right[:, kept].T
    return shrunk
