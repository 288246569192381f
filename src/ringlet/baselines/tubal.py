"""Third-order tensors through a transform of their tubes, whose slices are shrunk: the prox of tensor nuclear norms."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy

from ringlet.baselines.proximal import ModeSplit, Numbers, shrink, spectral_norm
from ringlet.ring.arrays import Floats, Mapper

__all__ = ["CosineSlices", "FourierSlices", "OrthogonalSlices", "TubalSlices"]


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

    def shrink(self, threshold: float, mapper: Mapper) -> int:
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

        left: Iterable[int] = mapper(one, self._dearest_first())
        return sum(left)

    def norm(self, mapper: Mapper) -> float:
        """The largest singular value of all slices."""
        norms: Iterable[float] = mapper(
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


class CosineSlices(TubalSlices):
    """Slices after the discrete cosine transform, orthonormal: as `OrthogonalSlices`, without the matrix.

    Examples
    --------
    >>> tensor = np.ones((1, 1, 4))
    >>> slices = CosineSlices(tensor.shape, tensor.dtype)
    >>> slices.write(slice(0, 1), tensor)
    >>> slices.slices.ravel().round(12) + 0.0
    array([2., 0., 0., 0.])
    """

    def __init__(self, shape: Sequence[int], dtype: np.dtype[Any]) -> None:
        n1, n2, n3 = shape
        self.slices = np.zeros((n3, n1, n2), dtype)

    def write(self, rows: slice, tubes: Floats) -> None:
        """Set rows i of the tensor, shape (rows, n2, n3)."""
        self.slices[:, rows] = scipy.fft.dct(tubes, axis=2, norm="ortho").transpose(2, 0, 1)

    def read(self, rows: slice) -> Floats:
        """Rows i of the tensor."""
        tubes: Floats = scipy.fft.idct(self.slices[:, rows].transpose(1, 2, 0), axis=2, norm="ortho")
        return tubes

    def _is_real(self, index: int) -> bool:  # noqa: ARG002
        return True


class OrthogonalSlices(TubalSlices):
    """Slices after an orthogonal transform U^T along the last mode.

    ``||X||_TTNN = sum_i ||slice_i||_*``: the prox thresholds the slices by its parameter.

    Parameters
    ----------
    shape : (n1, n2, n3)
    transform : array of shape (n3, k), k at most n3
        U; its columns are the new basis of a tube, orthonormal. With fewer than n3 columns, the part outside their span
        is left out.

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
        n1, n2, _ = shape
        self._transform = transform
        self.slices = np.zeros((transform.shape[1], n1, n2), transform.dtype)

    def write(self, rows: slice, tubes: Floats) -> None:
        """Set rows i of the tensor, shape (rows, n2, n3)."""
        count, n2, n3 = tubes.shape
        self.slices[:, rows] = (self._transform.T @ tubes.reshape(-1, n3).T).reshape(-1, count, n2)

    def read(self, rows: slice) -> Floats:
        """Rows i of the tensor."""
        part = self.slices[:, rows]
        k, count, n2 = part.shape
        return np.asarray(part.reshape(k, -1).T @ self._transform.T).reshape(count, n2, -1)

    def _is_real(self, index: int) -> bool:  # noqa: ARG002
        return True
