"""What the estimators share: a table is checked, put on one scale, folded into a tensor, and fitted by a ring."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ringlet.api import decompose
from ringlet.checks import check_number
from ringlet.errors import ArgumentError
from ringlet.results.fit import Fit
from ringlet.sklearn.row_model import RowModel, row_model
from ringlet.solvers.rank_choice import RankChoice

__all__ = ["RingTable"]

_TABLE_PART = 0.5  # of the entries: numbers that a ring of automatic rank has at most


class RingTable(BaseEstimator):  # type: ignore[misc]
    """A table whose rows are samples, and the ring that was fitted to it."""

    modes: Sequence[int] | None
    rank: Any
    solver: Any
    random_state: Any

    n_features_in_: int
    fit_: Fit
    centre_: NDArray[np.float64]
    scale_: NDArray[np.float64]
    _rows: RowModel

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _checked(self, X: Any, *, reset: bool) -> NDArray[np.floating[Any]]:
        if not reset:
            check_is_fitted(self)
        table: NDArray[np.floating[Any]] = validate_data(
            self,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            ensure_min_samples=2 if reset else 1,
        )
        return table

    def _fit_ring(self, X: Any) -> NDArray[np.float64]:
        """Fit; the table in units of its columns is given back."""
        table = self._checked(X, reset=True).astype(np.float64)
        shape = (len(table), *self._folded(table.shape[1]))
        self.centre_, self.scale_ = _centre_and_scale(table, together=self.modes is not None)
        seed = int(check_random_state(self.random_state).randint(1 << 31))
        rows = self._standardised(table)
        rank = _automatic_rank(shape) if isinstance(self.rank, str) and self.rank == "auto" else self.rank
        self.fit_ = decompose(rows.reshape(shape), rank, solver=self.solver, seed=seed)
        self._rows = row_model(self.fit_.ring, np.median(self.fit_.uncertainty().reshape(table.shape), axis=0))
        return rows

    def _folded(self, columns: int) -> tuple[int, ...]:
        if self.modes is None:
            return (columns,)
        try:
            sizes = tuple(self.modes)
        except TypeError:
            raise ArgumentError(f"modes={self.modes!r} is not a sequence; give e.g. modes=(7, 24)") from None
        for size in sizes:
            check_number("modes", size, at_least=1, whole=True)
        if prod(sizes) != columns or not sizes:
            raise ArgumentError(f"modes={sizes} fold {prod(sizes)} columns, but X has {columns}")
        return tuple(map(int, sizes))

    def _standardised(self, table: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        return np.asarray((table.astype(np.float64) - self.centre_) / self.scale_)


def _automatic_rank(shape: tuple[int, ...]) -> RankChoice:
    """Held-out entries choose the rank; the ring may be larger than that of `decompose`, as tables are small."""
    return RankChoice(parameters=max(int(_TABLE_PART * prod(shape)), sum(shape)))


def _centre_and_scale(table: NDArray[np.float64], *, together: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Median and spread of every column; of folded columns, which share a unit, the spread of all."""
    known = ~np.isnan(table)
    centre, scale = np.zeros(table.shape[1]), np.ones(table.shape[1])
    for column in np.flatnonzero(known.any(axis=0)):
        values = table[known[:, column], column]
        centre[column] = np.median(values)
        spread = 1.4826 * float(np.median(np.abs(values - centre[column])))
        scale[column] = spread if spread > 0 else float(np.std(values)) or 1.0
    if together:
        scale[:] = np.median(scale)
    return centre, scale
