"""The operators that the completion methods share: soft thresholds of entries and of singular values.

Singular values are thresholded through the Gram matrix of the smaller side, in float64 whatever the working precision:
only those above the threshold are used, so the squares are accurate enough. Blocks depend on sizes only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.arrays import Floats, Mapper

__all__ = [
    "EIGEN_ARRAYS",
    "ModeSplit",
    "shrink",
    "shrink_cost",
    "shrink_room",
    "soft",
    "spectral_norm",
]

Numbers: TypeAlias = NDArray[Any]  # real or complex

_BLOCK_ENTRIES = 1 << 19
EIGEN_ARRAYS = 5  # arrays of the Gram matrix's size that an eigendecomposition needs at a time
_EIGEN_COST = 9  # operations of an eigendecomposition over n^3


def soft(values: Floats, threshold: float) -> Floats:
    """``sign(a) max(|a| - t, 0)``, entry by entry; the prox of ``t ||a||_1``.

    Examples
    --------
    >>> soft(np.array([-3.0, 0.5, 2.0]), 1.0)
    array([-2.,  0.,  1.])
    """
    clipped = np.clip(values, -threshold, threshold)
    return np.subtract(values, clipped, out=clipped)


@dataclass(frozen=True)
class ModeSplit:
    """A tensor as a matrix: a run of neighbouring modes (cyclic) on one side, all others on the other.

    Attributes
    ----------
    before, middle, after : int
        Entries of the modes before the run, of the run, and after it. Where the run goes over the end, the other modes
        are the run: a matrix and its transpose have the same singular values.
    block_entries : int
        Entries of the matrix that are processed together, at least.

    Examples
    --------
    >>> ModeSplit.of((4, 5, 6), first=1, count=1)
    ModeSplit(before=4, middle=5, after=6)
    >>> ModeSplit.of((4, 5, 6), first=2, count=2)
    ModeSplit(before=4, middle=5, after=6)
    """

    before: int
    middle: int
    after: int
    block_entries: int = field(default=_BLOCK_ENTRIES, repr=False)

    @classmethod
    def of(cls, shape: Sequence[int], first: int, count: int) -> "ModeSplit":
        """Modes ``first .. first + count - 1`` against all others."""
        last = first + count
        if last > len(shape):
            first, last = last - len(shape), first
        return cls(prod(shape[:first]), prod(shape[first:last]), prod(shape[last:]))

    @property
    def rows(self) -> int:
        """The smaller side of the matrix."""
        return min(self.middle, self.before * self.after)

    @property
    def columns(self) -> int:
        """The larger side of the matrix."""
        return max(self.middle, self.before * self.after)

    def blocks(self) -> list[tuple[slice, slice, slice]]:
        """Index ranges of (before, middle, after) that divide the columns of the matrix, in order."""
        sizes = (self.before, self.middle, self.after)
        axis = 1 if self.middle > self.before * self.after else (0 if self.before > self.after else 2)
        least = max(
            self.block_entries, self.rows**2
        )  # else summing the Gram matrices would cost more than computing them
        step = ceil(least * sizes[axis] / prod(sizes))
        cuts = [[slice(0, size)] for size in sizes]
        cuts[axis] = [slice(start, min(start + step, sizes[axis])) for start in range(0, sizes[axis], step)]
        return [(before, middle, after) for before in cuts[0] for middle in cuts[1] for after in cuts[2]]

    def matrix(self, part: Numbers) -> Numbers:
        """A block of the tensor as columns of the matrix, its smaller side down."""
        if self.middle <= self.before * self.after:
            return part.transpose(1, 0, 2).reshape(self.middle, -1)
        return part.transpose(0, 2, 1).reshape(self.before * self.after, -1)

    def put(self, matrix: Numbers, part: Numbers) -> None:
        """Write columns of the matrix back to their block of the tensor."""
        before, middle, after = part.shape
        if self.middle <= self.before * self.after:
            part[...] = matrix.reshape(middle, before, after).transpose(1, 0, 2)
        else:
            part[...] = matrix.reshape(before, after, middle).transpose(0, 2, 1)


def shrink(tensor: Numbers, unfolding: ModeSplit, threshold: float, mapper: Mapper) -> int:
    """Soft threshold of the singular values of an unfolding, in place; the prox of ``t ||X||_*``.

    Parameters
    ----------
    tensor : array, contiguous, real or complex
    unfolding : ModeSplit
    threshold : float
    mapper : callable
        Used like `map` for independent pieces.

    Returns
    -------
    int
        How many singular values are left.

    Examples
    --------
    >>> matrix = np.diag([3.0, 1.0])
    >>> shrink(matrix, ModeSplit.of((2, 2), 0, 1), 1.5, map)
    1
    >>> matrix.round(12)
    array([[1.5, 0. ],
           [0. , 0. ]])
    """
    view = tensor.reshape(unfolding.before, unfolding.middle, unfolding.after)
    squares, vectors = np.linalg.eigh(_gram(view, unfolding, mapper))  # M M^H = U diag(sigma^2) U^H
    sigmas = np.sqrt(np.maximum(squares, 0.0))
    kept = sigmas > threshold
    left = vectors[:, kept]
    scaled = (left * (1.0 - threshold / sigmas[kept])).astype(tensor.dtype)  # U max(1 - t / sigma, 0)
    left = left.conj().T.astype(tensor.dtype)

    def replace(block: tuple[slice, slice, slice]) -> None:
        part = view[block]
        unfolding.put(scaled @ (left @ unfolding.matrix(part)), part)

    for _ in mapper(replace, unfolding.blocks()):
        pass
    return int(np.count_nonzero(kept))


def spectral_norm(tensor: Numbers, unfolding: ModeSplit, mapper: Mapper) -> float:
    """The largest singular value of an unfolding."""
    view = tensor.reshape(unfolding.before, unfolding.middle, unfolding.after)
    return float(np.sqrt(max(np.linalg.eigvalsh(_gram(view, unfolding, mapper))[-1], 0.0)))


def shrink_cost(unfolding: ModeSplit) -> int:
    """Floating-point operations of `shrink` on real numbers, at most; four times as many on complex ones."""
    rows, columns = unfolding.rows, unfolding.columns
    return 6 * rows * rows * columns + _EIGEN_COST * rows**3


def shrink_room(unfolding: ModeSplit, threads: int, *, itemsize: int = 8) -> int:
    """Bytes that `shrink` works in beside the tensor; `itemsize` is 8 for real numbers and 16 for complex ones."""
    blocks = unfolding.blocks()
    entries: int = prod(span.stop - span.start for span in blocks[0])
    grams = EIGEN_ARRAYS + min(len(blocks) - 1, 2 * threads)
    return itemsize * (grams * unfolding.rows * unfolding.rows + 2 * min(threads, len(blocks)) * entries)


def _gram(view: Numbers, unfolding: ModeSplit, mapper: Mapper) -> Numbers:
    """``M M^H`` of the smaller side, in double precision."""
    double = np.complex128 if view.dtype.kind == "c" else np.float64

    def partial(block: tuple[slice, slice, slice]) -> Numbers:
        columns = unfolding.matrix(view[block]).astype(double)
        return np.asarray(columns @ columns.conj().T)

    total = None
    for gram in mapper(partial, unfolding.blocks()):
        total = gram if total is None else np.add(total, gram, out=total)
    return np.asarray(total)
