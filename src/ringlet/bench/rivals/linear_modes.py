"""Linear interpolation along every mode of a tensor, the modes combined by how well each of them predicts."""

import numpy as np
from numpy.typing import NDArray

from ringlet.bench.rivals.gaps import Array, Mask, mean_filled

__all__ = ["linear_modes"]


def linear_modes(values: Array, observed: Mask, *, mode: int | None = None) -> Array:
    """Interpolate every gap along each mode, and average the answers by their expected errors.

    Steps along a mode are taken for a random walk. Its variance is that of neighbouring observed entries, which is
    large along modes without order, so these count little. Observed entries stay as they are. Gaps that no mode reaches
    get the mean. Where a `mode` is given, the others count only in gaps that it does not reach.

    Examples
    --------
    >>> x = np.add.outer(np.arange(5.0), 10 * np.arange(4.0))
    >>> seen = np.ones(x.shape, bool)
    >>> seen[2, 1] = False
    >>> float(linear_modes(np.where(seen, x, 0.0), seen)[2, 1])
    12.0
    """
    filled, gaps = mean_filled(values, observed), ~observed
    for modes in [range(values.ndim)] if mode is None else [range(values.ndim), (mode,)]:
        total, weight = np.zeros(values.shape), np.zeros(values.shape)
        for along in modes:
            estimate, variance = _along(np.moveaxis(values, along, -1), np.moveaxis(observed, along, -1))
            confidence = np.moveaxis(1 / variance, -1, along)  # 0 where the mode has no answer
            total += confidence * np.moveaxis(estimate, -1, along)
            weight += confidence
        np.divide(total, weight, out=filled, where=gaps & (weight > 0), casting="same_kind")
    return filled


def _along(values: Array, observed: Mask) -> tuple[Array, NDArray[np.float64]]:
    """Interpolate along the last mode; the variances of the answers, infinite where there is none."""
    length = values.shape[-1]
    place = np.broadcast_to(np.arange(length), values.shape)
    before = np.maximum.accumulate(np.where(observed, place, -1), axis=-1)
    after = np.minimum.accumulate(np.where(observed, place, length)[..., ::-1], axis=-1)[..., ::-1]
    left, right = (np.take_along_axis(values, np.clip(at, 0, length - 1), -1) for at in (before, after))
    has_left, has_right = before >= 0, after < length
    to_left, to_right = (place - before).astype(float), (after - place).astype(float)
    share = np.where(has_right, np.where(has_left, to_right / np.maximum(to_left + to_right, 1), 0.0), 1.0)  # of left
    estimate = np.where(share > 0, share * left, 0) + np.where(share < 1, (1 - share) * right, 0)
    # A random walk that is known at two places has share * to_left steps of variance in between.
    steps = np.where(has_left, np.where(has_right, share * to_left, to_left), np.where(has_right, to_right, np.inf))
    return estimate, np.maximum(steps, 1e-9) * _step(values, observed)


def _step(values: Array, observed: Mask) -> float:
    """Variance of a step along the last mode: the median over neighbouring pairs, which wrong entries do not move."""
    pairs = observed[..., 1:] & observed[..., :-1]
    if not pairs.any():
        return 1.0
    squares = np.square(np.diff(values.astype(np.float64), axis=-1)[pairs])
    scale = float(np.var(values[observed])) or 1.0
    return max(float(np.median(squares)), 1e-6 * scale)
