"""The subchain of a core as a matrix, formed a piece at a time, and the normal equations of every slice."""

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.arrays import Floats
from ringlet.ring.chain import Core, merge
from ringlet.sources.base import slabs

__all__ = ["HELD_NUMBERS", "PIECE_NUMBERS", "NormalEquations", "Subchain", "weighted_grams"]


HELD_NUMBERS = 1 << 23  # a subchain of up to this number of entries is formed once for all slices,
PIECE_NUMBERS = 1 << 20  # a larger one in parts of this size


class Subchain:
    """S_k, of which only a piece is formed at a time unless it is small.

    Attributes
    ----------
    columns : int
        Rows of S_k, the columns of the unfolding X_k.
    pieces : list of (slice, tuple of slices)
        Which columns a piece holds, and the indices of the modes k+1, .., k-1 that they are.
    """

    def __init__(self, cores: list[Core], mode: int) -> None:
        self._chain = [*cores[mode + 1 :], *cores[:mode]]
        self._unknowns = cores[mode].shape[0] * cores[mode].shape[2]
        sizes = [core.shape[1] for core in self._chain]
        self.columns = prod(sizes)
        held = self.columns * self._unknowns <= HELD_NUMBERS
        self.pieces = []
        start = 0
        for spans in slabs(sizes, self.columns if held else max(1, PIECE_NUMBERS // self._unknowns)):
            stop = start + prod(span.stop - span.start for span in spans)
            self.pieces.append((slice(start, stop), spans))
            start = stop
        self._held = self._form(self.pieces[0][1]) if held else None

    def rows(self, spans: tuple[slice, ...]) -> Floats:
        """The rows of S_k of a piece: in row j, column (a, b), entry (b, a) of the product of the other cores at j."""
        return self._form(spans) if self._held is None else self._held

    def forward(self, rows: Floats) -> Floats:
        """``A S^T``: the model of some slices."""
        return np.concatenate([rows @ self.rows(spans).T for _, spans in self.pieces], axis=1)

    def adjoint(self, entries: Floats) -> Floats:
        """``Y S``, in double precision."""
        total = np.zeros((len(entries), self._unknowns))
        for place, spans in self.pieces:
            total += entries[:, place] @ self.rows(spans)
        return total

    def grams(self, mask: NDArray[np.bool_]) -> Floats:
        """``S^T S`` of the observed entries of every slice, in double precision."""
        total = np.zeros((len(mask), self._unknowns, self._unknowns))
        for place, spans in self.pieces:
            part = self.rows(spans)
            total += weighted_grams(part, np.ones((len(mask), len(part)), part.dtype), mask[:, place])
        return total

    def _form(self, spans: tuple[slice, ...]) -> Floats:
        first, *others = (core[:, span, :] for core, span in zip(self._chain, spans, strict=True))
        if not others:
            return np.ascontiguousarray(first.transpose(1, 2, 0)).reshape(-1, self._unknowns)
        rest = merge(others)  # [c, j, a]
        rest = np.ascontiguousarray(rest.transpose(1, 2, 0)).reshape(-1, rest.shape[0])  # [(j, a), c]
        return np.asarray(rest @ first.transpose(1, 2, 0)).reshape(-1, self._unknowns)  # [i, (j, a), b]


def weighted_grams(part: Floats, weights: Floats, mask: NDArray[np.bool_]) -> Floats:
    """``S^T diag(w_i) S`` for every slice, in double precision, from the observed entries only."""
    total = np.empty((len(weights), part.shape[1], part.shape[1]))
    for gram, row, observed in zip(total, weights, mask, strict=True):
        chosen = np.flatnonzero(observed)
        design = part[chosen]
        design *= np.sqrt(row[chosen, None])
        gram[...] = design.T @ design
    return total


class NormalEquations:
    """Least squares for every slice, solved for the change of the current rows.

    The part that the rows already fit is not computed again, so the rounding errors of a solution shrink with its step.
    Directions that the data hardly determine move slowly.

    Parameters
    ----------
    grams : array of float64, shape (slices, n, n)
        ``A^T W A`` of every slice; overwritten.
    ridge : float
        Penalty on the rows, relative to the mean diagonal.
    dtype : dtype
        Of the entries that the matrices were made from.

    Examples
    --------
    >>> equations = NormalEquations(np.array([np.diag([2.0, 4.0])]), 0.0, np.dtype("f8"))
    >>> equations.step(np.array([[5.0, 5.0]]), np.array([[2.0, 2.0]])).round(6)
    array([[1. , 0.5]])
    """

    def __init__(self, grams: Floats, ridge: float, dtype: np.dtype[Any]) -> None:
        unknowns = grams.shape[-1]
        levels = np.trace(grams, axis1=1, axis2=2) / unknowns
        self._penalties = (ridge * levels)[:, None]
        least = 10 * unknowns * np.finfo(dtype).eps
        diagonal = np.arange(unknowns)
        grams[:, diagonal, diagonal] += np.where(levels > 0.0, max(ridge, least) * levels, 1.0)[:, None]
        self._inverses = np.linalg.inv(grams)

    def step(self, rows: Floats, gradient: Floats) -> Floats:
        """Change of the rows, from ``A^T W (y - A u)``; nothing in slices without data."""
        return np.asarray((self._inverses @ (gradient - self._penalties * rows)[..., None])[..., 0])
