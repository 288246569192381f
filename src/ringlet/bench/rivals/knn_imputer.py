"""scikit-learn's KNNImputer on a table: an unfolding of a tensor, or its transpose."""

import numpy as np

from ringlet.bench.rivals.gaps import Array, Mask, table_of, tensor_of
from ringlet.bench.rivals.libraries import library

__all__ = ["knn_imputer"]


def knn_imputer(values: Array, observed: Mask, *, mode: int, columns: bool = False, neighbours: int = 5) -> Array:
    """Fill gaps by the mean of the most similar rows, weighted by their distance; observed entries stay as they are.

    `mode` is that of the rows, or of the columns.
    """
    imputer = library("sklearn.impute").KNNImputer(n_neighbors=neighbours, weights="distance", keep_empty_features=True)
    table = table_of(np.where(observed, values, np.nan), mode)
    filled: Array = imputer.fit_transform(table.T).T if columns else imputer.fit_transform(table)
    return tensor_of(filled, mode, values.shape).astype(values.dtype)
