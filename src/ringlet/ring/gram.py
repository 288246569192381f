"""Gram matrices of the subchains of a ring (FGMC), from transfer matrices. Pure maths, in float64.

The transfer matrix of a core is ``T[(a,a'),(b,b')] = sum_i Z[a,i,b] Z[a',i,b']``. The Gram matrix of the subchain
without core k is the chain of the other transfer matrices, with its axes regrouped. Two observations keep it cheap:

* the chain is opened at the narrowest bond of the ring (rank c), so that all partial products have only c^2 rows, and
  by symmetry only c(c+1)/2 of them are stored;
* a partial product can pass through a core without the core's transfer matrix ever being formed.

Where a Gram matrix only scales a gradient, and there is a ridge, partial products may pass through wide cores in the
precision of these.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.arrays import Array64, Floats, Mapper
from ringlet.ring.chain import Core, unfold

__all__ = [
    "COMPARED_SLICES",
    "GramChain",
    "KroneckerSum",
    "inverse_cholesky",
    "kept_numbers",
    "passes_unformed",
    "relative_change",
    "sandwiches",
    "transfer_matrix",
]

_ROWS = 256  # rows that are multiplied at once
_SHARED_ENTRIES = 1 << 16  # entries of a matrix below which one product is faster than waking threads
_SMALL_PRODUCTS = 4  # times slower is an operation of many small products than of a large one
_PASSING_ENTRIES = 1 << 19  # entries of slices and partial products at once: they stay in the cache
_WIDE = 1024  # numbers in a slice of a core from which on passing through it takes long
COMPARED_SLICES = 1024  # of the last mode, at most, that the stop rule compares


@dataclass(frozen=True)
class KroneckerSum:
    """``G = sum_m P_m (x) S_m``, a symmetric matrix with rows and columns (a, b), b fastest.

    Attributes
    ----------
    left : array, shape (m, a, a)
    right : array, shape (m, b, b)

    Examples
    --------
    >>> import numpy as np
    >>> G = KroneckerSum(np.array([[[2.0]]]), np.array([[[3.0, 1.0], [1.0, 3.0]]]))
    >>> G.dense()
    array([[6., 2.],
           [2., 6.]])
    >>> G.trace(), round(G.norm ** 2, 9), G.size
    (12.0, 80.0, 2)
    """

    left: Array64
    right: Array64

    @classmethod
    def of(cls, matrix: NDArray[np.floating[Any]]) -> "KroneckerSum":
        """A matrix that is formed already: one term, with a = 1."""
        return cls(np.ones((1, 1, 1)), matrix.astype(np.float64)[np.newaxis])

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.left.shape[1] * self.right.shape[1])

    def trace(self) -> float:
        """Sum of the diagonal."""
        return float(np.einsum("maa->m", self.left) @ np.einsum("mbb->m", self.right))

    @cached_property
    def norm(self) -> float:
        """Frobenius norm, from the inner products of the terms."""
        left, right = self.left.reshape(len(self.left), -1), self.right.reshape(len(self.right), -1)
        return sqrt(max(float(np.vdot(left @ left.T, right @ right.T)), 0.0))

    def apply(self, rows: Array64, mapper: Mapper = map) -> Array64:
        """``rows @ G``, with G formed or not, whichever is cheaper.

        Parameters
        ----------
        rows : array, shape (n, a * b)
        mapper : callable
            Used like `map` for independent pieces.
        """
        terms, a, b = len(self.left), self.left.shape[1], self.right.shape[1]
        formed = _SMALL_PRODUCTS * terms * (a + b) >= a * b
        out, matrix = np.empty_like(rows), self.dense(mapper) if formed else None
        blocks = [slice(start, start + _ROWS) for start in range(0, len(rows), _ROWS)]
        mapper = mapper if len(blocks) > 1 else map
        if matrix is not None:
            deque(mapper(lambda block: np.matmul(rows[block], matrix, out=out[block]), blocks), maxlen=0)
            return out

        def apply_unformed(block: slice) -> None:
            slices = rows[block].reshape(-1, a, b)
            products = (left.T @ (slices @ right) for left, right in zip(self.left, self.right, strict=True))
            out[block] = sum(products).reshape(len(slices), a * b)

        deque(mapper(apply_unformed, blocks), maxlen=0)
        return out

    def dense(self, mapper: Mapper = map, out: Array64 | None = None, *, lower_only: bool = False) -> Array64:
        """The matrix, in `out` if that is given; `lower_only`: what is above the diagonal may be anything finite."""
        terms, a, b = len(self.left), self.left.shape[1], self.right.shape[1]
        whole = np.empty((a * b, a * b)) if out is None else out
        blocks = whole.reshape(a, b, a, b)
        right = self.right.reshape(terms, b * b)
        if whole.size < _SHARED_ENTRIES:
            products = self.left.reshape(terms, a * a).T @ right
            blocks[...] = products.reshape(a, a, b, b).transpose(0, 2, 1, 3)
            return whole

        def fill_row(row: int) -> None:  # G[(a,b),(a',b')] = sum_m P[m,a,a'] S[m,b,b']
            stop = row + 1 if lower_only else a
            block = self.left[:, row, :stop].T @ right
            blocks[row, :, :stop] = block.reshape(stop, b, b).transpose(1, 0, 2)

        for _ in mapper(fill_row, range(a)):
            pass
        return whole


class GramChain:
    """Gram matrices of all subchains of a ring. Immutable: partial products are computed when they are first needed.

    Parameters
    ----------
    cores : sequence of arrays
        The cores of a ring, core k of shape ``(r_k, I_k, r_{k+1})``.
    mapper : callable
        Used like `map` for independent pieces of work. The pieces do not depend on it, so neither do the bits.
    rough : bool
        Partial products pass through wide cores in the cores' precision, and are summed in float64.

    Examples
    --------
    >>> import numpy as np
    >>> cores = [np.ones((1, 4, 2)), np.ones((2, 5, 1))]
    >>> chain = GramChain(cores)
    >>> chain.without(0).dense()
    array([[5., 5.],
           [5., 5.]])
    >>> chain.with_core(1, 2 * cores[1]).without(0).dense()
    array([[20., 20.],
           [20., 20.]])
    """

    xp: Any = np  # the library of the cores

    def __init__(self, cores: Sequence[Core], mapper: Mapper = map, *, rough: bool = False) -> None:
        order = len(cores)
        ranks = [core.shape[0] for core in cores]
        self.cores = tuple(cores)
        self.host: Callable[[Core], Core] = np.asarray  # a core as NumPy's
        bond = self._narrowest = min(ranks)  # c
        self._first_mode = ranks.index(bond)  # the ring is opened at the bond before this mode
        self._mapper = mapper
        self.rough = rough
        self._pairs = np.triu_indices(bond)  # c <= c'
        self._ends = self._pairs[0] * bond + self._pairs[1]  # rows of the first transfer matrix
        # At position p of the opened chain: prefix = T_0 .. T_{p-1}, suffix = T_{p+1} .. T_{N-1}; each with one matrix
        # a pair.
        self._cores = [cores[(position + self._first_mode) % order] for position in range(order)]
        self._prefix: list[Array64 | None] = [None] * order
        self._suffix: list[Array64 | None] = [None] * order
        self._transfer: list[Array64 | None] = [None] * order
        identity = np.zeros((len(self._pairs[0]), bond, bond))
        identity[np.arange(len(identity)), *self._pairs] = 1.0
        self._prefix[0] = self._suffix[-1] = identity

    def with_core(self, k: int, core: Core) -> "GramChain":
        """The chain of the ring with another core at mode k; what does not depend on that core is shared."""
        chain, order = self.__class__.__new__(self.__class__), len(self._cores)
        at = (k - self._first_mode) % order
        chain.__dict__.update(self.__dict__)
        chain.cores = (*self.cores[:k], core, *self.cores[k + 1 :])
        chain._cores = [*self._cores[:at], core, *self._cores[at + 1 :]]
        chain._transfer = [*self._transfer[:at], None, *self._transfer[at + 1 :]]
        chain._prefix = [*self._prefix[: at + 1], *[None] * (order - at - 1)]
        chain._suffix = [*[None] * at, *self._suffix[at:]]
        return chain

    def without(self, k: int) -> KroneckerSum:
        """Gram matrix ``S_k^T S_k`` of the subchain of all cores but k, shape ``(r_k r_{k+1}, r_k r_{k+1})``.

        It is a sum of c^2 Kronecker products, c the narrowest bond. Rows and columns are indexed ``(a, b)``, a in r_k,
        b in r_{k+1}, b fastest.
        """
        at, c, sides = (k - self._first_mode) % len(self._cores), self._narrowest, []
        for reverse in (False, True):
            products = self._product(at, reverse=reverse)  # of the pairs c <= c'; (c', c) has the transposed one
            side = np.empty((c, c, *products.shape[1:]))
            side[self._pairs] = products
            side[self._pairs[::-1]] = products.swapaxes(1, 2)
            sides.append(side.reshape(c * c, *products.shape[1:]))
        return KroneckerSum(*sides)

    def unfolding_gram(self, k: int) -> Array64:
        """``D = A_k G_k A_k^T``, the Gram matrix of the ring's mode-k unfolding, at evenly spaced slices if many."""
        core = self._cores[(k - self._first_mode) % len(self._cores)]
        chosen = np.linspace(0, core.shape[1] - 1, min(core.shape[1], COMPARED_SLICES)).astype(np.intp)
        rows = unfold(core[:, chosen, :]).astype(np.float64)
        return np.asarray(self.without(k).apply(rows, self._mapper) @ rows.T)

    def _product(self, position: int, *, reverse: bool) -> Array64:
        """Partial products of the transfer matrices before a position; in reverse, of those after it.

        They pass through one core after the other, its transfer matrix formed or not, whichever is cheaper.
        """
        kept, at = (self._suffix, position + 1) if reverse else (self._prefix, position - 1)
        found = kept[position]
        if found is not None:
            return found
        products, core, formed = self._product(at, reverse=reverse), self._cores[at], self._transfer[at]
        xp, count, (a, slices, b) = self.xp, products.shape[0], core.shape
        at_the_end = at == (len(self._cores) - 1 if reverse else 0)  # the products are the identity
        if formed is None and not at_the_end and passes_unformed(a, slices, b, count):
            found = self._passed(products, xp.permute_dims(core, (2, 1, 0)) if reverse else core)
        else:
            if formed is None:
                formed = self._transfer[at] = transfer_matrix(core, xp=xp)
            matrix, size = (formed.T, a) if reverse else (formed, b)
            rows = xp.take(matrix, self._ends, axis=0) if at_the_end else xp.reshape(products, (count, -1)) @ matrix
            found = xp.reshape(rows, (count, size, size))
        kept[position] = found
        return found

    def _passed(self, products: Array64, core: Core) -> Array64:
        """``sum_i Z(i)^T product Z(i)`` for every product, without the transfer matrix."""
        rough = self.rough and core.shape[0] * core.shape[2] >= _WIDE
        return sandwiches(products, core, self._mapper, core.dtype if rough else np.float64)


def transfer_matrix(core: Core, other: Core | None = None, xp: Any = np) -> Array64:
    """Transfer matrix of one core, or of a pair of cores of two rings of the same shape.

    Parameters
    ----------
    core : array, shape (a, I, b)
    other : array, shape (a', I, b'), optional
        Defaults to `core` itself.
    xp : module
        The library of the cores.

    Returns
    -------
    array of float64, shape (a * a', b * b')
        ``T[(a,a'),(b,b')] = sum_i core[a,i,b] other[a',i,b']``

    Examples
    --------
    >>> import numpy as np
    >>> T = transfer_matrix(np.ones((2, 5, 3)))
    >>> T.shape, float(T[0, 0])
    ((4, 9), 5.0)
    """
    left = unfold(core, xp.float64, xp)
    right = left if other is None else unfold(other, xp.float64, xp)
    a, _, b = core.shape
    a2, _, b2 = core.shape if other is None else other.shape
    product = xp.reshape(left.T @ right, (a, b, a2, b2))
    matrix: Array64 = xp.reshape(xp.permute_dims(product, (0, 2, 1, 3)), (a * a2, b * b2))
    return matrix


def sandwiches(
    products: Array64, core: Core, mapper: Mapper = map, dtype: type[np.floating[Any]] | np.dtype[Any] = np.float64
) -> Array64:
    """``sum_i Z(i)^T product Z(i)`` for every product without a transfer matrix, some products and slices at a time.

    What some slices give is computed in `dtype`, and their sums in float64.
    """
    a, slices, b = core.shape
    total = np.zeros((len(products), b, b))
    batch = max(1, _PASSING_ENTRIES // (a * b))
    for first in range(0, len(products), batch):
        together = products[first : first + batch].astype(dtype, copy=False)
        step = max(1, _PASSING_ENTRIES // (len(together) * a * b))

        def of_slab(start: int, together: Floats = together, step: int = step) -> Floats:
            slab = np.ascontiguousarray(core[:, start : start + step, :], dtype=dtype)
            middle = together.reshape(-1, a) @ slab.reshape(a, -1)
            return np.asarray(slab.reshape(-1, b).T @ middle.reshape(len(together), -1, b))

        for part in mapper(of_slab, range(0, slices, step)):
            total[first : first + batch] += part
    return total


def passes_unformed(a: int, slices: int, b: int, products: int) -> bool:
    """True if partial products pass through a core at less cost without its transfer matrix."""
    return products * slices * (a + b) < a * b * (slices + products)


def kept_numbers(shape: Sequence[int], rank: Sequence[int]) -> int:
    """How many numbers a `GramChain` of such a ring keeps at most, the largest Kronecker sum it gives included.

    Examples
    --------
    >>> kept_numbers((9, 9, 9), (1, 1, 1))
    11
    """
    order = len(shape)
    origin = int(np.argmin(rank))
    bonds = [rank[(origin + position) % order] for position in range(order + 1)]
    pairs = bonds[0] * (bonds[0] + 1) // 2
    products = pairs * sum(before**2 + after**2 for before, after in pairwise(bonds))
    transfers = 0
    for position, (a, b) in enumerate(pairwise(bonds)):
        slices = shape[(origin + position) % order]
        if position in (0, order - 1) or not passes_unformed(a, slices, b, pairs):
            transfers += (a * b) ** 2
    return products + transfers + bonds[0] ** 2 * max(a**2 + b**2 for a, b in pairwise(bonds))


def inverse_cholesky(matrix: Array64) -> Array64:
    """Inverse of the lower Cholesky factor of a matrix, of which only the lower triangle is read.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite.

    Examples
    --------
    >>> inverse_cholesky(np.array([[4.0, 0.0], [2.0, 2.0]]))
    array([[ 0.5,  0. ],
           [-0.5,  1. ]])
    """
    from scipy.linalg.lapack import dpotrf, dtrtri  # SciPy takes long to import

    upper, failed = dpotrf(matrix.T, lower=0)  # LAPACK reads the rows as columns: all is transposed
    if not failed:
        inverse, failed = dtrtri(upper, lower=0, overwrite_c=1)
    if failed:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return np.ascontiguousarray(inverse.T)


def relative_change(new: NDArray[np.floating[Any]], old: NDArray[np.floating[Any]] | None) -> float:
    """``||new - old||_F / ||new||_F``; infinite without an old one, zero if both vanish."""
    if old is None:
        return float("inf")
    size, difference = float(np.linalg.norm(new)), float(np.linalg.norm(new - old))
    return difference / size if size else (0.0 if difference == 0.0 else float("inf"))
