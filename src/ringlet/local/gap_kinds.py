"""Kinds of gaps: how much is known around an entry, and in other slices at the same place."""

from math import prod

import numpy as np
from numpy.typing import NDArray

from ringlet.local.modes import NeighbourModes
from ringlet.local.neighbours import Array32, slice_sum, window_mean

__all__ = ["KINDS", "kinds_of"]

_DENSITIES = (  # between kinds, in windows of 3 and of 7 entries
    np.array([0.02, 0.15, 0.3, 0.45, 0.6, 0.8], np.float32),
    np.array([0.02, 0.08, 0.2, 0.4, 0.6, 0.8, 0.95], np.float32),
)
_OTHERS = np.array([0.01, 0.99], np.float32)  # share of the other slices: none, some, all
KINDS = prod(len(bounds) + 1 for bounds in (*_DENSITIES, _OTHERS))


def kinds_of(known: NDArray[np.bool_], modes: NeighbourModes) -> NDArray[np.uint8]:
    """The kind of every entry, were it missing."""
    weights = known.astype(np.float32)
    kinds = np.zeros(known.shape, np.uint8)
    wide = weights
    for level, bounds in enumerate(_DENSITIES if modes.ordered else ()):
        wide = window_mean(wide, modes.ordered, 1, first=level)
        centre = np.float32(0.5 ** ((level + 1) * len(modes.ordered)))
        kinds = _divided(kinds, (wide - centre * weights) * (1 / (1 - centre)), bounds)
    others, number = np.zeros_like(weights), 0
    for mode in modes.related:
        others += slice_sum(weights, mode) - weights
        number += known.shape[mode] - 1
    return _divided(kinds, others * np.float32(1 / number), _OTHERS) if number else kinds


def _divided(kinds: NDArray[np.uint8], values: Array32, bounds: Array32) -> NDArray[np.uint8]:
    """Every kind divided further by values."""
    return kinds * np.uint8(len(bounds) + 1) + np.digitize(values, bounds).astype(np.uint8)
