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
from typing import Any

import numpy as np

from ringlet.arrays import Place
from ringlet.ring.arrays import Array64, Floats, Mapper
from ringlet.ring.gram import KroneckerSum
from ringlet.solvers.engine.gram_solve import RELATIVE_RIDGE

__all__ = [
    "LEAST_GAIN",
    "MOST_STEPS",
    "System",
    "apply_terms",
    "conjugate_solve",
    "rows_at_once",
    "scratch_numbers",
    "sides_of",
    "system_of",
]

MOST_STEPS = 12  # after these the direction is used as it is
LEAST_GAIN = 0.02  # end when a step would gain less than this share of all gains so far
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
        d = system.turned(rows[block] / largest)
        x = _iterate(system, each[block, np.newaxis].astype(rows.dtype), d, largest[:, 0].astype(np.float64))
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


def _iterate(system: "System", shifts: Floats, d: Floats, sizes: Array64) -> Floats:
    """Preconditioned conjugate gradients for a block of rows, each with its own step lengths."""
    scaling = 1 / (system.diagonal + shifts)
    x, r, z = np.zeros_like(d), d, scaling * d
    p, product, gained = z.copy(), _inner(r, z), 0.0
    for number in range(1, MOST_STEPS + 1):
        q = system.apply(p)
        q += shifts * p
        length = _over(product, _inner(p, q))
        x += length[:, np.newaxis] * p
        gained += _total(length * product, sizes)
        if number == MOST_STEPS:
            break
        q *= length[:, np.newaxis]
        r -= q
        np.multiply(r, scaling, out=z)
        product, before = _inner(r, z), product
        if not _total(length * product, sizes) > LEAST_GAIN * gained:  # by the next step, if it is as long
            break
        p *= _over(product, before)[:, np.newaxis]
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


def _inner(one: Floats, other: Floats) -> Floats:
    """Of every row."""
    return np.asarray(np.einsum("ij,ij->i", one, other))


def _total(gains: Floats, sizes: Array64) -> float:
    """Of all rows, in their own units."""
    return float(gains.astype(np.float64) @ (sizes * sizes))


def _over(one: Floats, other: Floats) -> Floats:
    """Quotients, zero where there is nothing to divide by: such a row stays as it is."""
    return np.divide(one, other, out=np.zeros_like(one), where=other > 0.0)
