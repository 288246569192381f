"""What wrong values look like: their share, and their distribution.

Wrong entries often have few values: 0 and 255, saturation, a fill value that was left in. Such atoms show in the
histogram of all values. The rest is assumed to be uniform over the range of the data.
"""

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_ATOM", "OutlierModel", "outliers_of_values"]

Array64: TypeAlias = NDArray[np.float64]

_MOST_OWN_CELLS = 1024  # distinct values; with more, cells hold equal numbers of entries
_CELLS = 256  # of these
_AROUND = 6  # cells on either side, with which the frequency of a value is compared
_NEAREST = 2  # of these, the nearest
_EXCESS = 3.0  # a value with more than this number of medians is an atom
_LEAST_ATOM = 0.005  # of all entries
_REPEATED = 8  # entries of a value that lies on a grid, as whole numbers do
_GRID_VALUES = 2 * _AROUND  # least number of such values: fewer are atoms of data without a grid
_GRID_SHARE = 0.5  # least share of all entries that lie on it
_GAP = 50.0  # median widths of a cell: a wider one is a gap between values
MOST_ATOM = 0.3  # a more frequent value is a background, which tells nothing of the range of the data
_FIRST_SMOOTH = 0.03  # first share of wrong values that are no atoms; if there are atoms
_ONLY_SMOOTH = 0.05  # the same if there are no atoms
_LEAST_SMOOTH = 1e-4  # least share, so that values that fit nothing are still found
_UNIFORM = 0.2  # share of the uniform distribution in that of wrong values that are no atoms
_DAMPING = 0.5  # part of the old shares that remains when they are learned again
_CLIPPED, _CLIPPED_ENTRIES = 0.001, 3  # share and number of the entries at the largest value that show a limit


@dataclass(frozen=True, eq=False)
class OutlierModel:
    """Share and distribution of wrong values, over cells of values.

    Attributes
    ----------
    edges : float64 array of shape (cells + 1,)
        Cell i holds the values from ``edges[i]`` to ``edges[i + 1]``.
    masses : float64 array of shape (cells,)
        Share of all observed entries that are wrong and in a cell.
    atoms : bool array of shape (cells,)
        Cells with far more entries than those around.
    counts : float64 array of shape (cells,)
        Share of all observed entries in a cell.
    clipped : tuple of two bool
        Whether values below the first cell, and above the last, were cut off: they are in it.
    step : float
        Median difference of successive values.
    repeats : bool
        Whether any value is far more frequent than those around it, right or wrong. Noise leaves no such value.
    """

    edges: Array64
    masses: Array64
    atoms: NDArray[np.bool_]
    counts: Array64
    clipped: tuple[bool, bool] = (False, False)
    step: float = 0.0
    repeats: bool = False

    @property
    def share(self) -> float:
        """Share of the observed entries that are wrong."""
        return float(self.masses.sum())

    @property
    def widths(self) -> Array64:
        """Of the cells."""
        return np.diff(self.edges)

    def cell(self, values: NDArray[Any]) -> NDArray[np.int16]:
        """Number of the cell of every value; values beyond the range belong to the cells at its ends."""
        if values.dtype == np.uint8 and values.size > 256:
            table: NDArray[np.int16] = self.cell(np.arange(256))
            return np.asarray(table[values])  # much faster than a search for every value
        return np.clip(np.searchsorted(self.edges, values, "right") - 1, 0, self.masses.size - 1).astype(np.int16)

    @property
    def first_trust(self) -> Array64:
        """Probability that an entry of a cell is right, judged by the cell's atom only."""
        return 1 - np.minimum(np.where(self.atoms, self.masses, 0) / np.maximum(self.counts, 1e-300), 1)

    def with_parts_of_atoms(self, parts: Array64) -> "OutlierModel":
        """The model in which only a part of every atom is wrong; small ones are no atoms then.

        Parameters
        ----------
        parts : float64 array of shape (cells,)
            From 0 to 1.
        """
        masses = np.where(self.atoms, self.masses * parts, self.masses)
        atoms = self.atoms & (masses > _LEAST_ATOM)
        spans = _spans(self.edges)
        uniform = (_FIRST_SMOOTH if atoms.any() else _ONLY_SMOOTH) * spans / spans.sum()
        return replace(self, masses=np.where(atoms, masses, uniform), atoms=atoms)

    def learned_again(self, wrong: Array64) -> "OutlierModel":
        """The model after entries were judged.

        Atoms only become smaller: a part of the measured excess may belong to right values.

        Parameters
        ----------
        wrong : float64 array of shape (cells,)
            Share of all observed entries that are judged wrong and in a cell.
        """
        others = np.where(self.atoms, 0, wrong)
        smooth = max(float(others.sum()), _LEAST_SMOOTH)
        spans = _spans(self.edges)
        uniform = smooth * spans / spans.sum()
        spread = _UNIFORM * uniform + (1 - _UNIFORM) * _mean_around(others, spans)
        now = np.where(self.atoms, np.minimum(wrong, self.masses), 0) + spread
        return replace(self, masses=_DAMPING * self.masses + (1 - _DAMPING) * now)


def outliers_of_values(values: NDArray[Any]) -> OutlierModel:
    """The first model from all observed values: atoms of their histogram, and a small uniform part.

    Parameters
    ----------
    values : array of shape (M,)

    Examples
    --------
    >>> values = np.concatenate([np.random.default_rng(0).integers(0, 256, 9000), np.zeros(1000, int)])
    >>> model = outliers_of_values(values)
    >>> np.flatnonzero(model.atoms), round(float(model.masses[0]), 1)
    (array([0]), 0.1)
    """
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:  # large neighbours are equal as floats
        values = values.astype(np.float64)
    distinct, numbers = _counted(values)
    distinct, shares = distinct.astype(np.float64), numbers / values.size
    excess = np.zeros(shares.size)
    compared = _on_grid(numbers)
    excess[compared] = _excess(shares[compared])
    if distinct.size == 1:
        half = abs(distinct[0]) / 2 or 0.5
        edges, first = distinct[0] + np.array([-half, half]), np.zeros(1, np.intp)
    else:
        own = distinct.size <= _MOST_OWN_CELLS
        first = np.arange(distinct.size) if own else _quantiles(shares, excess > _LEAST_ATOM)
        middle = ((distinct[1:] + distinct[:-1]) / 2)[first[1:] - 1]
        ends = np.array(
            [distinct[0] - (distinct[1] - distinct[0]) / 2, distinct[-1] + (distinct[-1] - distinct[-2]) / 2]
        )
        edges = np.concatenate([ends[:1], middle, ends[1:]])
    counts, excess = np.add.reduceat(shares, first), np.maximum.reduceat(excess, first)
    atoms = excess > _LEAST_ATOM
    spans = _spans(edges)
    uniform = (_FIRST_SMOOTH if atoms.any() else _ONLY_SMOOTH) * spans / spans.sum()
    single = np.diff(first, append=distinct.size) == 1  # cells of one value
    clipped = [
        bool(single[end] and shares[end] >= _CLIPPED and numbers[end] >= _CLIPPED_ENTRIES and distinct.size > 1)
        for end in (0, -1)
    ]
    step = float(np.median(np.diff(distinct))) if distinct.size > 1 else float(edges[1] - edges[0])
    masses, ends_clipped = np.where(atoms, excess, uniform), (clipped[0], clipped[1])
    return OutlierModel(edges, masses, atoms, counts, ends_clipped, step, bool(atoms.any()))


def _counted(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Distinct values and their counts; without a sort if few values are possible."""
    if values.dtype.kind != "u" or values.dtype.itemsize > 2:
        return np.unique(values, return_counts=True)
    numbers = np.bincount(values)
    distinct = np.flatnonzero(numbers)
    return distinct, numbers[distinct]


def _spans(edges: Array64) -> Array64:
    """Widths of the cells; those of gaps, as between data and a fill value of -9999, count as much smaller ones."""
    widths = np.diff(edges)
    return np.minimum(widths, _GAP * float(np.median(widths[widths > 0])))  # 0 between floats next to each other


def _mean_around(masses: Array64, widths: Array64) -> Array64:
    """Masses of cells if the density in and around every cell is assumed to be even."""
    return widths * _sum_around(masses) / _sum_around(widths)


def _sum_around(values: Array64) -> Array64:
    """Sum of every cell and those around it; at the ends there are fewer."""
    return np.convolve(values, np.ones(2 * _AROUND + 1))[_AROUND : _AROUND + values.size]


def _excess(shares: Array64) -> Array64:
    """How much more frequent a value is than those around it; 0 of values that are not far more frequent.

    It is compared with the median of the nearest values, and with that of all around. Near an end, where frequencies
    rise or fall, as from black on in a dark picture, only as many count on the one side as there are on the other.
    """
    excess = np.zeros(shares.size)
    for place in np.flatnonzero(shares > _LEAST_ATOM).tolist():
        from_end = min(place, shares.size - 1 - place)
        around = min(max(from_end, _NEAREST), _AROUND)
        usual = max(_median_beside(shares, place, radius) for radius in (_NEAREST, around))
        if shares[place] > _EXCESS * usual + _LEAST_ATOM:
            excess[place] = shares[place] - usual
    return excess


def _median_beside(shares: Array64, place: int, radius: int) -> float:
    """The median of up to `radius` shares on either side of a place; 0 if there are none."""
    beside = np.concatenate([shares[max(0, place - radius) : place], shares[place + 1 : place + radius + 1]])
    return float(np.median(beside)) if beside.size else 0.0


def _on_grid(numbers: NDArray[np.intp]) -> NDArray[np.bool_]:
    """The values that lie on a grid, if most entries do, else all values.

    Whole numbers are a grid, also if some of them were replaced by any number: these occur once each.
    """
    repeated = numbers >= _REPEATED
    share = numbers[repeated].sum() / numbers.sum()
    return repeated if np.count_nonzero(repeated) > _GRID_VALUES and share > _GRID_SHARE else np.ones_like(repeated)


def _quantiles(shares: Array64, alone: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The first value of every cell: some values have their own cell, the others cells of equal share."""
    heaps = np.where(alone, 0.0, shares)
    rank = np.minimum((np.cumsum(heaps) / max(heaps.sum(), 1e-300) * _CELLS).astype(int), _CELLS - 1)
    return np.flatnonzero(np.diff(rank, prepend=-1) | alone | np.append(False, alone[:-1]))
