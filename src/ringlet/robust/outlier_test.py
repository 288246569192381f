"""Which standardised residuals are too large for their bulk: Benjamini-Hochberg under an empirical null."""

from dataclasses import dataclass
from math import inf, lgamma, log, pi
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["EmpiricalNull", "fit_null"]

Floats: TypeAlias = NDArray[np.floating[Any]]

_SHARES = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95])  # of the bulk: quantiles to which the null is fitted
_FREEDOMS = (inf, 30.0, 20.0, 14.0, 10.0, 7.0, 5.0, 4.0, 3.0)  # candidates; below three, no outlier would ever be sure
_ROUNDS = 2  # of fitting the null to what the last one did not reject; more would let outliers creep in
_SPREAD_ROUNDS = 6  # in which the spread of a candidate settles
_SETTLED = 0.01  # relative change of the limit that ends the rounds
_TRIMMING_FDR = 0.02  # of the entries that are left out when the null is fitted again
_LEAST_SPREAD = 0.5  # about 0.9 is usual; less means that most residuals are below the rounding errors of the data
_SURE = 9.0  # squared standard errors by which a heavier tail must fit better than a lighter one


@dataclass(frozen=True)
class EmpiricalNull:
    """Distribution of the z-scores of good entries: a scaled Student t, or normal.

    Attributes
    ----------
    centre, spread : float
    freedom : float
        Degrees of freedom; infinite: normal.
    """

    centre: float
    spread: float
    freedom: float

    def p_values(self, sizes: Floats) -> NDArray[np.float64]:
        """Two-sided p-values of distances from the centre.

        Examples
        --------
        >>> EmpiricalNull(0.0, 2.0, inf).p_values(np.array([0.0, 3.92])).round(3)
        array([1.  , 0.05])
        """
        from scipy.special import ndtr, stdtr

        outwards = -np.asarray(sizes, np.float64) / self.spread
        return np.asarray(2.0 * (ndtr(outwards) if self.freedom == inf else stdtr(self.freedom, outwards)))

    def limit(self, zscores: Floats, fdr: float, tests: int) -> float:
        """Distance from the centre beyond which an entry is rejected at this false-discovery rate.

        The rule of Benjamini and Hochberg, on a sample. Where it rejects nothing, the limit is that of the most extreme
        of `tests` entries.

        Parameters
        ----------
        zscores : array
            The sample, without NaN.
        fdr : float
        tests : int
            Number of entries that the limit is for.

        Examples
        --------
        >>> null = EmpiricalNull(0.0, 1.0, inf)
        >>> round(null.limit(np.array([0.1, -0.5, 0.3, 8.0]), 0.05, tests=4), 2)
        2.5
        """
        p = self.p_values(np.sort(np.abs(zscores - self.centre))[::-1])
        passed = np.flatnonzero(p <= fdr * np.arange(1, p.size + 1) / max(p.size, 1))
        least = fdr * (passed[-1] + 1) / p.size if passed.size else fdr / max(tests, 1)
        return self.spread * float(_size_beyond(least, self.freedom))


def fit_null(zscores: Floats) -> EmpiricalNull:
    """Fit the null to the central part of z-scores, of which a minority are outliers.

    Parameters
    ----------
    zscores : array
        Without NaN.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal(20_000) * 1.3
    >>> z[:1000] += 15.0
    >>> null = fit_null(z)
    >>> null.freedom, round(null.spread, 1)
    (inf, 1.3)
    """
    if not zscores.size:
        return EmpiricalNull(0.0, 1.0, inf)
    centre = float(np.median(zscores))
    sizes = np.abs(zscores - centre)
    half = float(np.median(sizes))
    null = EmpiricalNull(centre, max(half / float(_size_beyond(0.5, inf)), _LEAST_SPREAD), inf)
    reach = 0.0
    for _ in range(_ROUNDS):  # from a narrow null outwards: heavy tails are recognised by what lies within the limit
        before, reach = reach, null.limit(zscores, _TRIMMING_FDR, zscores.size)
        inside = sizes[sizes < reach]
        if half <= 0.0 or abs(reach - before) < _SETTLED * reach:
            break
        null = _fit_bulk(inside, centre, reach)
    return null


def _fit_bulk(sizes: Floats, centre: float, reach: float) -> EmpiricalNull:
    """The lightest tail whose quantiles, cut off at `reach`, agree with those of distances from the centre."""
    found = np.quantile(sizes, _SHARES)
    best: tuple[float, EmpiricalNull] | None = None
    for freedom in _FREEDOMS:
        spread = float(found[0])
        for _ in range(_SPREAD_ROUNDS):
            inside = 1.0 - float(EmpiricalNull(centre, spread, freedom).p_values(np.array(reach)))
            expected = _size_beyond(1.0 - _SHARES * inside, freedom)
            # Standard errors of the logarithms of sample quantiles.
            errors = np.sqrt(_SHARES * (1 - _SHARES) / sizes.size) / (2 * _density(expected, freedom) * expected)
            log_ratio, weights = np.log(found / expected), 1.0 / errors**2
            log_spread = float(np.average(log_ratio, weights=weights))
            spread = float(np.exp(log_spread))
        misfit = float(np.sum(weights * (log_ratio - log_spread) ** 2))
        if best is None or misfit < best[0] - _SURE:
            best = misfit, EmpiricalNull(centre, max(spread, _LEAST_SPREAD), freedom)
    assert best is not None  # noqa: S101 - there are candidates
    return best[1]


def _size_beyond(share: Any, freedom: float) -> Any:
    """The distance from the centre beyond which this share of the numbers lies; unit spread."""
    from scipy.special import ndtri, stdtrit

    return -(ndtri(share / 2.0) if freedom == inf else stdtrit(freedom, share / 2.0))


def _density(sizes: NDArray[np.float64], freedom: float) -> NDArray[np.float64]:
    """Of a Student t, or normal, with unit spread."""
    if freedom == inf:
        return np.asarray(np.exp(-0.5 * sizes**2) / np.sqrt(2 * pi))
    constant = lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - 0.5 * log(freedom * pi)
    return np.asarray(np.exp(constant - (freedom + 1) / 2 * np.log1p(sizes**2 / freedom)))
