"""Rows of a table that do not fit the others."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri
from sklearn.base import OutlierMixin

from ringlet.checks import check_number_or
from ringlet.errors import ArgumentError
from ringlet.sklearn.table import RingTable

__all__ = ["RingOutlierDetector"]

_BULK = 0.999  # of Gaussian rows are within the limit of contamination="auto"


class RingOutlierDetector(OutlierMixin, RingTable):  # type: ignore[misc]
    """Find rows (samples) that do not fit the others; entries may be missing (NaN).

    A ring is fitted to the table, robustly, and gives a subspace of the rows and the noise of every column. The score
    of a row is its squared Mahalanobis distance under that model, per known entry, with a minus sign. Single entries
    are judged by ``detector.fit_.outliers()``.

    Parameters
    ----------
    modes, rank, solver, random_state
        As in `RingImputer`.
    contamination : float, above 0 and at most 0.5, or "auto"
        Share of outliers in the training data. "auto": rows farther away than 99.9 % of Gaussian rows with the
        same median distance.

    Attributes
    ----------
    offset_ : float
        ``decision_function = score_samples - offset_``.
    fit_, centre_, scale_, n_features_in_, feature_names_in_
        As in `RingImputer`.

    Examples
    --------
    >>> import numpy as np
    >>> from ringlet.sklearn import RingOutlierDetector
    >>> rng = np.random.default_rng(0)
    >>> X = np.outer(rng.normal(0, 1, 60), [1.0, 2.0, 3.0, 4.0]) + rng.normal(0, 0.1, (60, 4))
    >>> X[7, 2] += 5.0
    >>> np.flatnonzero(RingOutlierDetector(contamination="auto").fit_predict(X) == -1)
    array([7])
    """

    offset_: float

    def __init__(
        self,
        *,
        modes: Sequence[int] | None = None,
        rank: Any = "auto",
        solver: Any = None,
        contamination: Any = 0.1,
        random_state: Any = 0,
    ) -> None:
        self.modes = modes
        self.rank = rank
        self.solver = solver
        self.contamination = contamination
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "RingOutlierDetector":  # noqa: ARG002 - scikit-learn's signature
        """Fit a ring to a table of shape (n_samples, n_features)."""
        check_number_or(("auto",), "contamination", self.contamination, above=0)
        if not isinstance(self.contamination, str) and self.contamination > 0.5:
            raise ArgumentError(f"contamination={self.contamination!r} is not allowed; it must be at most 0.5")
        rows = self._fit_ring(X)
        distances = self._rows.distances(rows)
        if isinstance(self.contamination, str):
            columns = self.n_features_in_
            self.offset_ = -float(np.median(distances) * chdtri(columns, 1 - _BULK) / chdtri(columns, 0.5))
        else:
            self.offset_ = float(np.percentile(-distances, 100.0 * self.contamination))
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Minus the distance of every row: the lower, the more abnormal."""
        table = self._checked(X, reset=False)
        return -self._rows.distances(self._standardised(table))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores less `offset_`: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """1 for rows that fit, -1 for outliers."""
        return np.where(self.decision_function(X) < 0, -1, 1)
