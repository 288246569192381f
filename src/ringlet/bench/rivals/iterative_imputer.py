"""scikit-learn's IterativeImputer on a table: rows of a tensor, its shortest mode as columns."""

import warnings

import numpy as np

from ringlet.bench.rivals.gaps import Array, Mask, table_of, tensor_of
from ringlet.bench.rivals.libraries import library

__all__ = ["iterative_imputer"]

_ROUNDS = 10
_PREDICTORS = 20
_SHORTEST = 4  # of a mode that gives the columns, where there is one
_ROWS = 20_000  # that are learned from; all are filled


def iterative_imputer(
    values: Array,
    observed: Mask,
    *,
    mode: int | None = None,
    rounds: int = _ROUNDS,
    predictors: int = _PREDICTORS,
) -> Array:
    """Fill gaps from the other columns by Bayesian ridge regressions; observed entries stay as they are.

    `mode` is that of the columns; `predictors` of them predict another one.
    """
    library("sklearn.experimental.enable_iterative_imputer")
    imputer_class = library("sklearn.impute").IterativeImputer
    if mode is None:
        mode = min(range(values.ndim), key=lambda k: (values.shape[k] < _SHORTEST, values.shape[k]))
    rows = table_of(np.where(observed, values, np.nan), mode).T
    rng = np.random.default_rng(0)
    learned = rows if len(rows) <= _ROWS else rows[rng.choice(len(rows), _ROWS, replace=False)]
    imputer = imputer_class(
        max_iter=rounds,
        n_nearest_features=min(predictors, rows.shape[1]),
        keep_empty_features=True,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has not converged, or a column is empty
        imputer.fit(learned)
        filled: Array = imputer.transform(rows)
    return tensor_of(filled.T, mode, values.shape).astype(values.dtype)
