"""Outliers by two signs: the probability of being right, and the size of standardised residuals."""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.robust.outlier_test import fit_null

__all__ = ["OutlierJudgement", "posterior_limit"]

Floats: TypeAlias = NDArray[np.floating[Any]]

_PROBABLE = 0.5  # what is more probably right is no outlier, though many sure ones would allow for it


@dataclass(frozen=True, eq=False)
class OutlierJudgement:
    """Limits beyond which entries are outliers, from a sample.

    First entries are rejected by their probabilities. The z-scores of the others are tested by the rule of Benjamini
    and Hochberg: if those already rejected counted, too, that rule would allow for far more false ones.

    Attributes
    ----------
    weights : array of shape (M,)
        Probabilities of being right, in the sample.
    zscores : array of shape (M,)
    tests : int
        Number of entries that the limits are for.
    """

    weights: Floats
    zscores: Floats
    tests: int
    _limits: dict[float, tuple[float, float, float]] = field(default_factory=dict)

    def judge(self, weights: Floats, zscores: Floats, fdr: float) -> NDArray[np.bool_]:
        """Which entries are outliers at this false-discovery rate; False for NaN.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> judgement = OutlierJudgement(np.append(np.ones(999), 0.0), rng.standard_normal(1000), 1000)
        >>> judgement.judge(np.array([0.0, 1.0, 1.0]), np.array([0.1, 0.1, 9.0]), 0.05)
        array([ True, False,  True])
        """
        if fdr not in self._limits:
            least = min(posterior_limit(self.weights, fdr), _PROBABLE)
            rest = self.zscores[self.weights > least]
            null = fit_null(rest)
            self._limits[fdr] = least, null.centre, null.limit(rest, fdr, self.tests)
        least, centre, reach = self._limits[fdr]
        return np.asarray((weights <= least) | (np.abs(zscores - centre) > reach))


def posterior_limit(probabilities: Floats, fdr: float) -> float:
    """The probability of being right up to which entries are rejected at this false-discovery rate.

    The mean of the rejected probabilities is the share of them that is expected to be right: the largest set whose mean
    is at most `fdr` is rejected.

    Parameters
    ----------
    probabilities : array
        Of a sample, without NaN.
    fdr : float

    Returns
    -------
    float
        Below 0 where nothing is rejected.

    Examples
    --------
    >>> posterior_limit(np.array([0.0, 0.1, 0.125, 0.9, 1.0]), 0.1)
    0.125
    """
    ordered = np.sort(probabilities)
    means = np.cumsum(ordered, dtype=np.float64) / np.arange(1, ordered.size + 1)
    number = int(np.searchsorted(means, fdr, "right"))  # the means of ordered numbers are in order, too
    return float(ordered[number - 1]) if number else -1.0
