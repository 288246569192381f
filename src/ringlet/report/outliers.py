"""Outliers of a fit: their share, and a map of their positions. Reads the data a slab at a time."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.solvers.result import Fit
from ringlet.sources.base import aligned_blocks

__all__ = ["outlier_flags", "outlier_map", "outlier_share"]

_DOUBT = 0.5  # an entry with less weight than this is called an outlier
_SAMPLED_ENTRIES = 1 << 21
_SPREAD = 16  # blocks of stored data that are read, unless a chunk is larger
_SLAB_ENTRIES = 1 << 22


def outlier_share(fit: Fit, sampled_entries: int = _SAMPLED_ENTRIES) -> float:
    """Share of the observed entries that are outliers of a fit (weight below one half).

    Of tensors of more than about `sampled_entries` entries only evenly spaced slices of their longest mode are used, of
    stored ones evenly spaced blocks of chunks.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.ones((6, 5, 4))
    >>> x[1, 2, 3] = 50.0
    >>> round(outlier_share(ringlet.decompose(x, rank=1)) * x.size)
    1
    """
    doubted = observed = 0
    for block in _spread_blocks(fit, sampled_entries):
        weights = fit.unlabelled.weights(block)
        observed += int(np.count_nonzero(~np.isnan(weights)))
        doubted += int(np.count_nonzero(weights < _DOUBT))
    return doubted / observed if observed else 0.0


def _spread_blocks(fit: Fit, entries: int) -> list[tuple[Any, ...]]:
    """Blocks of about so many entries in total, spread over the tensor."""
    shape, size = fit.ring.shape, fit.ring.size
    if fit.chunks is None:
        mode = int(np.argmax(shape))
        slices = min(shape[mode], max(1, entries * shape[mode] // size))
        return [(*[slice(None)] * mode, np.linspace(0, shape[mode] - 1, slices).astype(np.intp), ...)]
    blocks = aligned_blocks(fit.chunks, entries // _SPREAD)
    count = min(len(blocks), max(1, entries * len(blocks) // size))
    return [blocks[place] for place in np.linspace(0, len(blocks) - 1, count).astype(int)]


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
