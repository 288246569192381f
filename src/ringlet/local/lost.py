"""Lost frames: slices of one value between slices that are alike. No ring is needed to find them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.local.modes import is_ordered

__all__ = ["lost_entries"]

_FEWEST_SLICES = 8  # of a mode, so that neighbours differ from others
_FEWEST_ENTRIES = 16  # known entries of a lost slice: fewer may be equal by chance
_FLAT = 0.9  # share of the entries of a lost slice that have its value
_MOST_LOST = 0.25  # share of the slices: more slices of one value belong to the data
_ALIKE = 0.5  # of the distance of a lost slice from its neighbours: these are nearer to each other
_MOST_SHARED = 0.5  # share of the entries of these neighbours that have its value: with more it is usual there
_SAMPLE = 1024  # entries of a slice from which its value is taken


def lost_entries(values: NDArray[Any], observed: NDArray[np.bool_] | None, mode: int) -> NDArray[np.intp]:
    """Places, in the flat array, of the entries of lost slices of a mode.

    Examples
    --------
    >>> film = np.add.outer(np.arange(12.0), np.random.default_rng(0).standard_normal(50))
    >>> film[4] = 255
    >>> np.unique(lost_entries(film, None, 0) // 50)
    array([4])
    """
    slices = np.moveaxis(values, mode, 0).reshape(values.shape[mode], -1)
    if len(slices) < _FEWEST_SLICES:
        return np.empty(0, np.intp)
    known = np.ones_like(slices, bool) if observed is None else np.moveaxis(observed, mode, 0).reshape(slices.shape)
    usual = np.array([_middle(one[seen]) for one, seen in zip(slices, known, strict=True)])
    same, held = (slices == usual[:, None]) & known, np.count_nonzero(known, axis=1)
    flat = (held >= _FEWEST_ENTRIES) & (np.count_nonzero(same, axis=1) > _FLAT * held)
    if not flat.any():
        return np.empty(0, np.intp)
    varied = np.flatnonzero((held > 0) & ~flat)
    found = np.zeros_like(known)
    for place in np.flatnonzero(flat):
        found[place] = _lost_of(slices, known, usual[place], varied, int(place))
    lost = np.count_nonzero(found.any(axis=1))
    if not 0 < lost <= _MOST_LOST * len(flat):
        return np.empty(0, np.intp)
    largest = max(float(slices.max(where=known, initial=0)), -float(slices.min(where=known, initial=0))) or 1.0
    filled = slices / largest  # squares of larger numbers might overflow
    filled[~known] = filled.mean(where=known)
    if not is_ordered(filled[varied], 0, np.random.default_rng(0)):
        return np.empty(0, np.intp)
    order = np.moveaxis(np.arange(values.size).reshape(values.shape), mode, 0).reshape(slices.shape)
    return np.asarray(order[found])


def _middle(values: NDArray[Any]) -> Any:
    """The median of some values, one of the middle ones; 0 without values."""
    some = values[:: 1 + values.size // _SAMPLE]
    return np.partition(some, some.size // 2)[some.size // 2] if some.size else 0


def _lost_of(
    slices: NDArray[Any], known: NDArray[np.bool_], value: Any, varied: NDArray[np.intp], place: int
) -> NDArray[np.bool_]:
    """The entries of a slice that are lost: all with this value, and the few others that are unlike its neighbours.

    None are if the nearest slices that vary, on both sides, are nearer to this value than to each other, or if most of
    their entries have it, as that of a quiet background: then it belongs to the data.
    """
    none: NDArray[np.bool_] = np.zeros(slices.shape[1], np.bool_)
    after = int(np.searchsorted(varied, place))
    if not 0 < after < varied.size:
        return none
    before, then = varied[after - 1], varied[after]
    both = known[before] & known[then]
    first, second, here = (slices[one][both].astype(np.float64) for one in (before, then, place))
    middle = (first + second) / 2
    away = np.abs(middle - float(value))
    if not both.any() or np.mean(away == 0) > _MOST_SHARED:
        return none
    least = _ALIKE * away.mean()
    if not np.abs(second - first).mean() < least:
        return none
    lost: NDArray[np.bool_] = known[place].copy()
    lost[both] &= (here == value) | (np.abs(here - middle) > least)
    return lost
