"""How far each entry decides what a ring says of it: its leverage, and what the ring would say without it."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.arrays import Array64
from ringlet.ring.chain import Core, merge

__all__ = ["leverages"]

_NUMBERS = 1 << 19  # of the subchain that are held at a time
_RIDGE = 1e-3  # of the mean diagonal of the Gram matrix: the penalties that a fit begins with are about as large
_MOST = 0.9  # leverage that is believed: residuals of other entries are not multiplied by more than ten


def leverages(cores: Sequence[Core], used: NDArray[np.bool_]) -> Array64:
    """The leverage of every entry that was used; 0 for the others.

    That of the core in which it is largest. An error that a feature of its own describes has one near 1 there: no other
    entry of the slice says anything about that feature.

    Parameters
    ----------
    cores : sequence of arrays
    used : bool array
        Entries that the cores were fitted to.

    Examples
    --------
    >>> cores = [np.ones((1, 4, 1)), np.ones((1, 5, 1)), np.ones((1, 6, 1))]
    >>> float(leverages(cores, np.ones((4, 5, 6), bool))[0, 0, 0].round(3))      # 1 unknown, 20 entries
    0.05
    >>> cores[1][:, 1:], cores[2][:, 1:] = 0, 0                                   # one entry of a slice decides
    >>> float(leverages(cores, np.ones((4, 5, 6), bool))[0, 0, 0])
    0.9
    """
    order, found = len(cores), np.zeros(used.shape)
    for mode in range(order):
        others = [*range(mode + 1, order), *range(mode)]
        axes = (mode, *others)
        share = used.mean(axis=tuple(others), dtype=np.float64).reshape(-1, *[1] * len(others))
        own = _of_subchain([cores[other] for other in others])
        ratio = np.divide(own, share, out=np.zeros(tuple([used.shape[axis] for axis in axes])), where=share > 0)
        along = found.transpose(axes)
        np.maximum(along, ratio, out=along)
    return np.where(used, np.minimum(found, _MOST), 0.0)


def _of_subchain(others: Sequence[Core]) -> Array64:
    """Leverages in a slice of which all entries are used, by the indices of the other modes."""
    first, *rest = [core.astype(np.float64) for core in others]
    shape = [core.shape[1] for core in others]
    width = first.shape[0] * (rest[-1] if rest else first).shape[2]
    step = max(1, _NUMBERS // (width * prod(shape[1:])))
    parts = [slice(start, start + step) for start in range(0, shape[0], step)]
    gram: NDArray[Any] = np.zeros((width, width))
    for part in parts:
        rows = _subchain([first[:, part], *rest])
        gram += rows.T @ rows
    inverse = np.linalg.pinv(gram + _RIDGE * np.trace(gram) / width * np.eye(width), hermitian=True)
    found = [np.sum((rows @ inverse) * rows, axis=1) for rows in (_subchain([first[:, part], *rest]) for part in parts)]
    return np.concatenate(found).reshape(shape)


def _subchain(cores: Sequence[Core]) -> Array64:
    """One row for every index of the cores' modes."""
    merged = merge(cores)
    return np.asarray(merged.swapaxes(0, 1).reshape(merged.shape[1], -1), np.float64)
