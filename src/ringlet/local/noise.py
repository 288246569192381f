"""How much of what neighbours cannot predict is noise of the data, which should not be kept.

There are two upper bounds, and the smaller one counts. The first is a low quantile of the local mean square of
prediction errors: where the data are calmest, hardly more than noise remains. The second is the difference of two
residuals as their distance goes to zero, extrapolated from distances 1 and 2 in the calmer half of the entries. The
result is up to a quarter too small, so less noise is removed than possible, and no detail.

In pure noise the calmer half is calm by chance, and more so with fewer known entries around. If these are few, as
along a single mode, the bound is corrected for this. If it is then not below the errors of nearly all entries, all
of these may be noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ringlet.local.neighbours import Array32, shifted, window_concentration, window_mean

__all__ = ["Noise", "noise_variance"]

_LEVELS = 3  # of the window of a local mean square
_CALMEST = 0.05  # share of the entries
_MOST_ENTRIES = 1_000_000  # of which quantiles are taken
_LEAST_ENTRIES = 200  # pairs from which a difference is measured
_NEARLY_ALL = 0.98  # quantile of the entries: larger errors may be of another kind
_NOT_BELOW = 0.8  # factor by which the bound is uncertain
_FEW_AROUND = 0.75  # mean of the calmer half of pure noise where about fifteen entries are known in a window


@dataclass(frozen=True)
class Noise:
    """Noise of trusted entries.

    Attributes
    ----------
    variance : float
    is_all : bool
        Whether everything that neighbours cannot predict may be noise.
    """

    variance: float
    is_all: bool = False


def noise_variance(
    residuals: Sequence[Array32], errors: Sequence[Array32], weights: Sequence[Array32], modes: Sequence[int]
) -> Noise:
    """Measure the noise of trusted entries.

    Parameters
    ----------
    residuals, errors : sequences of arrays
        Of the ring, and of ring and neighbours together, for every window.
    weights : sequence of arrays
        0 for entries that do not count: unknown, wrong, or at an end of the range, where noise is clipped.
    modes : sequence of int
        The ordered ones. Without these, noise cannot be separated from detail: all is noise.

    Examples
    --------
    >>> noise = np.random.default_rng(0).standard_normal((200, 200)).astype(np.float32)
    >>> bool(0.7 < noise_variance([noise], [noise], [np.ones_like(noise)], (0, 1)).variance < 1.1)
    True
    """
    total = sum(float(weight.sum(dtype=np.float64)) for weight in weights)
    if not total:
        return Noise(0.0)
    if not modes:
        squares = sum(float(np.sum(w * e**2, dtype=np.float64)) for w, e in zip(weights, errors, strict=True))
        return Noise(squares / total)
    local = [_local(error, weight, modes) for error, weight in zip(errors, weights, strict=True)]
    step = 1 + sum(weight.size for weight in weights) // _MOST_ENTRIES
    trusted = [np.flatnonzero(weight > 0.5)[::step] for weight in weights]
    spread = np.concatenate([mean.ravel()[there] for (mean, _), there in zip(local, trusted, strict=True)])
    masses = np.concatenate([mass.ravel()[there] for (_, mass), there in zip(local, trusted, strict=True)])
    if not spread.size:
        return Noise(0.0)
    from scipy.special import gammainc, gammaincinv  # here, because importing it takes a fifth of a second

    freedom = max(2.0, float(np.median(masses)) / window_concentration(len(modes), _LEVELS))
    fluctuation = 2 * float(gammaincinv(freedom / 2, _CALMEST)) / freedom  # of a mean square of pure noise
    calmest = float(np.quantile(spread, _CALMEST)) / fluctuation
    middle = float(np.median(spread))
    calm = [weight * (mean <= middle) for (mean, _), weight in zip(local, weights, strict=True)]
    nugget = min(_nugget(residuals, calm, mode) for mode in modes)
    by_chance = 2 * float(gammainc(freedom / 2 + 1, gammaincinv(freedom / 2, 0.5)))  # mean of the calmer half of noise
    found = np.concatenate([error.ravel()[there] ** 2 for error, there in zip(errors, trusted, strict=True)])
    typical = float(found[found <= np.quantile(found, _NEARLY_ALL)].mean())
    is_all = by_chance < _FEW_AROUND and min(calmest, nugget / by_chance) >= _NOT_BELOW * typical > 0
    return Noise(max(0.0, min(calmest, nugget)), is_all)


def _local(errors: Array32, weights: Array32, modes: Sequence[int]) -> tuple[Array32, Array32]:
    """Local mean square, and the sum of weights in it."""
    mass = window_mean(weights, modes, _LEVELS)
    squares: Array32 = window_mean(weights * errors * errors, modes, _LEVELS)
    squares /= np.maximum(mass, np.float32(1e-6))
    return squares, mass


def _nugget(residuals: Sequence[Array32], weights: Sequence[Array32], mode: int) -> float:
    """Half the mean squared difference along a mode, extrapolated to distance 0; infinite if few pairs are known."""
    means = []
    for distance in (1, 2):
        ahead, behind = shifted(mode, distance)
        squares = pairs = 0.0
        for residual, weight in zip(residuals, weights, strict=True):
            both = weight[ahead] * weight[behind]
            squares += float(np.sum(both * (residual[ahead] - residual[behind]) ** 2, dtype=np.float64))
            pairs += float(np.sum(both, dtype=np.float64))
        if pairs < _LEAST_ENTRIES:
            return float("inf")
        means.append(squares / pairs / 2)
    return max(0.0, 2 * means[0] - means[1])
