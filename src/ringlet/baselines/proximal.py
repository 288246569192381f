"""The operators that the completion methods share: soft thresholds of entries and of singular values.

Singular values are thresholded through the Gram matrix of the smaller side, in float64 whatever the working precision:
only those above the threshold are used, so squaring does no harm. Work is cut into pieces that depend on sizes only.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any, TypeAlias

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from ringlet.ring.arrays import Run

__all__ = [
    "FourierSlices",
    "ModeSplit",
    "OrthogonalSlices",
    "TubalSlices",
    "shrink",
    "shrink_cost",
    "shrink_room",
    "soft",
    "spectral_norm",
]

Floats: TypeAlias = NDArray[np.floating[Any]]
Numbers: TypeAlias = NDArray[Any]  # real or complex

_BLOCK_ENTRIES = 1 << 19  # of a matrix that are looked at together
_EIGEN_ARRAYS = 5  # arrays of the Gram matrix's size that an eigendecomposition needs at a time
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
        """Index ranges of (before, middle, after) that cut the columns of the matrix, in order."""
        sizes = (self.before, self.middle, self.after)
        axis = 1 if self.middle > self.before * self.after else (0 if self.before > self.after else 2)
        least = max(_BLOCK_ENTRIES, self.rows**2)  # or summing up the Gram matrices would cost more than making them
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


def shrink(tensor: Numbers, unfolding: ModeSplit, threshold: float, run: Run) -> int:
    """Soft threshold of the singular values of an unfolding, in place; the prox of ``t ||X||_*``.

    Parameters
    ----------
    tensor : array, contiguous, real or complex
    unfolding : ModeSplit
    threshold : float
    run : callable
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
    squares, vectors = np.linalg.eigh(_gram(view, unfolding, run))  # M M^H = U diag(sigma^2) U^H
    sigmas = np.sqrt(np.maximum(squares, 0.0))
    kept = sigmas > threshold
    left = vectors[:, kept]
    scaled = (left * (1.0 - threshold / sigmas[kept])).astype(tensor.dtype)  # U max(1 - t / sigma, 0)
    left = left.conj().T.astype(tensor.dtype)

    def replace(block: tuple[slice, slice, slice]) -> None:
        part = view[block]
        unfolding.put(scaled @ (left @ unfolding.matrix(part)), part)

    for _ in run(replace, unfolding.blocks()):
        pass
    return int(np.count_nonzero(kept))


def spectral_norm(tensor: Numbers, unfolding: ModeSplit, run: Run) -> float:
    """The largest singular value of an unfolding."""
    view = tensor.reshape(unfolding.before, unfolding.middle, unfolding.after)
    return float(np.sqrt(max(np.linalg.eigvalsh(_gram(view, unfolding, run))[-1], 0.0)))


def shrink_cost(unfolding: ModeSplit) -> int:
    """Floating-point operations of `shrink` on real numbers, at most; four times as many on complex ones."""
    rows, columns = unfolding.rows, unfolding.columns
    return 6 * rows * rows * columns + _EIGEN_COST * rows**3


def shrink_room(unfolding: ModeSplit, threads: int, *, itemsize: int = 8) -> int:
    """Bytes that `shrink` works in beside the tensor; `itemsize` is 8 for real numbers and 16 for complex ones."""
    blocks = unfolding.blocks()
    entries: int = prod(span.stop - span.start for span in blocks[0])
    grams = _EIGEN_ARRAYS + min(len(blocks) - 1, 2 * threads)
    return itemsize * (grams * unfolding.rows * unfolding.rows + 2 * min(threads, len(blocks)) * entries)


def _gram(view: Numbers, unfolding: ModeSplit, run: Run) -> Numbers:
    """``M M^H`` of the smaller side, in double precision."""
    double = np.complex128 if view.dtype.kind == "c" else np.float64

    def partial(block: tuple[slice, slice, slice]) -> Numbers:
        columns = unfolding.matrix(view[block]).astype(double)
        return np.asarray(columns @ columns.conj().T)

    total = None
    for gram in run(partial, unfolding.blocks()):
        total = gram if total is None else np.add(total, gram, out=total)
    return np.asarray(total)


class TubalSlices(ABC):
    """A third-order tensor after a transform along its last mode: one n1 x n2 matrix a transformed index.

    Rows are written and read through the transform, the slices shrunk in between: together the prox of the tensor
    nuclear norm that goes with the transform.

    Attributes
    ----------
    slices : array of shape (count, n1, n2)
    """

    slices: Numbers

    @abstractmethod
    def write(self, rows: slice, tubes: Floats) -> None:
        """Set rows i of the tensor, shape (rows, n2, n3)."""

    @abstractmethod
    def read(self, rows: slice) -> Floats:
        """Rows i of the tensor."""

    @abstractmethod
    def _is_real(self, index: int) -> bool:
        """Whether a slice holds real numbers only."""

    def shrink(self, threshold: float, run: Run) -> int:
        """Soft threshold of the singular values of every slice; returns how many are left in all."""
        unfolding = self._unfolding

        def one(index: int) -> int:
            piece = self.slices[index]
            if piece.dtype.kind == "c" and self._is_real(index):
                real = np.ascontiguousarray(piece.real)
                left = shrink(real, unfolding, threshold, map)
                piece[...] = real
                return left
            return shrink(piece, unfolding, threshold, map)

        left: Iterable[int] = run(one, self._dearest_first())
        return sum(left)

    def norm(self, run: Run) -> float:
        """The largest singular value of all slices."""
        norms: Iterable[float] = run(
            lambda index: spectral_norm(self.slices[index], self._unfolding, map), self._dearest_first()
        )
        return max(norms)

    @property
    def _unfolding(self) -> ModeSplit:
        return ModeSplit.of(self.slices.shape[1:], 0, 1)

    def _dearest_first(self) -> list[int]:
        """Indices of all slices, real ones last, so that no thread waits long for another at the end."""
        return sorted(range(len(self.slices)), key=self._is_real)


class FourierSlices(TubalSlices):
    """Slices after the discrete Fourier transform, not normalised; conjugate ones are left out.

    ``||X||_TNN = (1/n3) sum_i ||slice_i||_*`` over all n3 slices, and ``||X||_F^2 = (1/n3) sum_i ||slice_i||_F^2``:
    the prox with parameter t thresholds the slices by t itself.

    Examples
    --------
    >>> tensor = np.ones((2, 2, 3))
    >>> slices = FourierSlices(tensor.shape, tensor.dtype)
    >>> slices.write(slice(0, 2), tensor)
    >>> slices.shrink(1.5, map)                        # 6 becomes 4.5, the only singular value there is
    1
    >>> slices.read(slice(0, 2))[0, 0]
    array([0.75, 0.75, 0.75])
    """

    def __init__(self, shape: Sequence[int], dtype: np.dtype[Any]) -> None:
        n1, n2, self._n3 = shape
        self.slices = np.zeros((self._n3 // 2 + 1, n1, n2), np.result_type(dtype, np.complex64))

    def write(self, rows: slice, tubes: Floats) -> None:
        """Set rows i of the tensor, shape (rows, n2, n3)."""
        self.slices[:, rows] = scipy.fft.rfft(tubes, axis=2).transpose(2, 0, 1)

    def read(self, rows: slice) -> Floats:
        """Rows i of the tensor."""
        tubes: Floats = scipy.fft.irfft(self.slices[:, rows].transpose(1, 2, 0), n=self._n3, axis=2)
        return tubes

    def _is_real(self, index: int) -> bool:
        return index == 0 or 2 * index == self._n3


class OrthogonalSlices(TubalSlices):
    """Slices after an orthogonal transform U^T along the last mode.

    ``||X||_TTNN = sum_i ||slice_i||_*``: the prox thresholds the slices by its parameter.

    Parameters
    ----------
    shape : (n1, n2, n3)
    transform : array of shape (n3, n3)
        U; its columns are the new basis of a tube.

    Examples
    --------
    >>> tensor = np.zeros((2, 2, 2))
    >>> tensor[0, 0] = 3.0, 1.0
    >>> slices = OrthogonalSlices(tensor.shape, np.eye(2))
    >>> slices.write(slice(0, 2), tensor)
    >>> slices.shrink(1.5, map)
    1
    >>> slices.read(slice(0, 1))[0, 0]
    array([1.5, 0. ])
    """

    def __init__(self, shape: Sequence[int], transform: Floats) -> None:
        n1, n2, n3 = shape
        self._transform = transform
        self.slices = np.zeros((n3, n1, n2), transform.dtype)

    def write(self, rows: slice, tubes: Floats) -> None:
        """Set rows i of the tensor, shape (rows, n2, n3)."""
        count, n2, n3 = tubes.shape
        self.slices[:, rows] = (self._transform.T @ tubes.reshape(-1, n3).T).reshape(n3, count, n2)

    def read(self, rows: slice) -> Floats:
        """Rows i of the tensor."""
        part = self.slices[:, rows]
        n3, count, n2 = part.shape
        return np.asarray(part.reshape(n3, -1).T @ self._transform.T).reshape(count, n2, n3)

    def _is_real(self, index: int) -> bool:  # noqa: ARG002
        return True
