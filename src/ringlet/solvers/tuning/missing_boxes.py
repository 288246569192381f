"""Boxes in which nothing is known: their sizes, and boxes of the same sizes in known places."""

from math import ceil

import numpy as np
from numpy.typing import NDArray

__all__ = ["box_around", "boxes_like_missing"]

_ANCHORS = 40  # places without data that are searched for boxes
_STEPS = 32  # in which a box can grow as long as a mode
_LONGEST = 0.6  # share of a mode: longer boxes leave almost nothing of its fibres
_KNOWN = 0.6  # least known share of a box
_TRIES = 200


def box_around(missing: NDArray[np.bool_], place: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The box around a missing place: it grows along all modes in turn, both ways, while everything in it is missing.

    Examples
    --------
    >>> missing = np.zeros((20, 20), bool)
    >>> missing[2:9, 5:11] = True
    >>> start, stop = box_around(missing, np.array([4, 6]))
    >>> start.tolist(), stop.tolist()
    ([2, 5], [9, 11])
    """
    start, stop = place.copy(), place + 1
    growing = True
    while growing:
        growing = False
        for mode, length in enumerate(missing.shape):
            for step in sorted({1, ceil(length / _STEPS)}, reverse=True):
                for face in ((max(start[mode] - step, 0), start[mode]), (stop[mode], min(stop[mode] + step, length))):
                    spans = [
                        slice(*face) if mode == k else slice(*span)
                        for k, span in enumerate(zip(start, stop, strict=True))
                    ]
                    if face[0] < face[1] and missing[tuple(spans)].all():
                        start[mode], stop[mode] = min(start[mode], face[0]), max(stop[mode], face[1])
                        growing = True
    return start, stop


def boxes_like_missing(missing: NDArray[np.bool_], share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Entries in boxes of the sizes of missing ones, at random places of which most is known.

    Parameters
    ----------
    missing : array of bool
    share : float
        Share of the known entries that should be in the boxes.
    rng : numpy.random.Generator

    Returns
    -------
    array of bool
        All False where missing boxes are about as long as a mode: what is known along it then does not predict them.

    Examples
    --------
    >>> missing = np.zeros((60, 60), bool)
    >>> missing[20:30, 10:25] = True
    >>> found = boxes_like_missing(missing, 0.1, np.random.default_rng(0))
    >>> bool((found & missing).any()), bool(0.05 < found.mean() < 0.2)
    (False, True)
    """
    found = np.zeros_like(missing)
    holes, shape = np.argwhere(missing), np.array(missing.shape)
    if not len(holes):
        return found
    ends = [box_around(missing, place) for place in holes[rng.integers(0, len(holes), _ANCHORS)]]
    sizes = np.array([stop - start for start, stop in ends])
    sizes = sizes[(sizes <= _LONGEST * shape).all(axis=1)]
    if len(sizes) < _ANCHORS / 2:
        return found
    wanted = share * (missing.size - len(holes))
    for _ in range(_TRIES):
        size = sizes[rng.integers(len(sizes))]
        box = tuple(slice(low, low + side) for low, side in zip(rng.integers(0, shape - size + 1), size, strict=True))
        if np.mean(~missing[box]) >= _KNOWN:
            found[box] = True
        if np.count_nonzero(found & ~missing) >= wanted:
            break
    return found & ~missing
