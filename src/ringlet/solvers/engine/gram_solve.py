"""Solving with the Gram matrix: one Cholesky factorisation per core, many right-hand sides.

Factor and solves are cut into tiles of fixed size, each one matrix product, so that threads share the work and the
bits do not depend on their number. The factor is computed in float64 and applied in the dtype of the right-hand sides.
"""

from collections import deque
from typing import Any

import numpy as np

from ringlet.ring.arrays import Array64, Floats, Mapper
from ringlet.ring.gram import KroneckerSum, inverse_cholesky

__all__ = ["LEAST_SHIFT", "RELATIVE_RIDGE", "GramFactor", "solve_once"]


_TILE = 256
_ROWS = 256
_SMALL = 64  # rows and columns: below this, calls take longer than arithmetic
RELATIVE_RIDGE = 1e-10  # lambda = 1e-10 ||G||_F
LEAST_SHIFT = 1e-280  # added to the diagonal of a zero matrix, so that a tenfold shift is more than zero
_ATTEMPTS = 24  # attempts to factor: after these the shift is far above ||G||_F, or G is not finite


class GramFactor:
    """Cholesky factor of ``G + lambda I``.

    Parameters
    ----------
    gram : KroneckerSum
        G, not zero.
    ridge : float
        Added to the diagonal on top of ``1e-10 ||G||_F``; grown tenfold until the factorisation succeeds.
    dtype : dtype
        Of the right-hand sides to come.
    mapper : callable
        Used like `map` for independent pieces.
    room : array of float64, shape (n, n), finite, optional
        Where to work; overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> factor = GramFactor(KroneckerSum.of(np.diag([2.0, 4.0])), 0.0, np.dtype("f8"))
    >>> factor.solve(np.array([[2.0, 2.0]])).round(6)
    array([[1. , 0.5]])
    """

    def __init__(
        self, gram: KroneckerSum, ridge: float, dtype: np.dtype[Any], mapper: Mapper = map, room: Array64 | None = None
    ) -> None:
        lower = np.zeros((gram.size, gram.size)) if room is None else room
        self._mapper = mapper
        mapper = mapper if gram.size > _TILE else map  # threads would cost more than they save
        self._starts = range(0, gram.size, _TILE)
        gram.dense(mapper, lower, lower_only=True)
        shift = max(RELATIVE_RIDGE * gram.norm + ridge, LEAST_SHIFT)
        for attempt in range(_ATTEMPTS):
            lower.flat[:: gram.size + 1] += shift
            try:
                inverses = _factor(lower, mapper)
                break
            except np.linalg.LinAlgError:
                if attempt == _ATTEMPTS - 1:
                    raise
                gram.dense(mapper, lower, lower_only=True)
                # The norm of tiny matrices may underflow, but not their entries.
                shift = max(10 * shift, RELATIVE_RIDGE * float(lower.diagonal().max()))
        self._inverses = [inverse.astype(dtype) for inverse in inverses]
        self._panels = list(mapper(lambda start: lower[start : start + _TILE, :start].astype(dtype), self._starts))

    def solve(self, rows: Floats) -> Floats:
        """``rows @ (G + lambda I)^-1``."""
        out = rows.copy()
        blocks = [out[start : start + _ROWS] for start in range(0, len(rows), _ROWS)]
        deque(self._mapper(self._solve_in_place, blocks), maxlen=0)
        return out

    def _solve_in_place(self, rows: Floats) -> None:
        pieces = [slice(start, start + _TILE) for start in self._starts]
        for piece, panel, inverse in zip(pieces, self._panels, self._inverses, strict=True):  # y L^T = d
            if piece.start:
                rows[:, piece] -= rows[:, : piece.start] @ panel.T
            rows[:, piece] = rows[:, piece] @ inverse.T
        for piece, panel, inverse in zip(
            pieces[::-1], self._panels[::-1], self._inverses[::-1], strict=True
        ):  # h L = y
            rows[:, piece] = rows[:, piece] @ inverse
            if piece.start:
                rows[:, : piece.start] -= rows[:, piece] @ panel


def solve_once(gram: KroneckerSum, ridge: float, rows: Floats, mapper: Mapper, room: Array64 | None = None) -> Floats:
    """``rows @ (G + lambda I)^-1``, like a `GramFactor` that is used once.

    Small systems are one call of LAPACK.

    Parameters
    ----------
    gram : KroneckerSum
    ridge, mapper, room
        As in `GramFactor`.
    rows : array, shape (.., n)

    Examples
    --------
    >>> import numpy as np
    >>> solve_once(KroneckerSum.of(np.diag([2.0, 4.0])), 0.0, np.array([[2.0, 2.0]]), map).round(6)
    array([[1. , 0.5]])
    """
    if max(rows.shape) <= _SMALL:
        from scipy.linalg.lapack import dposv  # SciPy takes long to import

        size = rows.shape[-1]
        shifted = gram.dense(out=room, lower_only=True)
        shifted.reshape(-1)[:: size + 1] += RELATIVE_RIDGE * gram.norm + ridge
        # LAPACK reads rows as columns: both are in its order as they are
        _, solution, failed = dposv(shifted.T, rows.T, overwrite_a=1)
        if not failed:
            return np.asarray(solution.T, rows.dtype)
    return GramFactor(gram, ridge, rows.dtype, mapper, room).solve(rows)


def _factor(gram: Array64, mapper: Mapper) -> list[Array64]:
    """Cholesky by tiles, in the lower triangle of `gram`; returns the inverses of the diagonal tiles."""
    inverses = []
    size = len(gram)
    for start in range(0, size, _TILE):
        stop = min(start + _TILE, size)
        inverse = inverse_cholesky(gram[start:stop, start:stop])
        inverses.append(inverse)
        below = range(stop, size, _TILE)

        def solve_tile(row: int, start: int = start, stop: int = stop, inverse: Array64 = inverse) -> None:
            tile = gram[row : row + _TILE, start:stop]
            tile[...] = tile @ inverse.T

        def update_row(row: int, start: int = start, stop: int = stop) -> None:
            left = gram[row : row + _TILE, start:stop]
            gram[row : row + _TILE, stop : row + _TILE] -= left @ gram[stop : row + _TILE, start:stop].T

        for work in (solve_tile, update_row):
            for _ in mapper(work, below):
                pass
    return inverses
