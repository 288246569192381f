"""Names for the arrays and callables that several files of this room take, and what NumPy lacks for them."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array64", "Run", "inverse_triangle"]

Array64: TypeAlias = NDArray[np.float64]
Run: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]  # used like `map`


def inverse_triangle(lower: NDArray[np.floating[Any]]) -> Array64:
    """Inverse of a lower triangular matrix, in a sixth of the operations of a general inverse.

    Examples
    --------
    >>> inverse_triangle(np.array([[2.0, 0.0], [1.0, 1.0]]))
    array([[ 0.5,  0. ],
           [-0.5,  1. ]])
    """
    from scipy.linalg.lapack import dtrtri  # SciPy takes long to import

    # LAPACK reads the rows as columns: the transpose of the matrix, whose inverse it gives transposed.
    inverse, _ = dtrtri(lower.T, lower=0)
    return np.ascontiguousarray(inverse.T)
