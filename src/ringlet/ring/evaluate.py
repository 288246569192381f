"""From cores to dense blocks and single entries, mostly in large matrix products. Pure array functions.

A ring cut at two bonds p < q falls into two arcs. With the modes grouped as left (before p), middle (p to q)
and right (from q on), the dense tensor is a product of matrices,

    ``X[left, middle, right] = sum_ab inner[middle, ab] outer[left, right, ab]``,

a and b running over the two cut bonds. Where to cut is a matter of cost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.chain import Core, merge, merge_cost

__all__ = ["best_cut", "dense_block", "dense_operations", "dense_points", "entries"]

_BATCH_ENTRIES = 1 << 18  # entries of intermediate arrays: about the size of a cache
_ORDERED_ENTRIES = 1 << 17  # entries that are reordered at a time: they stay in the cache of a processor core
_SLAB_ENTRIES = 1 << 20  # entries of the longer arc that are made at a time
_NARROW = 16  # matrix products with fewer columns than this run far below full speed
_COPY_COST = 30  # operations of a matrix product that take as long as copying one number


def dense_block(cores: Sequence[Core]) -> NDArray[Any]:
    """Dense tensor of a ring of cores, in C order.

    Parameters
    ----------
    cores : sequence of arrays
        Core k has shape ``(r_k, I_k, r_{k+1})``, the last bond closes on the first. Sizes of 0 are allowed.

    Returns
    -------
    array of shape ``(I_0, .., I_{N-1})``

    Examples
    --------
    >>> import numpy as np
    >>> dense_block([np.ones((1, 2, 3)), np.ones((3, 2, 1))])
    array([[3., 3.],
           [3., 3.]])
    """
    shape = tuple(core.shape[1] for core in cores)
    if 0 in shape:
        return np.empty(shape, cores[0].dtype)
    if len(cores) == 1:
        return np.ascontiguousarray(np.trace(cores[0], axis1=0, axis2=2))
    return best_cut(cores).evaluate()


def dense_operations(cores: Sequence[Core]) -> int:
    """Floating-point operations of the products in `dense_block`, for at least two cores."""
    cut = best_cut(cores)
    left, middle, right, bonds = cut.sizes
    return 2 * left * middle * right * bonds + merge_cost(cut.inner_cores) + merge_cost(cut.outer_cores)


def dense_points(cores: Sequence[Core], points: dict[int, NDArray[np.intp]]) -> NDArray[Any]:
    """Values at many points of some modes, dense over the others.

    Parameters
    ----------
    cores : sequence of arrays
        The cores of a ring.
    points : dict from mode to array of shape (M,)
        Indices of these modes, taken together: point m has index ``points[k][m]`` along mode k.

    Returns
    -------
    array of shape ``(M, ...)``
        The other modes follow in their order.

    Examples
    --------
    >>> import numpy as np
    >>> cores = [np.arange(2.0).reshape(1, 2, 1), np.ones((1, 4, 1)), np.arange(3.0).reshape(1, 3, 1)]
    >>> dense_points(cores, {0: np.array([1, 1]), 2: np.array([0, 2])})
    array([[0., 0., 0., 0.],
           [2., 2., 2., 2.]])
    """
    free = [k for k in range(len(cores)) if k not in points]
    free_shape = tuple(cores[k].shape[1] for k in free)
    count = len(next(iter(points.values())))
    values = np.empty((count, *free_shape), cores[0].dtype)
    if values.size == 0:
        return values
    if prod(free_shape) >= _BATCH_ENTRIES // 64:  # few large blocks: each gets its own plan
        for m in range(count):
            block = [core[:, points[k][m], None] if k in points else core for k, core in enumerate(cores)]
            values[m] = dense_block(block).reshape(free_shape)
        return values
    origin = int(np.argmin([core.shape[0] for core in cores]))  # the narrowest bond keeps the chain small
    modes = [*range(origin, len(cores)), *range(origin)]
    opened = [_by_slice(cores[k]) if k in points else cores[k] for k in modes]
    selected = [points.get(k) for k in modes]
    arrived = [free.index(k) for k in modes if k not in points]  # the order of the free modes
    widest = cores[origin].shape[0] * max(core.shape[0] for core in cores) * prod(free_shape)
    step = max(1, _BATCH_ENTRIES // widest)
    for start in range(0, count, step):
        batch = [None if where is None else where[start : start + step] for where in selected]
        chain = _chain_points(opened, batch)
        met = chain.reshape(len(chain), *(free_shape[position] for position in arrived))
        values[start : start + step] = met.transpose(0, *(1 + np.argsort(arrived)))
    return values


def entries(cores: Sequence[Core], coordinates: NDArray[np.intp]) -> NDArray[Any]:
    """Single entries of the tensor.

    Parameters
    ----------
    cores : sequence of arrays
        The cores of a ring of order N.
    coordinates : array of int, shape (M, N)

    Returns
    -------
    array of shape (M,)

    Examples
    --------
    >>> import numpy as np
    >>> cores = [np.arange(2.0).reshape(1, 2, 1), np.arange(3.0).reshape(1, 3, 1)]
    >>> entries(cores, np.array([[1, 2], [0, 2]]))
    array([2., 0.])
    """
    return dense_points(cores, dict(enumerate(coordinates.T)))


def _by_slice(core: Core) -> Core:
    """Lateral slices first and contiguous, so that gathering them is fast."""
    return np.ascontiguousarray(core.transpose(1, 0, 2))


def _chain_points(cores: Sequence[Core], batch: Sequence[NDArray[np.intp] | None]) -> NDArray[Any]:
    """Trace of the chain for a batch of points, shape ``(M, free entries)``.

    A core with points comes as ``(I, a, b)`` and contributes one matrix a point; a free core comes as
    ``(a, I, b)``.
    """
    count = next(len(where) for where in batch if where is not None)
    bond = cores[0].shape[0] if batch[0] is None else cores[0].shape[1]
    chain = np.broadcast_to(np.eye(bond, dtype=cores[0].dtype)[:, None, :], (count, bond, 1, bond))  # [m, a, j, c]
    for core, where in zip(cores[:-1], batch[:-1], strict=True):
        if where is None:
            c, slices, b = core.shape
            chain = (chain @ core.reshape(c, slices * b)).reshape(count, bond, -1, b)
        else:
            matrices = core[where]
            rows = chain.reshape(count, -1, matrices.shape[1]) @ matrices
            chain = rows.reshape(count, bond, -1, matrices.shape[2])
    closing = chain.transpose(0, 2, 3, 1).reshape(count, chain.shape[2], -1)  # [m, j, (c, a)]
    if batch[-1] is None:
        columns = cores[-1].transpose(0, 2, 1).reshape(-1, cores[-1].shape[1])
        return (closing @ columns).reshape(count, -1)
    return (closing @ cores[-1][batch[-1]].reshape(count, -1, 1)).reshape(count, -1)


def best_cut(cores: Sequence[Core]) -> "_Cut":
    """Where to cut the ring of at least two cores; it depends on their shapes alone."""
    return min((_Cut(cores, p, q) for p, q in combinations(range(len(cores)), 2)), key=_Cut.burden)


@dataclass(frozen=True)
class _Cut:
    """The plan to cut the ring at bonds p < q."""

    cores: Sequence[Core]
    p: int
    q: int

    @property
    def inner_cores(self) -> Sequence[Core]:
        return self.cores[self.p : self.q]

    @property
    def outer_cores(self) -> Sequence[Core]:
        return [*self.cores[self.q :], *self.cores[: self.p]]

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Left, middle and right entries, and the entries of the two bonds together."""
        sizes = [core.shape[1] for core in self.cores]
        bonds = self.cores[self.p].shape[0] * self.cores[self.q].shape[0]
        return prod(sizes[: self.p]), prod(sizes[self.p : self.q]), prod(sizes[self.q :]), bonds

    def burden(self) -> tuple[int, float]:
        """Memory beyond what is always allowed, then operations; the smaller the better."""
        left, middle, right, bonds = self.sizes
        arcs = bonds * (middle + left * right)
        allowed = max(left * middle * right // 4, _BATCH_ENTRIES)
        direct = left * _product_cost(middle, bonds, right)
        operations = min(direct, self._interleaved_cost()) + _COPY_COST * arcs
        return max(0, arcs - allowed), operations + merge_cost(self.inner_cores) + merge_cost(self.outer_cores)

    def evaluate(self) -> NDArray[Any]:
        """The dense tensor; a long outer arc is made in slabs of its largest mode, which stay in the cache."""
        shape = [core.shape[1] for core in self.cores]
        left, middle, right, bonds = self.sizes
        inner = merge(self.inner_cores).transpose(1, 2, 0).reshape(middle, bonds)  # [middle, (b, a)]
        outer_modes = [*range(self.q, len(self.cores)), *range(self.p)]
        longest = max(range(len(outer_modes)), key=lambda place: shape[outer_modes[place]])
        before, core, after = self.outer_cores[:longest], self.outer_cores[longest], self.outer_cores[longest + 1 :]
        arc = [*([merge(before)] if before else []), core, *([merge(after)] if after else [])]
        slices = core.shape[1]
        step = max(1, _SLAB_ENTRIES * slices // (bonds * left * right))
        if step >= slices:
            return self._product(inner, arc, left, right).reshape(shape)
        mode, place = outer_modes[longest], 1 if before else 0
        out = np.empty(shape, inner.dtype)
        for start in range(0, slices, step):
            slab = slice(start, min(start + step, slices))
            arc[place] = core[:, slab]
            part = (slab.stop - slab.start) / slices
            lefts, rights = (round(left * part), right) if mode < self.p else (left, round(right * part))
            target = out[(slice(None),) * mode + (slab,)]
            target[...] = self._product(inner, arc, lefts, rights).reshape(target.shape)
        return out

    def _product(self, inner: NDArray[Any], arc: Sequence[Core], left: int, right: int) -> NDArray[Any]:
        """Close the inner arc with (a slab of) the outer one, given as a chain; shape (left, middle, right)."""
        middle, bonds = inner.shape
        outer = merge(arc)  # [b, (right, left), a]
        b, _, a = outer.shape
        outer = outer.reshape(b, right, left, a).transpose(2, 1, 0, 3).reshape(left, right, bonds)
        interleaved = self._interleaved_cost() < left * _product_cost(middle, bonds, right)
        return _interleaved(inner, outer) if interleaved else _blocked(inner, outer)

    def _interleaved_cost(self) -> float:
        left, middle, right, bonds = self.sizes
        return right * (_product_cost(left, bonds, middle) + _COPY_COST * left * middle)


def _blocked(inner: NDArray[Any], outer: NDArray[Any]) -> NDArray[Any]:
    """Evaluate many left entries at a time: on a busy machine many small products would be slow."""
    (left, right, bonds), middle = outer.shape, len(inner)
    out = np.empty((left, middle, right), inner.dtype)
    if left == 1:
        np.matmul(inner, outer[0].T, out=out[0])
        return out
    step = max(1, 4 * _BATCH_ENTRIES // (middle * right))
    for start in range(0, left, step):
        rows = slice(start, start + step)
        out[rows] = (inner @ outer[rows].reshape(-1, bonds).T).reshape(middle, -1, right).swapaxes(0, 1)
    return out


def _interleaved(inner: NDArray[Any], outer: NDArray[Any]) -> NDArray[Any]:
    """Evaluate few right entries: the product gives them one after the other, and they are then interleaved.

    The product goes to the memory of the result, so that all threads of BLAS share its first touch; a few left entries
    at a time are then reordered, in the cache.
    """
    (left, right, bonds), middle = outer.shape, len(inner)
    out = np.empty((left, middle, right), inner.dtype)
    apart = out.reshape(left, right, middle)
    np.matmul(outer.reshape(-1, bonds), inner.T, out=apart.reshape(-1, middle))
    step = max(1, _ORDERED_ENTRIES // (middle * right))
    room = np.empty((min(step, left), right, middle), inner.dtype)
    for start in range(0, left, step):
        rows = slice(start, start + step)
        few = room[: len(apart[rows])]
        few[...] = apart[rows]
        for j in range(right):
            out[rows, :, j] = few[:, j]
    return out


def _product_cost(m: int, k: int, n: int) -> float:
    """Operations of an ``(m, k) @ (k, n)`` product, increased for the lower speed of narrow matrices."""
    return 2.0 * m * k * n * (1 + _NARROW / m) * (1 + _NARROW / n)
