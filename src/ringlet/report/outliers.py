"""Which entries a fit judges wrong, and a map of them. Reads the data a slab at a time."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.report.planes import over_picture, picture_modes
from ringlet.restoration.clean_entries import parts
from ringlet.results.fit import Fit

__all__ = ["distrust", "outlier_flags", "outlier_map", "wrong_pixels"]

_DOUBT = 0.5  # weight below which an entry counts as an outlier


def outlier_flags(fit: Fit, index: Any) -> NDArray[np.bool_]:
    """Which entries of a block are judged wrong, as `Fit.outlier_share` counts them; those not observed are not.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.ones((6, 5, 4))
    >>> x[1, 2, 3] = 50.0
    >>> outlier_flags(ringlet.decompose(x, rank=1), (1, 2)).tolist()
    [False, False, False, True]
    """
    return distrust(fit, index) > _DOUBT


def distrust(fit: Fit, index: Any) -> NDArray[np.floating[Any]]:
    """One minus the weight of the entries of a block, 1 of those that `Fit.outliers` finds; NaN: not observed.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.ones((6, 5, 4))
    >>> x[1, 2, 3] = 50.0
    >>> distrust(ringlet.decompose(x, rank=1), (1, 2)).round(2)
    array([0., 0., 0., 1.])
    """
    weights = np.asarray(fit.unlabelled.weights(index))
    return np.where(fit.unlabelled.outliers(index), 1.0, 1 - weights)


def outlier_map(fit: Fit) -> NDArray[np.float32]:
    """Map of outliers over the modes of a picture: the mean of `distrust` over the observed entries of the others.

    Returns
    -------
    array, height x width
        0: trusted, 1: every observed entry there is an outlier, NaN: nothing observed.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.ones((6, 5, 4))
    >>> x[1, 2, 3] = 50.0
    >>> outlier_map(ringlet.decompose(x, rank=1))[1].round(2)
    array([0.  , 0.  , 0.25, 0.  , 0.  ], dtype=float32)
    """
    modes = picture_modes(fit.ring.names)
    rows = []
    for part in parts(fit.ring.shape, mode=modes[0]):
        found = over_picture(distrust(fit, _rows(part, modes[0])), modes)
        observed = np.count_nonzero(~np.isnan(found), axis=2)
        total = np.nansum(found, axis=2)
        rows.append(np.divide(total, observed, out=np.full(total.shape, np.nan), where=observed > 0))
    return np.concatenate(rows).astype(np.float32)


def _rows(part: slice, mode: int) -> tuple[slice, ...]:
    return (*[slice(None)] * mode, part)


def wrong_pixels(fit: Fit) -> NDArray[np.bool_]:
    """Which pixels of a picture, height x width, hold any entry that is judged wrong."""
    modes = picture_modes(fit.ring.names)
    rows = [
        over_picture(outlier_flags(fit, _rows(part, modes[0])), modes).any(axis=2)
        for part in parts(fit.ring.shape, mode=modes[0])
    ]
    return np.concatenate(rows)
