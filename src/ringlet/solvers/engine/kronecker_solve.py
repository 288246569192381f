"""Solving with a Gram matrix of wide bonds without forming it: conjugate gradients on its sum of Kronecker products.

``G = sum_m P_m (x) S_m`` has (a b)^2 entries, but a product of a row with it costs only terms a b (a + b) operations.

* Basis: the eigenvectors of the partial traces ``sum_m tr(S_m) P_m`` and ``sum_m tr(P_m) S_m``. In it G is nearly
  diagonal, so its diagonal, with the shift, is the preconditioner. One term alone would be solved in one step.
* Fewer terms: the singular value decomposition of G, rearranged so that a Kronecker product is a matrix of rank one,
  orders the terms by size. Those whose norms sum to a small part of the shift are left out.
* Every row is a system of its own. A few rows at a time stay in the cache from the first step to the last, until a
  step would gain little against all steps before it. Which rows are together does not depend on the number of threads,
  so neither do the bits.

Stopped early, conjugate gradients still give a direction of descent. The line search decides how far to go along it.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ringlet.arrays import Place
from ringlet.ring.arrays import Array64, Floats, Mapper
from ringlet.ring.gram import KroneckerSum
from ringlet.solvers.engine.gram_solve import RELATIVE_RIDGE

__all__ = [
    "System",
    "apply_terms",
    "conjugate_solve",
    "conjugate_steps",
    "rows_at_once",
    "scratch_numbers",
    "sides_of",
    "system_of",
]

_MOST_STEPS = 12  # after these the direction is used as it is
_LEAST_GAIN = 0.02  # end when a step would gain less than this share of all gains so far
_LEFT_OUT = 0.3  # share of the shift that the norms of omitted terms may sum to
_BLOCK_NUMBERS = 1 << 20  # between the two products with a block of rows
_VECTORS = 8  # arrays of the size of a block of rows: d, x, r, z, p, q and temporaries


def rows_at_once(sides: tuple[int, int], terms: int) -> int:
    """Rows that are solved together.

    Examples
    --------
    >>> rows_at_once((80, 80), 9)
    18
    """
    return max(1, _BLOCK_NUMBERS // (sides[0] * sides[1] * terms))


def scratch_numbers(sides: tuple[int, int], terms: int) -> int:
    """How many numbers each thread works in."""
    return rows_at_once(sides, terms) * sides[0] * sides[1] * (terms + _VECTORS)


def conjugate_solve(gram: KroneckerSum, shifts: float | Array64, rows: Floats, mapper: Mapper = map) -> Floats:
    """``h`` with ``h_i (G + lambda_i I) = d_i`` for every row, up to a few hundredths of what the solution gains.

    Parameters
    ----------
    gram : KroneckerSum
        G, not zero.
    shifts : float or array, one number a row
        lambda, on top of ``1e-10 ||G||_F``.
    rows : array, shape (n, a * b)
        d.
    mapper : callable
        Used like `map` for independent pieces.

    Examples
    --------
    >>> import numpy as np
    >>> gram = KroneckerSum(np.diag([1.0, 2.0])[np.newaxis], np.diag([1.0, 3.0])[np.newaxis])
    >>> conjugate_solve(gram, 1.0, np.array([[2.0, 4.0, 3.0, 7.0]]))
    array([[1., 1., 1., 1.]])
    """
    system, each, level = system_of(gram, shifts, len(rows), rows.dtype)
    step = rows_at_once((gram.left.shape[1], gram.right.shape[1]), len(gram.left))
    out = np.empty_like(rows)

    def solve_block(start: int) -> None:
        block = slice(start, start + step)
        largest = np.abs(rows[block]).max(axis=1, keepdims=True)  # squares of rows must not leave the range of floats
        largest[largest == 0.0] = 1.0
        d, sizes = system.turned(rows[block] / largest), largest[:, 0].astype(np.float64)
        x = conjugate_steps(system, each[block, np.newaxis].astype(rows.dtype), d, _Together(sizes))
        np.multiply(system.turned_back(x), largest / rows.dtype.type(level), out=out[block])

    for _ in mapper(solve_block, range(0, len(rows), step)):
        pass
    return out


def system_of(
    gram: KroneckerSum, shifts: float | Array64, rows: int, dtype: np.dtype[Any]
) -> tuple["System", Array64, float]:
    """What is solved for a number of rows: G over its mean diagonal, the shifts of rows over it, and that number."""
    level = gram.trace() / gram.size
    each = np.broadcast_to((np.asarray(shifts, np.float64) + RELATIVE_RIDGE * gram.norm) / level, rows)
    return System.of(gram, level, _LEFT_OUT * float(each.min()), dtype), each, level


class Ending(Protocol):
    """When rows that are solved together have gained enough."""

    def gains(self, gains: Any) -> Any:
        """Of all rows, in their own units: one number a block of rows."""
        ...

    def moving(self, lengths: Any, goes_on: Any) -> Any:
        """The step lengths of rows, zero in blocks that do not go on."""
        ...


@dataclass(frozen=True)
class _Together:
    """One block of rows, in NumPy; `sizes` are the units of the rows."""

    sizes: Array64

    def gains(self, gains: Floats) -> float:
        return float(gains.astype(np.float64) @ (self.sizes * self.sizes))

    def moving(self, lengths: Floats, goes_on: bool) -> Floats:  # noqa: ARG002 - else it has ended
        return lengths


def conjugate_steps(system: "System", shifts: Any, d: Any, ending: Ending) -> Any:
    """Preconditioned conjugate gradients for rows, each with its own step lengths; `d` is overwritten.

    Parameters
    ----------
    system : System
    shifts : array, shape (rows, 1)
    d : array, shape (rows, a * b)
        In the basis of the system.
    ending : Ending
    """
    xp, scaling = system.xp, 1 / (system.diagonal + shifts)
    x, r, z, p = xp.zeros_like(d), d, scaling * d, scaling * d
    product, gained, going = _inner(r, z, xp), 0.0, True
    for number in range(1, _MOST_STEPS + 1):
        q = system.apply(p)
        q += shifts * p
        length = ending.moving(_over(product, _inner(p, q, xp), xp), going)
        x += length[:, None] * p
        gained = gained + ending.gains(length * product)
        if number == _MOST_STEPS:
            break
        q *= length[:, None]
        r -= q
        z = np.multiply(r, scaling, out=z) if xp is np else r * scaling
        product, before = _inner(r, z, xp), product
        going = ending.gains(length * product) > _LEAST_GAIN * gained  # by the next step, if it is as long
        if not np.any(going):
            break
        p *= _over(product, before, xp)[:, None]
        p += z
    return x


@dataclass(frozen=True)
class System:
    """G over its mean diagonal, in the basis in which it is nearly diagonal, with few terms.

    Attributes
    ----------
    bases : tuple of two arrays (a, a) and (b, b)
        Their columns are the eigenvectors of the partial traces.
    left : array, shape (a', a * terms)
    right : array, shape (b, terms * b')
    diagonal : array, shape (a * b,)
    xp : module
        The library of the arrays.
    """

    bases: tuple[Floats, Floats]
    left: Floats
    right: Floats
    diagonal: Floats
    xp: Any = np

    @classmethod
    def of(cls, gram: KroneckerSum, level: float, left_out: float, dtype: np.dtype[Any]) -> "System":
        """Prepare a Gram matrix of this mean diagonal, without terms below `left_out` of it."""
        left, right = gram.left / level, gram.right
        traces = np.einsum("mbb->m", right), np.einsum("maa->m", left)
        sums = np.einsum("m,mab->ab", traces[0], left), np.einsum("m,mab->ab", traces[1], right)
        u, v = (np.linalg.eigh((matrix + matrix.T) / 2)[1] for matrix in sums)
        left, right = u.T @ left @ u, v.T @ right @ v
        diagonal = np.einsum("maa,mbb->ab", left, right)
        left, right = _few_terms(left, right, left_out)
        sides = sides_of(left, right)
        return cls(
            (u.astype(dtype), v.astype(dtype)),
            sides[0].astype(dtype),
            sides[1].astype(dtype),
            np.maximum(diagonal, 0.0).reshape(-1).astype(dtype),
        )

    def at(self, place: Place) -> "System":
        """The same on a device."""
        (u, v), put = self.bases, place.put
        return System((put(u), put(v)), put(self.left), put(self.right), put(self.diagonal), place.xp)

    def apply(self, rows: Floats) -> Floats:
        """``rows @ G``, as two matrix products."""
        return apply_terms(self.left, self.right, rows, self.xp)

    def turned(self, rows: Floats) -> Floats:
        """Rows in the basis."""
        u, v = self.bases
        return _sandwich(u.T, rows, v, self.xp)

    def turned_back(self, rows: Floats) -> Floats:
        """Rows in the basis they came from."""
        u, v = self.bases
        return _sandwich(u, rows, v.T, self.xp)


def sides_of(left: Floats, right: Floats, xp: Any = np) -> tuple[Floats, Floats]:
    """The terms P_m side by side, shape (a', a * terms), and the S_m, shape (b, terms * b')."""
    a, b = left.shape[1], right.shape[1]
    return (
        xp.reshape(xp.permute_dims(left, (2, 1, 0)), (a, -1)),
        xp.reshape(xp.permute_dims(right, (1, 0, 2)), (b, -1)),
    )


def apply_terms(left: Floats, right: Floats, rows: Floats, xp: Any = np) -> Floats:
    """``rows @ sum_m P_m (x) S_m``, as two matrix products with what `sides_of` gives."""
    (a, _), (b, _), count = left.shape, right.shape, rows.shape[0]
    between = xp.reshape(rows, (-1, b)) @ right  # (rows, a) x (terms, b')
    return xp.reshape(xp.matmul(left, xp.reshape(between, (count, -1, b))), (count, a * b))  # type: ignore[no-any-return]


def _few_terms(left: Array64, right: Array64, left_out: float) -> tuple[Array64, Array64]:
    """The same sum by orthogonal terms, without those whose Frobenius norms sum to less than `left_out`."""
    terms, a, b = len(left), left.shape[1], right.shape[1]
    q_left, r_left = np.linalg.qr(left.reshape(terms, -1).T)
    q_right, r_right = np.linalg.qr(right.reshape(terms, -1).T)
    u, sizes, v = np.linalg.svd(r_left @ r_right.T)
    kept = max(1, int(np.count_nonzero(np.cumsum(sizes[::-1])[::-1] > left_out)))
    u, v = u[:, :kept] * sizes[:kept], v[:kept].T
    return (q_left @ u).T.reshape(kept, a, a), (q_right @ v).T.reshape(kept, b, b)


def _sandwich(left: Floats, rows: Floats, right: Floats, xp: Any) -> Floats:
    a, b = left.shape[0], right.shape[0]
    between = xp.reshape(rows, (-1, b)) @ right
    return xp.reshape(xp.matmul(left, xp.reshape(between, (-1, a, b))), rows.shape)  # type: ignore[no-any-return]


def _inner(one: Any, other: Any, xp: Any) -> Any:
    """Of every row."""
    return np.einsum("ij,ij->i", one, other) if xp is np else xp.sum(one * other, axis=1)


def _over(one: Any, other: Any, xp: Any) -> Any:
    """Quotients, zero where there is nothing to divide by: such a row stays as it is."""
    positive, nothing = other > 0.0, xp.zeros_like(one)
    if xp is np:
        return np.divide(one, other, out=nothing, where=positive)
    return xp.where(positive, one / xp.where(positive, other, xp.ones_like(other)), nothing)
