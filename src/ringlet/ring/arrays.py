"""Types of arrays and callables that several modules of this package share, and a routine that NumPy lacks."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array64", "Floats", "Mapper", "inverse_cholesky"]

Array64: TypeAlias = NDArray[np.float64]
Floats: TypeAlias = NDArray[np.floating[Any]]
Mapper: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]  # used like `map`


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
