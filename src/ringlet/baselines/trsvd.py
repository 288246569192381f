"""TRSVD: tensor ring decomposition by sequential singular value decompositions.

Zhao, Zhou, Xie, Zhang & Cichocki, "Tensor Ring Decomposition", 2016, Algorithm 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from ringlet.baselines.sequential_svd import SequentialSVD, Step, Truncated, balanced_factors, left_vectors
from ringlet.baselines.unfolding import Unfolding
from ringlet.checks import check_number
from ringlet.errors import ArgumentError
from ringlet.ring.arrays import Floats, Mapper

__all__ = ["TRSVD"]

_SVD_ARRAYS = 13  # input, output and work of a singular value decomposition, in matrices of its size


@dataclass(frozen=True, kw_only=True)
class TRSVD(SequentialSVD):
    """Tensor ring decomposition by N-1 truncated singular value decompositions, in one pass.

    Minimises nothing as a whole: each step is optimal for the remainder of the previous one. The squared error is the
    sum of all squared singular values that were cut off. A tensor that has an exact ring of this rank is not recovered
    in general, since the first step fixes an arbitrary basis. Complete data only, and not robust.

    Parameters
    ----------
    start_mode : int or "auto"
        The mode k of the first step, which needs ``rank[k] * rank[k + 1]`` singular values and so at least as many
        slices. "auto" takes the first mode that has them.
    accuracy : float, optional
        Choose the ranks so that the relative error is at most this; then ``rank`` must be None.
    dtype, memory, threads
        As in `ringlet.AWRTRD`.

    Notes
    -----
    A bond with fewer singular values than its rank gets a smaller rank; see ``fit.ring.rank``.

    References
    ----------
    Zhao, Zhou, Xie, Zhang & Cichocki, "Tensor Ring Decomposition", arXiv:1606.05535, 2016, Algorithm 1.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.fromfunction(lambda i, j, k: np.cos(i / 9 + j / 7 + k), (20, 15, 4))
    >>> fit = ringlet.decompose(x, rank=None, solver=TRSVD(accuracy=1e-6))
    >>> fit.ring.rank, bool(np.allclose(fit.ring, x, atol=1e-4))
    ((1, 2, 2), True)
    """

    accuracy: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.accuracy is not None:
            check_number("accuracy", self.accuracy, at_least=0)

    def bonds(self, rank: int | Sequence[int] | None, order: int) -> tuple[int, ...]:
        """The rank as one bond before every mode; empty if the accuracy determines it."""
        if self.accuracy is None:
            return super().bonds(rank, order)
        if rank is not None:
            raise ArgumentError(f"rank={rank!r} is not allowed with accuracy={self.accuracy}, which decides the ranks")
        return ()

    def truncate(self, unfolding: Unfolding, step: Step, seed: int, mapper: Mapper) -> Truncated:  # noqa: ARG002
        """The best approximation of this many components, or of this accuracy."""
        left, values = left_vectors(unfolding, mapper)
        squares = np.square(values.astype(np.float64))
        components = step.components
        if self.accuracy is not None:
            components = self._components(squares, step)
        basis = np.ascontiguousarray(left[:, :components])
        return Truncated(basis, unfolding.project(basis, mapper), float(squares[components:].sum()))

    def _components(self, squares: Floats, step: Step) -> int:
        """The smallest number R with ``sqrt(sum_{i > R} sigma_i^2) <= delta``."""
        # delta_1 = sqrt(2/N) eps, delta_k = sqrt(1/N) eps: two bonds are cut in the first step, one in each other
        share = sqrt((2 if step.number == 0 else 1) / step.order)
        tails = np.append(np.cumsum(squares[::-1])[::-1], 0.0)  # tails[R] = sum_{i > R} sigma_i^2
        delta = share * float(self.accuracy or 0.0)
        components = max(1, int(np.argmax(tails <= delta * delta * tails[0])))
        if step.number == 0 and components > 3 and components < len(squares) and balanced_factors(components)[0] == 1:
            components += 1  # a prime number of components would make a train of the ring
        return components

    def square_matrices(self, blocks: int) -> int:
        """The factors of blocks, three times while they are joined; memory of their decomposition."""
        return 3 * blocks + _SVD_ARRAYS

    def step_operations(self, step: Step) -> int:
        """A triangular factor, its singular value decomposition, and a projection."""
        short, long = sorted((step.rows, step.columns))
        return 2 * short * short * long + 20 * short**3 + 2 * step.rows * step.columns * step.components
