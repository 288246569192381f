"""A Gram matrix as a sum of Kronecker products, as many as the square of the narrowest bond. Pure maths, float64."""

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from ringlet.ring.arrays import Array64, Run

__all__ = ["KroneckerSum"]

_ROWS = 256  # rows that are multiplied at once
_SHARED_ENTRIES = 1 << 16  # smaller matrices are one product, which takes less time than waking threads
_SMALL_PRODUCTS = 4  # time of an operation in many small products, relative to a large one


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
    >>> G.trace(), round(G.norm() ** 2, 9), G.size
    (12.0, 80.0, 2)
    """

    left: Array64
    right: Array64

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.left.shape[1] * self.right.shape[1])

    def trace(self) -> float:
        """Sum of the diagonal."""
        return float(np.einsum("maa->m", self.left) @ np.einsum("mbb->m", self.right))

    def norm(self) -> float:
        """Frobenius norm, from the inner products of the terms; computed once."""
        return self._norm

    @cached_property
    def _norm(self) -> float:
        left, right = (part.reshape(len(part), -1) for part in (self.left, self.right))
        return sqrt(max(float(np.vdot(left @ left.T, right @ right.T)), 0.0))

    def dense(self, run: Run = map) -> Array64:
        """The whole matrix."""
        whole = np.empty((self.size, self.size))
        self._fill(whole, run, lower_only=False)
        return whole

    def apply(self, rows: Array64, run: Run = map) -> Array64:
        """``rows @ G``, with G formed or not, whichever is cheaper.

        Parameters
        ----------
        rows : array, shape (n, a * b)
        run : callable
            Used like `map` for independent pieces.
        """
        terms, a, b = len(self.left), self.left.shape[1], self.right.shape[1]
        matrix = None if _SMALL_PRODUCTS * terms * (a + b) < a * b else self.dense(run)
        out = np.empty_like(rows)

        def apply_block(start: int) -> None:
            block = rows[start : start + _ROWS]
            if matrix is not None:
                np.matmul(block, matrix, out=out[start : start + _ROWS])
                return
            slices = block.reshape(-1, a, b)
            products = (left.T @ (slices @ right) for left, right in zip(self.left, self.right, strict=True))
            out[start : start + _ROWS] = sum(products).reshape(block.shape)

        for _ in run(apply_block, range(0, len(rows), _ROWS)):
            pass
        return out

    def fill_lower(self, out: Array64, run: Run = map) -> None:
        """Write the lower triangle into `out`, shape (size, size); the upper triangle may keep its old content."""
        self._fill(out, run, lower_only=True)

    def _fill(self, out: Array64, run: Run, *, lower_only: bool) -> None:
        terms, a, b = len(self.left), self.left.shape[1], self.right.shape[1]
        blocks = out.reshape(a, b, a, b)
        right = self.right.reshape(terms, b * b)
        if out.size < _SHARED_ENTRIES:
            products = self.left.reshape(terms, a * a).T @ right
            blocks[...] = products.reshape(a, a, b, b).transpose(0, 2, 1, 3)
            return

        def fill(row: int) -> None:  # G[(a,b),(a',b')] = sum_m P[m,a,a'] S[m,b,b']
            stop = row + 1 if lower_only else a
            block = self.left[:, row, :stop].T @ right
            blocks[row, :, :stop] = block.reshape(stop, b, b).transpose(1, 0, 2)

        for _ in run(fill, range(a)):
            pass
