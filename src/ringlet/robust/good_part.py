"""Good residuals and outliers, from the histogram of their sizes: a mixture, fitted by expectation maximisation.

Tails of good residuals fall off steadily. Outliers that are a few standard deviations off are a hump in that tail, and
gross ones lie anywhere. Without the hump they would be taken for a heavy tail, in which none would ever be found.
"""

from math import inf

import numpy as np
from numpy.typing import NDArray

__all__ = ["fit_good_part"]

Array64 = NDArray[np.float64]

_FREEDOMS = (inf, 30.0, 20.0, 14.0, 10.0, 7.0, 5.0, 4.0, 3.0)  # of the good part; below three, no outlier would be sure
_EDGES = np.concatenate([np.arange(0.0, 10.0, 0.1), np.arange(10.0, 41.0)])  # of cells of sizes; the last has no end
_LAST = 45.0  # size of an entry in the last cell
_HUMPS = (5.0, 9.0)  # where a hump is looked for
_NEAREST = 3.2  # spreads of the good part: a hump within is a part of its tail
_WIDTHS = (0.5, 2.5)  # of a hump: a wider one is a tail
_LEAST_SHARE = 1e-3  # of all entries: a smaller hump is chance
_FIRST_SHARE = 0.01  # of each kind of outliers
_ROUNDS = 60
_SETTLED = 0.01  # gain of the log-likelihood in a round that ends them
_TAIL, _HUMP = 1.0, 13.5  # gains of the log-likelihood that a tail and a hump are worth, at least
_TINY = 1e-300


def fit_good_part(sizes: Array64) -> tuple[float, float]:
    """Spread and degrees of freedom of the scaled Student t, or normal, that good residuals follow.

    Parameters
    ----------
    sizes : array
        Sizes of residuals, of which the good ones have a spread of about one.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = 1.1 * rng.standard_normal(20_000)
    >>> z[:1000] += 5
    >>> spread, freedom = fit_good_part(np.abs(z))
    >>> round(spread, 1), freedom
    (1.1, inf)
    """
    counts = np.histogram(sizes, np.append(_EDGES, inf))[0].astype(np.float64)
    best = -inf, 1.0, inf
    for freedom in _FREEDOMS:
        for hump in (None, *_HUMPS):
            likelihood, spread = _fit(counts, freedom, hump)
            score = likelihood - _TAIL * (freedom < inf) - _HUMP * (hump is not None)
            best = max(best, (score, spread, freedom), key=lambda one: one[0])
    return best[1], best[2]


def _fit(counts: Array64, freedom: float, hump: float | None) -> tuple[float, float]:
    """Log-likelihood of the mixture, minus infinity if there is no such hump, and spread of the good part."""
    wide = np.append(np.diff(_EDGES), 0.0) / _EDGES[-1]
    far = np.append(np.zeros(_EDGES.size - 1), 1.0)
    middles = np.append((_EDGES[1:] + _EDGES[:-1]) / 2, _LAST)
    spread, centre, width, likelihood = 1.0, hump or 0.0, 1.0, -inf
    shares = np.array([1.0, _FIRST_SHARE, _FIRST_SHARE, _FIRST_SHARE * (hump is not None)])
    for _ in range(_ROUNDS):
        parts = np.stack([_good_masses(spread, freedom), wide, far, _hump_masses(centre, width)])
        parts *= (shares / shares.sum())[:, None]
        total = parts.sum(0) + _TINY
        before, likelihood = likelihood, float(counts @ np.log(total))
        if likelihood - before < _SETTLED:
            break
        parts *= counts / total
        shares = parts.sum(1)
        squares = middles**2
        if freedom < inf:
            squares *= (freedom + 1) / (freedom + (middles / spread) ** 2)
        spread = float(np.sqrt(parts[0] @ squares / shares[0]))
        if hump is not None:
            centre = float(parts[3] @ middles / (shares[3] + _TINY))
            width = float(np.clip(np.sqrt(parts[3] @ (middles - centre) ** 2 / (shares[3] + _TINY)), *_WIDTHS))
    if hump is not None and (centre < _NEAREST * spread or shares[3] < _LEAST_SHARE * shares.sum()):
        return -inf, spread
    return likelihood, spread


def _good_masses(spread: float, freedom: float) -> Array64:
    """Of the cells, for a scaled Student t."""
    from scipy.special import ndtr, stdtr

    outwards = -_EDGES / spread
    beyond = 2 * (ndtr(outwards) if freedom == inf else stdtr(freedom, outwards))
    return np.asarray(beyond - np.append(beyond[1:], 0.0))


def _hump_masses(centre: float, width: float) -> Array64:
    """Of the cells, for a Gaussian."""
    from scipy.special import ndtr

    below = ndtr((_EDGES - centre) / width)
    return np.asarray(np.append(below[1:], 1.0) - below)
