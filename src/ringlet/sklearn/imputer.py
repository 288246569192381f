"""Missing entries of a table, filled in by a ring."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from ringlet.sklearn.table import RingTable

__all__ = ["RingImputer"]


class RingImputer(OneToOneFeatureMixin, TransformerMixin, RingTable):  # type: ignore[misc]
    """Fill in missing entries (NaN) of a table; known entries stay as they are.

    A ring is fitted to the table, robustly: gross errors hardly change what is filled in. The missing entries of a new
    row follow from its known ones, with the cores of the columns fixed.

    Parameters
    ----------
    modes : sequence of int, optional
        Fold the columns into modes, in C order: ``modes=(7, 24)`` for 168 columns, the hours of a week. The columns
        then share a unit. By default the columns are one mode, and each is put on its own scale.
    rank : "auto", int, sequence of int, `ringlet.budget` or `ringlet.target`
        As in `ringlet.decompose`; with "auto" the ring may have up to half as many numbers as the table.
    solver : solver, optional
        As in `ringlet.decompose`.
    random_state : int, RandomState or None
        Seed of the fit.

    Attributes
    ----------
    fit_ : ringlet.Fit
        Of the table, less `centre_` and divided by `scale_`.
    centre_, scale_ : arrays, one number for every column
    n_features_in_ : int
    feature_names_in_ : array of str
        Where X has names of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from ringlet.sklearn import RingImputer
    >>> X = np.outer(np.arange(1.0, 61.0), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    >>> X[4, 2] = np.nan
    >>> RingImputer().fit_transform(X)[4].round(1)
    array([ 5., 10., 15., 20., 25., 30.])
    """

    def __init__(
        self,
        *,
        modes: Sequence[int] | None = None,
        rank: Any = "auto",
        solver: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.modes = modes
        self.rank = rank
        self.solver = solver
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "RingImputer":  # noqa: ARG002 - scikit-learn's signature
        """Fit a ring to a table of shape (n_samples, n_features)."""
        self._fit_ring(X)
        return self

    def transform(self, X: Any) -> NDArray[np.floating[Any]]:
        """The table with its missing entries filled in; rows are independent of each other."""
        table = self._checked(X, reset=False)
        missing = np.isnan(table)
        if not missing.any():
            return table.copy()
        incomplete = missing.any(axis=1)
        filled = self._rows.estimate(self._standardised(table[incomplete])) * self.scale_ + self.centre_
        result = table.copy()
        result[incomplete] = np.where(missing[incomplete], filled, table[incomplete])
        return result
