"""Entries of stuck detectors, dead rows and lost frames: one value in an unbroken run, far longer than other runs.

Nothing is compared with a ring, so these entries can be left out before the first sweep.
"""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.local.lost import lost_entries

__all__ = ["stuck_entries", "without_stuck"]

Places = NDArray[np.intp]
Marks = NDArray[np.bool_]

_LONGER = 3  # times (the usual length + 1): repeats by chance are shorter
_USUAL = 0.75  # quantile of the longest runs of all slices: three quarters of the detectors should work
_FEWEST_SLICES = 8  # slices for comparison; with fewer, one may differ from all others by chance
_LEAST_VARIED = 0.1  # share of entries with other values that shows that a slice varies
_THICK = 3  # slices side by side with the same value are an area
_CALM = 0.2  # share of the usual variation: slices beside a run that vary less do not show that it is stuck
_FIBRES = 1024  # fibres that measure the usual variation


@dataclass(frozen=True)
class _Runs:
    """Runs of one value along a mode, over observed entries.

    Attributes
    ----------
    mode : int
    places : int array
        Of all observed entries in the flat array, fibre by fibre.
    starts, lengths : int arrays
        Of runs of two or more entries, in `places`.
    values : array
        Distinct values of these runs.
    number : int array
        Index of the value of every run.
    """

    mode: int
    places: Places
    starts: Places
    lengths: Places
    values: NDArray[Any]
    number: Places

    @classmethod
    def along(cls, values: NDArray[Any], observed: Marks | None, mode: int) -> "_Runs":
        length = values.shape[mode]
        order = np.moveaxis(np.arange(values.size).reshape(values.shape), mode, -1).ravel()
        fibre = np.repeat(np.arange(values.size // length), length)
        if observed is not None:
            known = observed.ravel()[order]
            order, fibre = order[known], fibre[known]
        ordered = values.ravel()[order]
        starts = np.flatnonzero(np.append(True, (ordered[1:] != ordered[:-1]) | (fibre[1:] != fibre[:-1])))
        lengths = np.diff(starts, append=order.size)
        starts, lengths = starts[lengths > 1], lengths[lengths > 1]
        distinct, number = np.unique(ordered[starts], return_inverse=True)
        return cls(mode, order, starts, lengths, distinct, number.ravel())

    def members(self, chosen: Marks) -> tuple[Places, Places]:
        """Entries of some runs, and which of these each belongs to."""
        lengths = self.lengths[chosen]
        run = np.repeat(np.arange(lengths.size), lengths)
        first = np.cumsum(lengths) - lengths
        return self.places[np.arange(run.size) - first[run] + self.starts[chosen][run]], run


def stuck_entries(values: NDArray[Any], observed: Marks | None = None) -> Marks:
    """Whether an entry is one of a run of equal values that is far longer than runs of other slices.

    Parameters
    ----------
    values : array
    observed : bool array, optional
        Runs continue across entries that are not. By default all are observed.

    Examples
    --------
    >>> log = np.random.default_rng(0).standard_normal((10, 50))
    >>> log[3, 20:40] = 0.7
    >>> found = stuck_entries(log)
    >>> int(found.sum()), bool(found[3, 20:40].all())
    (20, True)

    Not so where a value is a usual one: of many sensors that read nothing at night, all are believed.

    >>> log[:, 30:] = 0
    >>> int(stuck_entries(log)[:, 30:].sum())
    0
    """
    found = np.zeros(values.shape, bool)
    if not (found.size if observed is None else observed.any()):
        return found
    for mode, length in enumerate(values.shape):
        others = [k for k, n in enumerate(values.shape) if k != mode and n >= _FEWEST_SLICES]
        if length >= 2 * _LONGER and others:
            runs = _Runs.along(values, observed, mode)
            for other in others if runs.lengths.size and runs.lengths.max() >= 2 * _LONGER else ():
                found.ravel()[_stuck(values, observed, runs, other)] = True
        found.ravel()[lost_entries(values, observed, mode)] = True
    return found


def without_stuck(values: NDArray[Any], observed: Marks | None) -> Marks | None:
    """Which entries are observed and not stuck; None: all are."""
    stuck = stuck_entries(values, observed)
    if not stuck.any():
        return observed
    return ~stuck if observed is None else observed & ~stuck


def _stuck(values: NDArray[Any], observed: Marks | None, runs: _Runs, mode: int) -> Places:
    """Entries of runs that are too long for a slice of this mode."""
    slices, count = _coordinates(runs.places[runs.starts], values.shape, mode), values.shape[mode]
    others = ~_is_plateau(runs, slices, count)
    usual = _usual_length(runs.lengths[others], slices[others], count)
    chosen = others & (runs.lengths >= _LONGER * (usual + 1))
    if not chosen.any():
        return np.empty(0, np.intp)
    known = np.bincount(_coordinates(runs.places, values.shape, mode), minlength=count)
    chosen &= _slice_varies(runs, slices, runs.lengths * (others & (runs.lengths > usual + 1)), known)
    members, run = runs.members(chosen)
    chosen[chosen] = ~_belongs(values, observed, members, run, (runs.mode, mode))
    return runs.members(chosen)[0]


def _coordinates(places: Places, shape: tuple[int, ...], mode: int) -> Places:
    return np.asarray(places // prod(shape[mode + 1 :]) % shape[mode])


def _usual_length(lengths: Places, slices: Places, count: int) -> int:
    """The usual longest run of slices."""
    longest = np.ones(count, np.intp)
    np.maximum.at(longest, slices, lengths)
    return int(np.sort(longest)[int(_USUAL * (count - 1))])


def _is_plateau(runs: _Runs, slices: Places, count: int) -> Marks:
    """By run: whether many slices have runs of its value that are usual for them, as of zero at night."""
    long = runs.lengths >= max(2, (_usual_length(runs.lengths, slices, count) + 1) // 2)
    values = np.unique(runs.number[long] * count + slices[long]) // count
    plateau: Marks = np.bincount(values, minlength=runs.values.size) > (1 - _USUAL) * count
    return plateau[runs.number]


def _slice_varies(runs: _Runs, slices: Places, sizes: Places, known: Places) -> Marks:
    """By run: whether the rest of its slice has few other long runs, unlike steps; short ones have a size of 0."""
    pairs = np.unique(slices * runs.values.size + runs.number, return_inverse=True)[1].ravel()
    own = np.bincount(pairs, sizes)[pairs]
    others, rest = np.bincount(slices, sizes)[slices] - own, known[slices] - own
    return np.asarray((rest >= _LEAST_VARIED * known[slices]) & (2 * others < rest))


def _belongs(
    values: NDArray[Any], observed: Marks | None, members: Places, run: Places, modes: tuple[int, int]
) -> Marks:
    """By run along the first mode: whether it is a part of an area, or slices of the second hardly vary beside it."""
    along, mode = modes
    flat, known = values.ravel(), None if observed is None else observed.ravel()
    here, step = _coordinates(members, values.shape, mode), prod(values.shape[mode + 1 :])
    number = int(run[-1]) + 1 if run.size else 0
    alike, spread = [], np.zeros(number)
    for away in range(1 - _THICK, _THICK):
        inside = (here + away >= 0) & (here + away < values.shape[mode])
        there = members + away * step * inside
        inside &= True if known is None else known[there]
        same = inside & (flat[there] == flat[members])
        alike.append(2 * np.bincount(run, same, number) > np.bincount(run, inside, number))
        np.maximum(spread, _spreads(flat[there][inside], run[inside], number), out=spread)
    area = np.any([np.all(alike[first : first + _THICK], axis=0) for first in range(_THICK)], axis=0)
    return np.asarray(area | (spread <= _CALM * _usual_spread(values, observed, along)))


def _spreads(values: NDArray[Any], group: Places, number: int) -> NDArray[np.float64]:
    """Interquartile range of every group, whose numbers are in order."""
    if not values.size:
        return np.zeros(number)
    ordered = values[np.lexsort((values, group))].astype(np.float64)
    counts = np.bincount(group, minlength=number)
    first, last = np.cumsum(counts) - counts, np.maximum(counts - 1, 0)
    low, high = (ordered[(first + share * last // 4) * (counts > 0)] for share in (1, 3))
    return np.where(counts > 0, high - low, 0.0)


def _usual_spread(values: NDArray[Any], observed: Marks | None, mode: int) -> float:
    """Interquartile range of the fibres of a mode, by the median of some."""
    length = values.shape[mode]
    fibres = np.moveaxis(values, mode, -1).reshape(-1, length)
    known = np.ones(fibres.shape, bool) if observed is None else np.moveaxis(observed, mode, -1).reshape(-1, length)
    every = 1 + len(fibres) // _FIBRES
    fibres, known = fibres[::every], known[::every]
    group = np.repeat(np.arange(len(fibres)), np.count_nonzero(known, axis=1))
    spreads = _spreads(fibres[known], group, len(fibres))[known.any(1)]
    return float(np.median(spreads)) if spreads.size else 0.0
