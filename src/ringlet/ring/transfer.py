"""Transfer matrices and the fast Gram matrix computation (FGMC) built on them. Pure maths, always in float64.

The transfer matrix of a core is ``T[(a,a'),(b,b')] = sum_i Z[a,i,b] Z[a',i,b']``. The Gram matrix of the
subchain without core k is the chain of the other transfer matrices, with its axes regrouped. Two observations
keep it cheap:

* the chain is opened at the narrowest bond of the ring (rank c), so that all partial products have only c^2
  rows, and by symmetry only c(c+1)/2 of them are stored;
* a partial product can pass through a core without the core's transfer matrix ever being formed.
"""

from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np

from ringlet.ring.arrays import Array64, Run
from ringlet.ring.chain import Core
from ringlet.ring.kronecker import KroneckerSum

__all__ = ["GramChain", "chain_product", "environment", "kept_numbers", "loop_cost", "loop_trace", "transfer_matrix"]

_PASSING_ENTRIES = 1 << 19  # products of slices and partial products at once,
_SLAB_ENTRIES = 1 << 17  # and entries of two cores: they stay in the cache
_BATCH_ENTRIES = 1 << 21  # entries of partial products, or of a block of a transfer matrix, at once: 16 MiB


def transfer_matrix(core: Core, other: Core | None = None) -> Array64:
    """Transfer matrix of one core, or of a pair of cores of two rings of the same shape.

    Parameters
    ----------
    core : array, shape (a, I, b)
    other : array, shape (a', I, b'), optional
        Defaults to `core` itself.

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
    left = _unfold(core)
    right = left if other is None else _unfold(other)
    a, _, b = core.shape
    a2, _, b2 = core.shape if other is None else other.shape
    product = (left.T @ right).reshape(a, b, a2, b2)
    return product.transpose(0, 2, 1, 3).reshape(a * a2, b * b2)


class GramChain:
    """Gram matrices of all subchains of a ring, kept current while single cores are replaced.

    Parameters
    ----------
    cores : sequence of arrays
        The cores of a ring, core k of shape ``(r_k, I_k, r_{k+1})``.
    run : callable
        Used like `map` for independent pieces of work. The pieces do not depend on it, so neither do the
        bits.

    Examples
    --------
    >>> import numpy as np
    >>> cores = [np.ones((1, 4, 2)), np.ones((2, 5, 1))]
    >>> GramChain(cores).gram_without(0)
    array([[5., 5.],
           [5., 5.]])
    """

    def __init__(self, cores: Sequence[Core], run: Run = map) -> None:
        self._cores = list(cores)
        self._run = run
        order = len(self._cores)
        ranks = [core.shape[0] for core in self._cores]
        self._origin = int(np.argmin(ranks))  # the bond at which the ring is opened
        self._pairs = np.triu_indices(ranks[self._origin])  # c <= c'
        # At position p of the opened chain: prefix = T_0 .. T_{p-1}, suffix = T_{p+1} .. T_{N-1}; each with
        # one matrix a pair.
        self._prefix: list[Array64 | None] = [None] * order
        self._suffix: list[Array64 | None] = [None] * order
        self._transfer: list[Array64 | None] = [None] * order
        self._prefix[0] = self._suffix[-1] = self._identity(ranks[self._origin])

    def replace(self, k: int, core: Core) -> None:
        """Put a new core at mode k; cached products that depended on the old one are dropped."""
        self._cores[k] = core
        position = self._position(k)
        self._transfer[position] = None
        for later in range(position + 1, len(self._cores)):
            self._prefix[later] = None
        for earlier in range(position):
            self._suffix[earlier] = None

    def gram_without(self, k: int) -> Array64:
        """Gram matrix ``S_k^T S_k`` of the subchain of all cores but k, shape ``(r_k r_{k+1}, r_k r_{k+1})``.

        Rows and columns are indexed ``(a, b)``, a in r_k, b in r_{k+1}, b fastest.
        """
        return self.kronecker_without(k).dense(self._run)

    def kronecker_without(self, k: int) -> KroneckerSum:
        """The same Gram matrix as a sum of c^2 Kronecker products, c the narrowest bond."""
        position = self._position(k)
        return KroneckerSum(self._expand(self._prefix_at(position)), self._expand(self._suffix_at(position)))

    def _position(self, k: int) -> int:
        return (k - self._origin) % len(self._cores)

    def _core_at(self, position: int) -> Core:
        return self._cores[(position + self._origin) % len(self._cores)]

    def _identity(self, c: int) -> Array64:
        identity = np.zeros((len(self._pairs[0]), c, c))
        identity[np.arange(len(identity)), *self._pairs] = 1.0
        return identity

    def _expand(self, products: Array64) -> Array64:
        """From the pairs c <= c' to all pairs: the product of (c', c) is that of (c, c') transposed."""
        c = self._core_at(0).shape[0]
        full = np.empty((c, c, *products.shape[1:]))
        full[self._pairs] = products
        full[self._pairs[::-1]] = products.swapaxes(1, 2)
        return full.reshape(c * c, *products.shape[1:])

    def _prefix_at(self, position: int) -> Array64:
        found = self._prefix[position]
        if found is None:
            before = self._prefix_at(position - 1)
            found = self._prefix[position] = self._pass_through(before, position - 1, reverse=False)
        return found

    def _suffix_at(self, position: int) -> Array64:
        found = self._suffix[position]
        if found is None:
            after = self._suffix_at(position + 1)
            found = self._suffix[position] = self._pass_through(after, position + 1, reverse=True)
        return found

    def _pass_through(self, products: Array64, position: int, *, reverse: bool) -> Array64:
        """Multiply partial products by one core's transfer matrix, formed or not, whichever is cheaper."""
        core = self._core_at(position)
        a, slices, b = core.shape
        if not reverse and position == 0:
            return self._first_pairs(self._transfer_at(position), b)
        if reverse and position == len(self._cores) - 1:
            return self._first_pairs(self._transfer_at(position).T, a)
        if self._transfer[position] is not None or not passes_unformed(a, slices, b, len(products)):
            transfer = self._transfer_at(position)
            matrix = transfer.T if reverse else transfer
            rows = products.reshape(len(products), -1) @ matrix
            size = a if reverse else b
            return rows.reshape(len(products), size, size)
        if reverse:
            core = core.swapaxes(0, 2)
        return _sandwiches(products, core, self._run)

    def _transfer_at(self, position: int) -> Array64:
        found = self._transfer[position]
        if found is None:
            found = self._transfer[position] = transfer_matrix(self._core_at(position))
        return found

    def _first_pairs(self, transfer: Array64, size: int) -> Array64:
        c = self._core_at(0).shape[0]
        rows = self._pairs[0] * c + self._pairs[1]
        return np.ascontiguousarray(transfer[rows]).reshape(len(rows), size, size)


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


def chain_product(cores: Sequence[Core], others: Sequence[Core]) -> Array64:
    """Product of the mixed transfer matrices along two open chains over the same modes.

    Parameters
    ----------
    cores : sequence of arrays
        Core j has shape ``(r_j, I_j, r_{j+1})``.
    others : sequence of arrays
        Core j has shape ``(s_j, I_j, s_{j+1})``.

    Returns
    -------
    array of float64, shape ``(r_first * s_first, r_last * s_last)``

    Examples
    --------
    >>> import numpy as np
    >>> chain = [np.ones((1, 4, 2)), np.ones((2, 5, 1))]
    >>> chain_product(chain, chain)
    array([[80.]])
    """
    bonds = [core.shape[0] * other.shape[0] for core, other in zip(cores, others, strict=True)]
    bonds.append(cores[-1].shape[2] * others[-1].shape[2])
    narrowest = int(np.argmin(bonds))  # from there both ways, so that partial products have fewest rows
    ahead = list(zip(cores[narrowest:], others[narrowest:], strict=True))
    behind = [
        (core.swapaxes(0, 2), other.swapaxes(0, 2))
        for core, other in zip(cores[:narrowest][::-1], others[:narrowest][::-1], strict=True)
    ]
    if not behind:
        return _fold(ahead)
    if not ahead:
        return _fold(behind).T
    return _fold(behind).T @ _fold(ahead)


def loop_trace(cores: Sequence[Core], others: Sequence[Core]) -> float:
    """Trace of the product of the mixed transfer matrices around two rings of the same shape.

    The rings are opened at their narrowest bond, and the pairs of its indices pass through the cores in batches:
    memory grows with the square of the widest bond, never with its fourth power.

    Parameters
    ----------
    cores : sequence of arrays
        The cores of a ring.
    others : sequence of arrays
        The cores of another ring of the same shape.

    Examples
    --------
    >>> import numpy as np
    >>> ring = [np.ones((1, 4, 2)), np.ones((2, 5, 1))]
    >>> loop_trace(ring, ring)
    80.0
    """
    if len(cores) == 1:
        left, right = (np.trace(core, axis1=0, axis2=2, dtype=np.float64) for core in (cores[0], others[0]))
        return float(left @ right)
    bonds = [core.shape[0] * other.shape[0] for core, other in zip(cores, others, strict=True)]
    k = int(np.argmin(bonds))
    first, *middle, last = zip([*cores[k:], *cores[:k]], [*others[k:], *others[:k]], strict=True)
    rows, rows2 = first[0].shape[0], first[1].shape[0]
    batch = _rows_at_once(max(bonds))
    step, step2 = max(1, batch // rows2), min(rows2, batch)
    total = 0.0
    for start, start2 in product(range(0, rows, step), range(0, rows2, step2)):
        own, own2 = slice(start, start + step), slice(start2, start2 + step2)
        products = transfer_matrix(first[0][own], first[1][own2])
        for core, other in middle:
            products = _pass_pair(products, core, other)
        closing = transfer_matrix(last[0][:, :, own], last[1][:, :, own2])
        total += float(np.sum(products * closing.T))
    return total


def loop_cost(cores: Sequence[Core]) -> tuple[int, int]:
    """Approximate operations and bytes of `loop_trace` of a ring with itself.

    Examples
    --------
    >>> import numpy as np
    >>> loop_cost([np.ones((1, 4, 2)), np.ones((2, 5, 1))])
    (72, 96)
    """
    ranks = [core.shape[0] for core in cores]
    rows, k = min(ranks) ** 2, int(np.argmin(ranks))
    at_once = min(rows, _rows_at_once(max(ranks) ** 2))
    operations = 0
    for position, core in enumerate([*cores[k:], *cores[:k]]):
        a, slices, b = core.shape
        if position in (0, len(cores) - 1):
            operations += 2 * a * a * b * b * slices
        else:
            formed = a * a * b * b * (slices * -(-rows // at_once) + rows)
            operations += 2 * min(formed, a * b * (a + b) * slices * rows)
    return operations, 3 * 8 * at_once * max(ranks) ** 2


def _rows_at_once(entries: int) -> int:
    """Number of partial products of this size that pass through the cores together."""
    return max(1, _BATCH_ENTRIES // entries)


def environment(cores: Sequence[Core]) -> Array64:
    """Gram matrix of the last bond of an open chain, its first bond and all modes summed over.

    Parameters
    ----------
    cores : sequence of arrays
        Core j has shape ``(r_j, I_j, r_{j+1})``.

    Returns
    -------
    array of float64, shape ``(r_last, r_last)``

    Examples
    --------
    >>> import numpy as np
    >>> environment([np.ones((1, 4, 2)), np.ones((2, 5, 1))])
    array([[80.]])
    """
    gram = np.eye(cores[0].shape[0])
    for core in cores:
        (gram,) = _sandwiches(gram[np.newaxis], core)
    return gram


def _fold(pairs: Sequence[tuple[Core, Core]]) -> Array64:
    """Mixed transfer matrices multiplied from left to right, each formed or not, whichever is cheaper."""
    products = transfer_matrix(*pairs[0])
    for core, other in pairs[1:]:
        products = _pass_pair(products, core, other)
    return products


def _pass_pair(products: Array64, core: Core, other: Core) -> Array64:
    """Multiply rows by a mixed transfer matrix, formed a block of columns at a time, or not at all."""
    rows = len(products)
    (a, slices, b), (a2, _, b2) = core.shape, other.shape
    formed_cost = a * a2 * b * b2 * (slices + rows)
    unformed_cost = a2 * b * (a + b2) * slices * rows
    step = _BATCH_ENTRIES // (a * a2 * b2)
    if step == 0 or unformed_cost < formed_cost:
        matrices = products.reshape(rows, a, a2)
        return np.stack([_mixed_sandwich(matrix, core, other).ravel() for matrix in matrices])
    passed = np.empty((rows, b * b2))
    for start in range(0, b, step):
        block = transfer_matrix(core[:, :, start : start + step], other)
        np.matmul(products, block, out=passed[:, start * b2 : start * b2 + block.shape[1]])
    return passed


def passes_unformed(a: int, slices: int, b: int, products: int) -> bool:
    """True if partial products pass through a core at less cost without its transfer matrix."""
    return products * slices * (a + b) < a * b * (slices + products)


def _sandwiches(products: Array64, core: Core, run: Run = map) -> Array64:
    """``sum_i Z(i)^T product Z(i)`` for every product without a transfer matrix, some products and slices at a time."""
    a, slices, b = core.shape
    total = np.zeros((len(products), b, b))
    batch = max(1, _PASSING_ENTRIES // (a * b))
    for first in range(0, len(products), batch):
        together = products[first : first + batch]
        step = max(1, _PASSING_ENTRIES // (len(together) * a * b))

        def of_slab(start: int, together: Array64 = together, step: int = step) -> Array64:
            slab = np.ascontiguousarray(core[:, start : start + step, :], dtype=np.float64)
            middle = together.reshape(-1, a) @ slab.reshape(a, -1)
            return np.asarray(slab.reshape(-1, b).T @ middle.reshape(len(together), -1, b))

        for part in run(of_slab, range(0, slices, step)):
            total[first : first + batch] += part
    return total


def _mixed_sandwich(product: Array64, core: Core, other: Core) -> Array64:
    """``sum_i Z(i)^T product Z'(i)`` for the slices of two cores."""
    (a, slices, b), (a2, _, b2) = core.shape, other.shape
    out = np.zeros((b, b2))
    step = max(1, _SLAB_ENTRIES // (max(a, a2) * max(b, b2)))
    for start in range(0, slices, step):
        left = np.ascontiguousarray(core[:, start : start + step, :], dtype=np.float64)
        right = np.ascontiguousarray(other[:, start : start + step, :], dtype=np.float64)
        middle = product.T @ left.reshape(a, -1)
        out += middle.reshape(-1, b).T @ right.reshape(-1, b2)
    return out


def _unfold(core: Core) -> Array64:
    """A_k: one row a slice, columns (a, b)."""
    a, slices, b = core.shape
    return np.ascontiguousarray(core.transpose(1, 0, 2), dtype=np.float64).reshape(slices, a * b)
