"""What wrong values look like: their share, and how often they take which value.

Wrong values often sit on few values: 0 and 255, saturation, a fill value that was left in. Such atoms are seen in the
histogram of all values. The rest is taken as uniform over the range of the data.
"""

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["OutlierModel", "outliers_of_values"]

Array64: TypeAlias = NDArray[np.float64]

_MOST_OWN_CELLS = 1024  # distinct values; with more, cells hold equal numbers of entries
_CELLS = 256  # of these
_AROUND = 6  # cells on either side, with which the frequency of a value is compared
_EXCESS = 3.0  # medians of these that a value may have without being an atom
_LEAST_ATOM = 0.005  # of all entries
_REPEATED = 8  # entries of a value that lies on a grid, as whole numbers do
_GRID_VALUES = 2 * _AROUND  # such values, at least: fewer are atoms of data that lie on none
_GRID_SHARE = 0.5  # least share of all entries that lie on it
_GAP = 50.0  # median widths of a cell: a wider one is a gap between values
_MOST_ATOM = 0.3  # a more frequent value is a background
_FIRST_SMOOTH = 0.03  # share of wrong values that are no atoms, before any is judged; if there are atoms
_ONLY_SMOOTH = 0.1  # the same if there are no atoms
_LEAST_SMOOTH = 1e-4  # so that values that fit nothing are still found
_UNIFORM = 0.2  # share of the uniform distribution in that of wrong values that are no atoms
_DAMPING = 0.5  # of the old shares that is kept when they are learned again


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
        Cells that far more entries lie in than in those around.
    counts : float64 array of shape (cells,)
        Share of all observed entries in a cell.
    """

    edges: Array64
    masses: Array64
    atoms: NDArray[np.bool_]
    counts: Array64

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

    def log_density(self, values: NDArray[Any]) -> Array64:
        """Logarithm of the density of wrong values.

        Examples
        --------
        >>> model = OutlierModel(np.array([0.0, 1, 2]), np.array([0.1, 0.3]), np.array([False, True]), np.full(2, 0.5))
        >>> np.exp(model.log_density(np.array([0.5, 1.5])))
        array([0.25, 0.75])
        """
        return np.asarray(np.log(self.masses / (self.share * self.widths)))[self.cell(values)]

    @property
    def first_trust(self) -> Array64:
        """Probability that an entry of a cell is right, judged by nothing but the cell's atom."""
        return 1 - np.minimum(np.where(self.atoms, self.masses, 0) / np.maximum(self.counts, 1e-300), 1)

    def learned_again(self, wrong: Array64) -> "OutlierModel":
        """The model after entries were judged.

        Atoms only get smaller: they were measured as an excess, of which some may belong to right values.

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
    """A first model from all observed values: atoms of their histogram, and a small uniform part.

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
    distinct, numbers = np.unique(values, return_counts=True)
    distinct = distinct.astype(np.float64)
    if distinct.size == 1:
        half = abs(distinct[0]) / 2 or 0.5
        edges, counts, excess = distinct[0] + np.array([-half, half]), np.ones(1), np.zeros(1)
    elif distinct.size <= _MOST_OWN_CELLS:
        middle = (distinct[1:] + distinct[:-1]) / 2
        edges = np.concatenate([[2 * distinct[0] - middle[0]], middle, [2 * distinct[-1] - middle[-1]]])
        counts = numbers / values.size
        excess = counts - _EXCESS * _median_around(counts)
    else:
        edges, counts, excess = _quantile_cells(distinct, numbers / values.size, _on_grid(numbers))
    atoms = (excess > _LEAST_ATOM) & (counts < _MOST_ATOM)
    spans = _spans(edges)
    uniform = (_FIRST_SMOOTH if atoms.any() else _ONLY_SMOOTH) * spans / spans.sum()
    return OutlierModel(edges, np.where(atoms, excess, 0) + uniform, atoms, counts)


def _spans(edges: Array64) -> Array64:
    """Widths of the cells; those of gaps, as between data and a fill value of -9999, count as much smaller ones."""
    widths = np.diff(edges)
    return np.minimum(widths, _GAP * float(np.median(widths)))


def _mean_around(masses: Array64, widths: Array64) -> Array64:
    """Masses of cells when the density in and around every cell is taken as even."""
    return widths * _sum_around(masses) / _sum_around(widths)


def _sum_around(values: Array64) -> Array64:
    """Sum of every cell and those around it; at the ends there are fewer."""
    return np.convolve(values, np.ones(2 * _AROUND + 1))[_AROUND : _AROUND + values.size]


def _median_around(counts: Array64) -> Array64:
    """Median of every value and those around it; at the ends there are fewer."""
    return np.array([np.median(counts[max(0, cell - _AROUND) : cell + _AROUND + 1]) for cell in range(counts.size)])


def _on_grid(numbers: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which values lie on a grid, if most entries do: whole numbers, of which some were replaced by any number."""
    repeated = numbers >= _REPEATED
    share = numbers[repeated].sum() / numbers.sum()
    return repeated if np.count_nonzero(repeated) > _GRID_VALUES and share > _GRID_SHARE else np.zeros_like(repeated)


def _quantile_cells(distinct: Array64, counts: Array64, grid: NDArray[np.bool_]) -> tuple[Array64, Array64, Array64]:
    """Edges, shares and excesses: a cell of its own for every frequent value, cells of equal share for the others.

    A value on a grid is only as unusual as it is more frequent than those around it on the grid.
    """
    frequent = counts > _LEAST_ATOM
    excess = np.where(frequent, counts, 0.0)
    excess[grid] = np.minimum(excess[grid], counts[grid] - _EXCESS * _median_around(counts[grid]))
    heaps = np.where(frequent, 0.0, counts)
    rank = np.minimum((np.cumsum(heaps) / max(heaps.sum(), 1e-300) * _CELLS).astype(int), _CELLS - 1)
    first = np.flatnonzero(np.diff(rank, prepend=-1) | frequent | np.append(False, frequent[:-1]))
    middle = (distinct[1:] + distinct[:-1]) / 2
    edges = np.concatenate([distinct[:1], middle[first[1:] - 1], [distinct[-1] + (distinct[-1] - distinct[-2])]])
    shares = np.add.reduceat(counts, first)
    return edges, shares, np.where(frequent[first], excess[first], 0.0)
