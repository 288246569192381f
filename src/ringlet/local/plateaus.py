"""Whether entries are scattered, as wrong ones are, or lie side by side, as in areas of one value or along edges."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ringlet.local.judgement import TRUSTED, Trust
from ringlet.local.modes import SHORTEST
from ringlet.local.neighbours import Array32, pair_sums, shifted
from ringlet.local.outlier_model import MOST_ATOM, OutlierModel
from ringlet.local.window import Entries, Window

__all__ = [
    "REACH",
    "Structure",
    "counted_around",
    "find_structure",
    "first_trust",
    "least_neighbour_share",
    "only_scattered",
]

Marked = tuple[NDArray[np.bool_], NDArray[np.bool_] | None]  # some entries, and all that are observed; None: all are

_FEWEST_PAIRS = 30  # least number of observed neighbours
REACH = 2  # entries to either side, in which neighbours of the same value are counted
_MOST_MODES = 4  # modes of their window: along more, tables of their numbers would take gigabytes
_RARE = 0.3  # share of these neighbours: where a value has a larger one, it may fill an area
_FEWEST_PLACES = 200  # where a value is rare: fewer show nothing
_FAR = 1.0  # ranges of all other values: a value farther away is a fill value at any place
_CLUSTERED = 3.0  # least ratio, at edges, of the doubted share of neighbours of doubted entries to that of all


@dataclass(frozen=True)
class Structure:
    """Doubted entries that lie side by side are right: edges and small objects that a ring cannot describe.

    Attributes
    ----------
    low, high : float
        The smallest and the largest trusted value; values beyond stay wrong at any place.
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
    """Whether doubted entries lie side by side along every ordered mode; errors are scattered.

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
    """Entries that are probably wrong and have none of the few values of wrong ones."""
    return window.observed & (trust.weights < TRUSTED) & ~atoms[window.cells]


def only_scattered(outliers: OutlierModel, sample: Sequence[Entries]) -> OutlierModel:
    """The model in which a frequent value counts as wrong as often as it occurs where it is rare.

    An area of one value is so no sign of errors, however large, and salt on it hides no pepper.

    Examples
    --------
    >>> from ringlet.local.outlier_model import outliers_of_values
    >>> values = np.random.default_rng(0).integers(100, 200, (90, 80))
    >>> values[20:60, 10:30], values[::3, 40::3] = 150, 170
    >>> first = outliers_of_values(values.ravel())
    >>> then = only_scattered(first, [Entries(values, None, values)])
    >>> first.masses[first.atoms].round(2), then.masses[then.atoms].round(2)
    (array([0.11, 0.06]), array([0.01, 0.06]))
    """
    parts = np.ones(outliers.masses.size)
    long = [mode for mode, length in enumerate(sample[0].values.shape) if length >= SHORTEST]
    known = [_observed(one) for one in sample]
    around = [counted_around(one, long) for one in known]
    for cell in np.flatnonzero(outliers.atoms):
        if _is_far(outliers, int(cell)):
            continue
        low, high = outliers.edges[cell : cell + 2]
        places = found = 0
        for entries, observed, number in zip(sample, known, around, strict=True):
            here = observed & (entries.values >= low) & (entries.values < high)
            rare = observed & (counted_around(here, long) <= _RARE * number)
            places += int(np.count_nonzero(rare))
            found += int(np.count_nonzero(rare & here))
        share = found / places if places >= _FEWEST_PLACES else 0.0
        parts[cell] = min(share / outliers.masses[cell], 1.0)
    return outliers.with_parts_of_atoms(parts)


def first_trust(window: Window, outliers: OutlierModel) -> Array32:
    """Probability that an entry is right, judged by nothing but how many neighbours have the same frequent value.

    Of the neighbours of a wrong entry, as many have its value as chance explains. Of those of a right one, any number
    may have it.
    """
    weights = outliers.first_trust.astype(np.float32)[window.cells]
    weights *= window.observed
    ordered = window.layout.modes.ordered
    if not ordered or not outliers.atoms.any():
        return weights
    known = counted_around(window.observed, ordered)
    for cell in np.flatnonzero(outliers.atoms):
        here = window.observed & (window.cells == cell)
        same = counted_around(here, ordered)[here]
        table = _trust_by_neighbours(int(known.max(initial=0)), outliers.masses[cell], outliers.counts[cell])
        weights[here] = table[known[here], same]
    return weights


def counted_around(marked: NDArray[np.bool_], modes: Sequence[int]) -> NDArray[np.int16]:
    """How many of the neighbours of every entry are marked, in a window along some modes; not the entry itself.

    Only the first four modes count.

    Examples
    --------
    >>> counted_around(np.array([True, True, False, False, True]), (0,))
    array([1, 1, 3, 2, 0], dtype=int16)
    """
    total = marked.astype(np.int16)
    for mode in modes[:_MOST_MODES]:
        line = total.copy()
        for distance in range(1, min(REACH, marked.shape[mode] - 1) + 1):
            ahead, behind = shifted(mode, distance)
            line[ahead] += total[behind]
            line[behind] += total[ahead]
        total = line
    total -= marked
    return total


def _trust_by_neighbours(known: int, wrong: float, count: float) -> Array32:
    """Probability that an entry of a frequent value is right, by the numbers of its known neighbours and of equal ones.

    Parameters
    ----------
    known : int
        The largest number of neighbours.
    wrong, count : float
        Share of all entries that are wrong and have the value, and that have it.
    """
    from scipy.special import gammaln, xlog1py, xlogy  # here, because importing it takes a fifth of a second

    number, same = np.ogrid[: known + 1, : known + 1]
    others = np.maximum(number - same, 0)
    chance = gammaln(number + 1) - gammaln(same + 1) - gammaln(others + 1)
    chance = np.exp(chance + xlogy(same, wrong) + xlog1py(others, -min(wrong, 1.0)))
    right = max(count - wrong, 0.0) / (number + 1)
    trust: Array32 = (right / np.maximum(right + wrong * chance, 1e-300)).astype(np.float32)
    return trust


def _observed(entries: Entries) -> NDArray[np.bool_]:
    return np.ones(entries.values.shape, bool) if entries.observed is None else entries.observed


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
    """Whether a value is far beyond nearly all others."""
    others = np.where(outliers.counts < MOST_ATOM, outliers.counts, 0)  # a background has no range
    others[cell] = 0
    if not others.any():
        return False
    below = np.cumsum(others) / others.sum()
    low = float(outliers.edges[np.searchsorted(below, 0.005) + 1])  # inner edges: outer ones reach into gaps
    high = float(outliers.edges[min(int(np.searchsorted(below, 0.995)), below.size - 1)])
    middle = (outliers.edges[cell] + outliers.edges[cell + 1]) / 2
    return high > low and bool(middle < low - _FAR * (high - low) or middle > high + _FAR * (high - low))
