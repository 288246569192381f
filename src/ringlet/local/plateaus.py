"""Whether entries lie scattered, as wrong ones do, or side by side, as in an area of one value or along an edge."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ringlet.local.judgement import TRUSTED, Trust
from ringlet.local.neighbours import pair_sums, shifted
from ringlet.local.outlier_model import MOST_ATOM, OutlierModel
from ringlet.local.window import Entries, Window

__all__ = ["Structure", "find_structure", "least_neighbour_share", "only_scattered"]

Marked = tuple[NDArray[np.bool_], NDArray[np.bool_] | None]  # some entries, and all that are observed; None: all are

_FEWEST_PAIRS = 30  # of observed neighbours: fewer show nothing
_FAR = 1.0  # ranges of all other values: a value that is farther off is a fill value, wherever it lies
_CLUSTERED = 3.0  # doubted share of the neighbours of doubted entries over that of all: at edges at least


@dataclass(frozen=True)
class Structure:
    """Doubted entries that lie side by side are right: edges and small objects do, which a ring does not reach.

    Attributes
    ----------
    low, high : float
        The smallest and the largest value that is believed; what lies beyond stays wrong, wherever it lies.
    """

    low: float
    high: float

    def believed(self, window: Window, trust: Trust, atoms: NDArray[np.bool_]) -> Trust:
        """The trust in which doubted entries beside other ones have a weight of one."""
        doubted = _doubted(window, trust, atoms)
        values = window.ring + window.residuals
        doubted &= (values >= self.low) & (values <= self.high)
        beside = np.zeros_like(doubted)
        for mode in window.layout.modes.ordered:
            beside |= pair_sums(doubted.astype(np.float32), mode) > 0
        return Trust(np.where(doubted & beside, np.float32(1), trust.weights), trust.calm)


def find_structure(windows: Sequence[Window], trusts: Sequence[Trust], atoms: NDArray[np.bool_]) -> Structure | None:
    """Whether doubted entries lie side by side along every ordered mode; errors hit one here and one there.

    Parameters
    ----------
    windows : sequence of Window
    trusts : sequence of Trust
    atoms : bool array
        Cells of frequent values of wrong entries, which stay wrong.
    """
    marked = [(_doubted(window, trust, atoms), window.observed) for window, trust in zip(windows, trusts, strict=True)]
    number = sum(int(np.count_nonzero(doubted)) for doubted, _ in marked)
    share = number / max(sum(int(np.count_nonzero(observed)) for _, observed in marked), 1)
    if not 0 < share <= least_neighbour_share(marked, windows[0].layout.modes.ordered) / _CLUSTERED:
        return None
    believed = [
        (window.ring + window.residuals)[trust.weights > TRUSTED] for window, trust in zip(windows, trusts, strict=True)
    ]
    believed = [values for values in believed if values.size]
    if not believed:
        return None
    return Structure(min(float(values.min()) for values in believed), max(float(values.max()) for values in believed))


def _doubted(window: Window, trust: Trust, atoms: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Entries that are probably wrong without taking one of the few values of wrong ones."""
    return window.observed & (trust.weights < TRUSTED) & ~atoms[window.cells]


def only_scattered(outliers: OutlierModel, sample: Sequence[Entries]) -> OutlierModel:
    """The model in which frequent values count as wrong only as far as their entries lie scattered.

    Examples
    --------
    >>> from ringlet.local.outlier_model import outliers_of_values
    >>> values = np.random.default_rng(0).integers(100, 200, (90, 80))
    >>> values[20:60, 10:30], values[::3, 40::3] = 150, 170
    >>> first = outliers_of_values(values.ravel())
    >>> then = only_scattered(first, [Entries(values, None, values)])
    >>> first.masses[first.atoms].round(2), then.masses[first.atoms].round(2)
    (array([0.11, 0.06]), array([0.01, 0.06]))
    """
    parts = np.ones(outliers.masses.size)
    for cell in np.flatnonzero(outliers.atoms):
        if _is_far(outliers, int(cell)):
            continue
        low, high = outliers.edges[cell : cell + 2]
        inside = [((one.values >= low) & (one.values < high), one.observed) for one in sample]
        together = least_neighbour_share(inside, range(sample[0].values.ndim))
        parts[cell] = min((1.0 - together) / (1.0 - float(outliers.counts[cell])), 1.0)
    return outliers.with_parts_of_atoms(parts)


def least_neighbour_share(marked: Sequence[Marked], modes: Sequence[int]) -> float:
    """Share of the observed neighbours of marked entries that are marked, too: the least along any of some modes.

    0 if there are too few neighbours.

    Examples
    --------
    >>> area = np.zeros((30, 30), bool)
    >>> area[5:25, 5:25] = True
    >>> least_neighbour_share([(area, None)], (0, 1)), least_neighbour_share([(np.eye(30, dtype=bool), None)], (0, 1))
    (0.95, 0.0)
    """
    found = []
    for mode in modes:
        pairs = same = 0
        ahead, behind = shifted(mode, 1)
        for chosen, observed in marked:
            known = np.ones_like(chosen) if observed is None else observed
            here = chosen & known
            same += 2 * int(np.count_nonzero(here[ahead] & here[behind]))
            pairs += int(np.count_nonzero(here[ahead] & known[behind]))
            pairs += int(np.count_nonzero(here[behind] & known[ahead]))
        if pairs >= _FEWEST_PAIRS:
            found.append(same / pairs)
    return min(found, default=0.0)


def _is_far(outliers: OutlierModel, cell: int) -> bool:
    """Whether a value lies far beyond nearly all others."""
    others = np.where(outliers.counts < MOST_ATOM, outliers.counts, 0)  # a background has no range
    others[cell] = 0
    if not others.any():
        return False
    below = np.cumsum(others) / others.sum()
    low = float(outliers.edges[np.searchsorted(below, 0.005) + 1])  # inner edges: outer ones reach into gaps
    high = float(outliers.edges[min(int(np.searchsorted(below, 0.995)), below.size - 1)])
    middle = (outliers.edges[cell] + outliers.edges[cell + 1]) / 2
    return high > low and bool(middle < low - _FAR * (high - low) or middle > high + _FAR * (high - low))
