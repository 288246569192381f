"""Rounding a ring to lower rank, from its cores alone, in float64.

Put a matrix M into bond k: the tensor X(M) is linear in M, X(I) is the tensor itself, and ``||X(M)||^2`` is
the quadratic form of the bond's Gram matrix B, the loop of all transfer matrices opened at the bond. Cutting
the bond to rank r means ``M = P Q^T`` with r columns each, and the error ``||X(M) - X(I)||`` follows from B.
P and Q are found by alternating least squares in the metric of B, started from the best cut for the two sides
taken separately. The closing bond is treated like any other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from ringlet.checks import check_number
from ringlet.errors import ArgumentError, BudgetError
from ringlet.ring.algebra import distance, norm, unit_cores
from ringlet.ring.arrays import Array64
from ringlet.ring.bond import bond_gram, even_bonds, regroup, whitening
from ringlet.ring.chain import Core
from ringlet.ring.ranks import normalise_rank
from ringlet.ring.summands import merge_copies
from ringlet.ring.transfer import chain_product

__all__ = ["round_cores"]

_RESOLUTION = 3e-8  # relative error that Gram matrices in float64 cannot resolve
_WIDEST_BOND = 128  # its Gram matrix takes 2 GiB
_ALTERNATIONS = 30
_BOUNDED_BOND = 40  # up to this rank the smallest eigenvalue of the Gram matrix is cheaper than what it saves
_SWEEPS = 20
_SHORTEST = 1e-140  # norm of a ring of unit cores whose square can still be divided by
_BEYOND_FLOAT64 = "the ring's cores span too many orders of magnitude to be rounded in float64"
_RIDGES = 10.0 ** np.arange(-15, 1)  # relative to the trace at most, tried one after the other
_NOISE = 4 * np.finfo(float).eps  # rounding errors of a Gram matrix, relative to its trace
_WEAK = 1e-7  # directions weaker than this part of the strongest are not whitened: noise would be, too
_STALLED = 1e-3  # an iteration that lowers the error by less than this part has converged


def round_cores(cores: Sequence[Core], rank: int | Sequence[int] | None = None, tol: float | None = None) -> list[Core]:
    """Cores of a ring of lower rank near the given one; see `TensorRing.round`.

    Parameters
    ----------
    cores : sequence of arrays
        The cores of a ring.
    rank : int or sequence of int, optional
        Largest rank of each bond.
    tol : float, optional
        Largest distance, relative to the norm.

    Returns
    -------
    list of arrays, of the dtype of `cores`

    Examples
    --------
    >>> import numpy as np
    >>> [core.shape for core in round_cores([np.ones((2, 4, 3)), np.ones((3, 5, 2))], tol=1e-3)]
    [(1, 4, 1), (1, 5, 1)]
    """
    if rank is None and tol is None:
        raise ArgumentError("round needs rank=, tol= or both")
    present = _bonds(cores)
    caps = present if rank is None else tuple(map(min, normalise_rank(rank, len(cores)), present))
    tol = 0.0 if tol is None else _check_tol(tol)
    if len(cores) == 1:  # a vector needs no bond
        return [np.trace(cores[0], axis1=0, axis2=2).reshape(1, -1, 1)]
    unit, exponent = unit_cores(even_bonds(cores))
    length = norm(unit)
    if length == 0:
        return [np.zeros((1, core.shape[1], 1), core.dtype) for core in cores]
    if length < _SHORTEST:
        raise ArgumentError(_BEYOND_FLOAT64)
    # Copies of the same ring go first: cutting single bonds would entangle them.
    lean = (merge_copies(unit) if caps != present or tol > _RESOLUTION else None) or unit
    spent = distance(unit, lean)
    for allowed_error in (tol * length - spent, tol * length / 4 - spent):
        rounded = _cut_bonds(lean, caps, allowed_error, length)
        if caps != present and distance(unit, rounded) > tol * length:
            rounded = _polish(unit, rounded)
        result = _finish(rounded, exponent, cores[0].dtype)
        if caps != present or distance(cores, result) <= tol * norm(cores):
            return result
    return list(cores)  # the precision of the dtype itself does not hold a ring of lower rank within tol


def _check_tol(tol: Any) -> float:
    check_number("tol", tol, at_least=0)
    return float(tol)


def _bonds(cores: Sequence[Core]) -> tuple[int, ...]:
    return tuple(core.shape[0] for core in cores)


def _finish(cores: Sequence[Core], exponent: int, dtype: np.dtype[Any]) -> list[Core]:
    """Cores of even magnitude in the wanted dtype, the power of two put back."""
    unit, more = unit_cores(cores)
    each, extra = divmod(exponent + more, len(cores))
    return [np.ldexp(core, each + (k < extra)).astype(dtype) for k, core in enumerate(unit)]


def _cut_bonds(cores: Sequence[Core], caps: Sequence[int], allowed_error: float, length: float) -> list[Core]:
    """Cut every bond to its cap, and below it as far as its share of the allowed error goes."""
    rounded = list(cores)
    widest_first = sorted(range(len(cores)), key=lambda k: -cores[k].shape[0])  # makes the rest cheaper
    spent = 0.0  # errors add up at most, by the triangle inequality
    for done, k in enumerate(widest_first):
        share = (allowed_error - spent) / (len(cores) - done)
        cut = _cut_bond(rounded, k, caps[k], share, length)
        if cut is not None:
            rounded[k - 1] = rounded[k - 1] @ cut.left
            rounded[k] = np.tensordot(cut.right.T, rounded[k], axes=1)
            spent += cut.error
    return rounded


@dataclass(frozen=True)
class _BondFactors:
    """The bond matrix ``left @ right.T`` of low rank, and the error that it makes."""

    left: Array64
    right: Array64
    error: float


def _cut_bond(cores: Sequence[Core], k: int, cap: int, share: float, length: float) -> _BondFactors | None:
    """Cut one bond to the smallest rank within its share of the error, at most to its cap; None: leave it."""
    present = cores[k].shape[0]
    worth_it = share > _RESOLUTION * length
    if present == 1 or (cap >= present and not worth_it):
        return None
    if present > _WIDEST_BOND:
        raise BudgetError(
            f"bond {k} has rank {present}, and rounding needs a Gram matrix of rank^4 entries for it; "
            f"bonds up to {_WIDEST_BOND} can be rounded"
        )
    bond = _Bond(cores, k, length)
    widest = min(cap, present - 1)
    hopeless = bond.hopeless_rank(share) if worth_it else widest
    if hopeless >= widest:
        return None if cap >= present else bond.cut(cap, share)
    best = bond.cut(widest, share)
    if best.error > share:
        return None if cap >= present else best
    low, high = max(1, hopeless + 1), best.left.shape[1]  # the smallest sufficient rank is within [low, high]
    while low < high:
        middle = (low + high) // 2
        cut = bond.cut(middle, share)
        if cut.error <= share:
            best, high = cut, middle
        else:
            low = middle + 1
    return best


class _Bond:
    """The tensor as a function of a matrix in bond k, in coordinates that whiten the bond's two sides."""

    def __init__(self, cores: Sequence[Core], k: int, length: float) -> None:
        loop = [*cores[k:], *cores[:k]]
        self._length = length
        self._gram = bond_gram(loop) / length**2  # B[a, b, a', b']
        left, left_root = whitening(np.einsum("abcb->ac", self._gram), _WEAK)
        right, right_root = whitening(np.einsum("abad->bd", self._gram), _WEAK)
        raised = _above_noise(self._gram)
        half = np.tensordot(left.T, np.tensordot(right.T, raised, (1, 1)), (1, 1))
        white = np.tensordot(np.tensordot(half, left, (2, 0)), right, (2, 0))
        self._white = white  # B in the coordinates M = left W right^T
        self._target = left.T @ np.einsum("abcc->ab", raised) @ right  # B vec(I), whitened
        self._identity = left_root.T @ right_root  # the W of M = I
        self._left, self._right = left, right

    def hopeless_rank(self, goal: float) -> int:
        """Largest rank that cannot reach the goal, whatever the cut: Eckart-Young in the metric of B."""
        size = self._target.size
        if size > _BOUNDED_BOND**2:
            return 0
        weakest = max(0.0, float(np.linalg.eigvalsh(self._white.reshape(size, size))[0]))
        tails = np.cumsum(np.linalg.svd(self._identity, compute_uv=False)[::-1] ** 2)[::-1]
        return int(np.sum(np.sqrt(weakest * tails) > goal / self._length + _RESOLUTION)) - 1

    def cut(self, rank: int, goal: float) -> _BondFactors:
        """Cut to the given rank at most; stop as soon as the error is within the goal."""
        leading, mixture = self._starts(rank)
        cut = self._alternate(leading, goal)
        if cut.error <= goal:
            return cut
        return min(cut, self._alternate(mixture, goal), key=lambda cut: cut.error)

    def _starts(self, rank: int) -> tuple[Array64, Array64]:
        """Leading directions of the sides; and a generic mixture, in case the leading ones come in pairs."""
        directions = np.linalg.svd(self._identity)[0][:, :rank]
        mixture = np.random.default_rng(0).standard_normal((self._identity.shape[1], directions.shape[1]))
        return directions, self._identity @ mixture

    def _alternate(self, start: Array64, goal: float) -> _BondFactors:
        """Alternating least squares over the two factors of W."""
        left, right = self._improve(start)
        cut = self._measure(left, right)
        for remaining in range(_ALTERNATIONS, 0, -1):
            if cut.error <= goal:
                break
            left, right = self._improve(left)
            previous, cut = cut, self._measure(left, right)
            gain = previous.error - cut.error
            if gain < _STALLED * cut.error or (goal > 0 and cut.error - remaining * gain > goal):
                break  # it has converged, or converges too slowly to reach the goal
        return cut

    def _improve(self, left: Array64) -> tuple[Array64, Array64]:
        """Best right factor for the left one, then best left factor for it."""
        right = _other_factor(self._white, self._target, np.linalg.qr(left)[0])
        right = np.linalg.qr(right)[0]
        return _other_factor(self._white.transpose(1, 0, 3, 2), self._target.T, right), right

    def _measure(self, left: Array64, right: Array64) -> _BondFactors:
        """Factors in the bond's own coordinates, evenly scaled, and the error computed from the Gram matrix."""
        basis, triangle = np.linalg.qr(left)
        u, s, vt = np.linalg.svd(triangle)
        p = self._left @ (basis @ u) * np.sqrt(s)
        q = self._right @ (right @ vt.T) * np.sqrt(s)
        change = (p @ q.T - np.eye(len(p))).ravel()
        square = float(change @ self._gram.reshape(change.size, change.size) @ change)
        return _BondFactors(p, q, self._length * sqrt(max(0.0, square) + _RESOLUTION**2))


def _above_noise(gram: Array64) -> Array64:
    """Add the size of rounding errors to the diagonal: whitening would amplify their negative part."""
    size = len(gram) ** 2
    raised = np.array(gram, order="C").reshape(size, size)
    raised.flat[:: size + 1] += _NOISE * float(np.trace(raised))
    return raised.reshape(gram.shape)


def _other_factor(gram: Array64, target: Array64, factor: Array64) -> Array64:
    """Best Q for given P in ``W = P Q^T``, in the metric of `gram`: the normal equations."""
    normal = np.tensordot(np.tensordot(factor, gram, (0, 0)), factor, (2, 0)).transpose(0, 1, 3, 2)
    rank, size = normal.shape[:2]
    solution = _solve(normal.reshape(rank * size, rank * size), (factor.T @ target).reshape(-1, 1))
    return solution.reshape(rank, size).T


def _polish(cores: Sequence[Core], start: Sequence[Core]) -> list[Core]:
    """Alternating least squares over whole cores: each becomes the best for the others."""
    polished = list(start)
    square = norm(cores) ** 2
    error = distance(cores, start)
    for _ in range(_SWEEPS):
        for k in range(len(cores)):
            others, own = [*cores[k + 1 :], *cores[:k]], [*polished[k + 1 :], *polished[:k]]
            gram = regroup(chain_product(own, own), own, own)  # S_Y^T S_Y
            mixed = regroup(chain_product(others, own), others, own)  # S_X^T S_Y
            a, b, a2, b2 = mixed.shape
            unfolded = cores[k].transpose(1, 0, 2).reshape(-1, a * b)
            target = unfolded @ mixed.reshape(a * b, a2 * b2)
            update = _solve(gram.reshape(a2 * b2, a2 * b2), target.T).T  # A_X (S_X^T S_Y) (S_Y^T S_Y)^-1
            polished[k] = update.reshape(-1, a2, b2).transpose(1, 0, 2)
        previous, error = error, sqrt(max(0.0, square - float(np.sum(target * update))))
        if error > (1 - _STALLED) * previous:
            break
    return polished if distance(cores, polished) < distance(cores, start) else list(start)


def _solve(gram: Array64, target: Array64) -> Array64:
    """Solve with a Gram matrix that may be singular: a tiny ridge, raised a few times until Cholesky works."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    extent = float(np.abs(gram.diagonal()).max()) + np.finfo(float).tiny
    for ridge in extent * len(gram) * _RIDGES if np.isfinite(gram).all() else ():
        try:
            factor = cho_factor(gram + ridge * np.eye(len(gram)), lower=True, check_finite=False)
        except LinAlgError:
            continue
        return np.asarray(cho_solve(factor, target, check_finite=False))
    raise ArgumentError(_BEYOND_FLOAT64)
