"""RandomizedTRSVD (TRSVD-R): TRSVD with randomised range finders in place of singular value decompositions.

Ahmadi-Asl, Cichocki, Phan, Asante-Mensah, Mousavi, Oseledets & Tanaka, "Randomized algorithms for fast computation of
low-rank tensor ring model", 2020, Algorithm 7.
"""

from dataclasses import dataclass

import numpy as np

from ringlet.baselines.sequential_svd import SequentialSVD, Step, Truncated, left_vectors
from ringlet.baselines.unfolding import Unfolding, unfold_array
from ringlet.checks import check_number
from ringlet.ring.arrays import Mapper

__all__ = ["RandomizedTRSVD"]


@dataclass(frozen=True, kw_only=True)
class RandomizedTRSVD(SequentialSVD):
    """TRSVD in which every step projects on the range of a Gaussian sketch first (TRSVD-R).

    Each step sketches ``Y = C G``, takes an orthonormal basis of it, and truncates the small projected matrix: close
    to TRSVD at a fraction of the cost where modes are long. Complete data only, and not robust.

    Parameters
    ----------
    oversampling : int
        Columns of a sketch beyond the components that are kept.
    power : int
        Power iterations ``Y <- C (C^T Q)`` of a sketch. Natural images have slowly decaying spectra and lose some dB
        without any.
    start_mode, dtype, memory, threads
        As in `TRSVD`.

    Notes
    -----
    The published method truncates the sketch; truncating after the projection, as here, is never worse.

    References
    ----------
    Ahmadi-Asl et al., "Randomized algorithms for fast computation of low-rank tensor ring model", Machine Learning:
    Science and Technology 2, 2020, Algorithm 7. Halko, Martinsson & Tropp, "Finding structure with randomness", SIAM
    Review 53, 2011.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.fromfunction(lambda i, j, k: np.cos(i / 9 + j / 7 + k), (20, 15, 4))
    >>> fit = ringlet.decompose(x, rank=(1, 2, 2), solver=RandomizedTRSVD())
    >>> bool(np.allclose(fit.ring, x))
    True
    """

    oversampling: int = 10
    power: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("oversampling", self.oversampling, at_least=0, whole=True)
        check_number("power", self.power, at_least=0, whole=True)

    def truncate(self, unfolding: Unfolding, step: Step, seed: int, mapper: Mapper) -> Truncated:
        """A nearly best approximation of this many components."""
        width = self._width(step)
        if width == step.rows:  # a sketch would span everything
            outer, projected = None, unfolding
        else:
            outer = _orthonormal(unfolding.sketch(width, seed, step.number, mapper))  # Q of Y = C G
            for _ in range(self.power):
                outer = _orthonormal(unfolding.power(outer, mapper))  # Q of Y = C (C^T Q)
            projected = unfold_array(unfolding.project(outer, mapper))  # B = Q^T C
        inner = left_vectors(projected, mapper)[0][:, : step.components]  # B ~ U' Sigma V^T
        remainder = projected.project(inner, mapper)  # Sigma V^T
        basis = inner if outer is None else outer @ inner  # U = Q U'
        discarded = unfolding.squared_norm(mapper) - unfold_array(remainder).squared_norm(mapper)
        return Truncated(basis, remainder, max(0.0, discarded))

    def step_operations(self, step: Step) -> int:
        """A sketch, two products for every power iteration, and a projection; the small factorisation besides."""
        width = self._width(step)
        passes = 2 * step.rows * step.columns * width * (2 + 2 * self.power)
        return passes + 4 * width * width * step.columns + 2 * width * width * step.rows

    def column_numbers(self, step: Step) -> int:
        """Numbers held for every column of C, beside it: B and the remainder, then that twice."""
        width = self._width(step)
        projected = width if width < step.rows else 0
        return step.components + max(projected, step.components)

    def _width(self, step: Step) -> int:
        return min(step.components + self.oversampling, step.rows)


def _orthonormal(sketch: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the columns."""
    return np.linalg.qr(sketch)[0]
