"""Smoothness along a mode: a penalty on the differences of neighbouring slices of a core.

The penalty ``sum_i ||A_{i+1} - A_i||^2`` is ``<A, L A>`` with the Laplacian L of a path. The cosine transform (DCT-II)
along the mode makes L diagonal, with the frequencies ``mu_j = 2 - 2 cos(pi j / I)``: so the penalised scaling
``G + lambda I + s L`` becomes one system ``G + (lambda + s mu_j) I`` per frequency, and frequencies of about the same
mu share one factorisation; conjugate gradients take every frequency with its own shift. Slices that follow a fixed one
have sines in place of cosines.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from ringlet.ring.arrays import Array64, Floats, Mapper
from ringlet.ring.gram import KroneckerSum
from ringlet.solvers.engine.gram_solve import GramFactor
from ringlet.solvers.engine.kronecker_solve import conjugate_solve

__all__ = ["FollowingFactor", "banded", "bands", "frequencies", "laplacian", "roughness", "smooth_solve"]


_BAND = 3.0  # frequencies whose shifts differ by less than this factor share a factorisation
_FLOOR = 1e-3  # shifts below this part of the mean diagonal of G count as the same


def laplacian(rows: Floats, xp: Any = np) -> Floats:
    """``L A``: every slice less the mean of its neighbours, twice; the first and the last have one neighbour only.

    Rows are an array of the library `xp`.

    Examples
    --------
    >>> laplacian(np.array([[0.0], [1.0], [4.0]])).ravel()
    array([-1., -2.,  3.])
    """
    steps, edge = xp.diff(rows, axis=0), xp.zeros_like(rows[:1, :])
    return xp.concat([edge, steps]) - xp.concat([steps, edge])  # type: ignore[no-any-return]


def roughness(rows: Floats) -> float:
    """``<A, L A> = sum_i ||A_{i+1} - A_i||^2``.

    Examples
    --------
    >>> roughness(np.array([[0.0], [1.0], [4.0]]))
    10.0
    """
    steps = np.diff(rows, axis=0)
    return float(np.vdot(steps, steps))


def frequencies(slices: int) -> Array64:
    """Eigenvalues mu_j of L, in rising order.

    Examples
    --------
    >>> frequencies(2)
    array([0., 2.])
    """
    return 2.0 - 2.0 * np.cos(np.pi * np.arange(slices) / slices)


def bands(shifts: Array64, floor: float) -> list[slice]:
    """Runs of rising shifts that differ by less than a factor, or lie below the floor.

    Examples
    --------
    >>> bands(np.array([0.0, 0.1, 1.0, 2.0, 4.0]), 0.2)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 5, None)]
    """
    numbers = np.floor(np.log(np.maximum(shifts, floor) / floor) / np.log(_BAND))
    edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(shifts)]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def banded(gram: Any, ridge: float, shifts: Array64) -> list[tuple[slice, float]]:
    """The bands of rising shifts, and what is added to G for each; G is a `KroneckerSum`, or one on a device."""
    floor = _FLOOR * gram.trace() / gram.size + ridge
    return [(band, ridge + float(np.mean(shifts[band]))) for band in bands(shifts, floor)]


def smooth_solve(
    gram: KroneckerSum,
    ridge: float,
    smooth: float,
    rows: Floats,
    mapper: Mapper,
    room: Array64 | None = None,
    *,
    exact: bool = True,
) -> Floats:
    """``h`` with ``h (G + ridge I) + smooth L h = rows``, up to the width of the bands.

    Parameters
    ----------
    gram : KroneckerSum
        G, not zero.
    ridge, smooth : float
        At least 0.
    rows : array, one row a slice
    mapper : callable
        Used like `map` for independent pieces.
    room : array of float64, shape (n, n), finite, optional
        Where to work; overwritten.
    exact : bool
        By factorisations of G; otherwise by conjugate gradients, for which G is not formed, and without bands.
    """
    from scipy.fft import dct, idct  # SciPy takes long to import

    waves = dct(rows, axis=0, norm="ortho")
    shifts = smooth * frequencies(len(rows))
    if not exact:
        return np.asarray(idct(conjugate_solve(gram, ridge + shifts, waves, mapper), axis=0, norm="ortho"))
    for band, shift in banded(gram, ridge, shifts):
        waves[band] = GramFactor(gram, shift, rows.dtype, mapper, room).solve(waves[band])
    return np.asarray(idct(waves, axis=0, norm="ortho"))


class FollowingFactor:
    """Solves ``h (G + ridge I) + smooth L h = d``, up to the width of the bands, for slices that follow a fixed one.

    L is the Laplacian of a path whose first node, the slice before them, is fixed. Its eigenvectors are the first
    halves of the symmetric ones of a path of twice as many slices between two fixed ones: sines of odd frequencies.

    Parameters
    ----------
    gram : KroneckerSum
        G, not zero.
    ridge, smooth : float
        At least 0.
    slices : int
    dtype : dtype
        Of the right-hand sides.
    mapper : callable
        Used like `map` for independent pieces.
    """

    def __init__(
        self, gram: KroneckerSum, ridge: float, smooth: float, slices: int, dtype: np.dtype[Any], mapper: Mapper
    ) -> None:
        frequencies = 2.0 - 2.0 * np.cos(np.pi * (2 * np.arange(slices) + 1) / (2 * slices + 1))
        shifted = banded(gram, ridge, smooth * frequencies)
        self._bands = [(band, GramFactor(gram, shift, dtype, mapper)) for band, shift in shifted]

    def solve(self, rows: Floats) -> Floats:
        """``h`` for one row per slice."""
        from scipy.fft import dst  # SciPy takes long to import

        waves = dst(np.concatenate([rows, rows[::-1]]), type=1, axis=0, norm="ortho")
        odd = waves[::2]
        for band, factor in self._bands:
            odd[band] = factor.solve(odd[band])
        return np.asarray(dst(waves, type=1, axis=0, norm="ortho")[: len(rows)])  # its own inverse
