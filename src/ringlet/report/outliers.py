"""A map of the outliers of a fit. Reads the data a slab at a time."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.results.fit import Fit

__all__ = ["outlier_flags", "outlier_map"]

_SLAB_ENTRIES = 1 << 22
_DOUBT = 0.5  # weight below which an entry counts as an outlier


def outlier_flags(fit: Fit, index: Any) -> NDArray[np.bool_]:
    """Which entries of a block are outliers of a fit; entries that are not observed are none.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.ones((6, 5, 4))
    >>> x[1, 2, 3] = 50.0
    >>> outlier_flags(ringlet.decompose(x, rank=1), (1, 2)).tolist()
    [False, False, False, True]
    """
    return np.asarray(fit.unlabelled.weights(index) < _DOUBT)


def outlier_map(fit: Fit) -> NDArray[np.float32]:
    """Map of outliers over the first two modes: the mean of ``1 - weight`` over the observed entries of the others.

    Returns
    -------
    array of shape ``fit.ring.shape[:2]``
        0: trusted, 1: every observed entry there is an outlier, NaN: nothing observed.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.ones((6, 5, 4))
    >>> x[1, 2, 3] = 50.0
    >>> outlier_map(ringlet.decompose(x, rank=1))[1].round(2)
    array([0.  , 0.  , 0.25, 0.  , 0.  ], dtype=float32)
    """
    shape = fit.ring.shape
    distrust = np.full(shape[:2], np.nan, dtype=np.float32)
    step = max(1, _SLAB_ENTRIES * shape[0] // fit.ring.size)
    for start in range(0, shape[0], step):
        rows = slice(start, start + step)
        weights = fit.unlabelled.weights(rows)
        others = tuple(range(2, weights.ndim))
        observed = np.count_nonzero(~np.isnan(weights), axis=others)
        total = np.nansum(1 - weights, axis=others)
        np.divide(total, observed, out=distrust[rows], where=observed > 0, casting="same_kind")
    return distrust
