"""Which standardised residuals are too large for their bulk: Benjamini-Hochberg under an empirical null."""

from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.robust.good_part import fit_good_part

__all__ = ["EmpiricalNull", "fit_null"]

Floats: TypeAlias = NDArray[np.floating[Any]]

_LEAST_SPREAD = 0.5  # about 0.9 is usual; less means that most residuals are below the rounding errors of the data
_LEAST_SHARE = 1e-200  # of smaller ones SciPy's inverse of Student's t has the wrong sign


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
    """Fit the null to z-scores, of which a minority are outliers.

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
    if half <= 0.0:
        return EmpiricalNull(centre, _LEAST_SPREAD, inf)
    unit = max(half / float(_size_beyond(0.5, inf)), _LEAST_SPREAD)
    spread, freedom = fit_good_part(sizes / unit)
    return EmpiricalNull(centre, max(spread * unit, _LEAST_SPREAD), freedom)


def _size_beyond(share: Any, freedom: float) -> Any:
    """The distance from the centre beyond which this share of the numbers lies; unit spread."""
    from scipy.special import ndtri, stdtrit

    tail = np.maximum(share, _LEAST_SHARE) / 2.0
    return -(ndtri(tail) if freedom == inf else stdtrit(freedom, tail))
