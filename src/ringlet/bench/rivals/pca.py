"""PCA with missing data, as DINEOF fills satellite fields: a truncated SVD and its own gaps in turn."""

from collections.abc import Iterable, Iterator
from math import prod

import numpy as np
from numpy.typing import NDArray

from ringlet.bench.rivals.gaps import Array, Mask, held_out, table_of, tensor_of

__all__ = ["pca", "pca_path"]

_MOST = 30  # components
_ROUNDS = 60
_CLOSE = 1e-3  # relative change of the filled entries at which rounds end
_GAIN = 0.98  # of the error at held-out entries, that another component must reach
_PATIENCE = 3  # numbers of components without gain after which the search ends


def pca(values: Array, observed: Mask, *, mode: int | None = None, components: int | None = None) -> Array:
    """Fill gaps by the leading components of an unfolding. Observed entries stay as they are, as in DINEOF.

    Parameters
    ----------
    values, observed : arrays of one shape
    mode : int, optional
        The mode of the rows; by default the one that makes the unfolding most nearly square.
    components : int, optional
        By default the number with the least error at held-out entries.

    References
    ----------
    Beckers & Rixen, "EOF calculations and data filling from incomplete oceanographic datasets", Journal of Atmospheric
    and Oceanic Technology 20(12), 2003.
    """
    if mode is None:
        mode = min(range(values.ndim), key=lambda k: abs(np.log(values.shape[k] ** 2 / prod(values.shape))))
    if components is None:
        matrix, known, _ = _centred(values, observed, mode)
        components = _number(matrix, known)
    *_, estimate = pca_path(values, observed, mode, range(1, components + 1))
    return estimate


def pca_path(
    values: Array, observed: Mask, mode: int, numbers: Iterable[int], *, tol: float = _CLOSE
) -> Iterator[Array]:
    """The estimates of growing numbers of components, each of which starts from the one before.

    Rounds of a number end where the filled entries change by less than `tol` of the norm of all.
    """
    matrix, known, centre = _centred(values, observed, mode)
    for filled in _growing(matrix, known, numbers, tol):
        estimate = tensor_of(filled + centre, mode, values.shape)
        yield np.where(observed, values, estimate).astype(values.dtype)


def _centred(values: Array, observed: Mask, mode: int) -> tuple[NDArray[np.float64], Mask, float]:
    """An unfolding less its mean, with zeros in the gaps; what is known of it; the mean."""
    matrix, known = table_of(values, mode).astype(np.float64), table_of(observed, mode)
    centre = float(matrix[known].mean())
    return np.where(known, matrix - centre, 0.0), known, centre


def _number(matrix: NDArray[np.float64], known: Mask) -> int:
    """Components with the least error at held-out entries."""
    out = held_out(known)
    seen = known & ~out
    if not (out.any() and seen.any()):
        return 1
    best, least = 1, np.inf
    numbers = range(1, min(_MOST, *matrix.shape) + 1)
    for number, filled in zip(numbers, _growing(matrix, seen, numbers, _CLOSE), strict=True):
        error = float(np.abs(filled - matrix)[out].mean())
        if error < _GAIN * least:
            best, least = number, error
        elif number >= best + _PATIENCE:
            break
    return best


def _growing(
    matrix: NDArray[np.float64], known: Mask, numbers: Iterable[int], tol: float
) -> Iterator[NDArray[np.float64]]:
    """The matrix filled by growing numbers of components; each starts from the answer of the last one."""
    filled = np.zeros_like(matrix)
    for number in numbers:
        filled = _filled(np.where(known, matrix, filled), known, number, tol)
        yield filled


def _filled(start: NDArray[np.float64], known: Mask, number: int, tol: float) -> NDArray[np.float64]:
    """Truncated SVDs of a matrix, each with its own answers in the gaps."""
    current = start
    for _ in range(_ROUNDS):
        small = current if current.shape[0] <= current.shape[1] else current.T
        _, vectors = np.linalg.eigh(small @ small.T)
        leading = vectors[:, -number:]
        model = leading @ (leading.T @ small)
        model = model if small is current else model.T
        change = np.linalg.norm((model - current)[~known])
        current = np.where(known, start, model)
        if change <= tol * np.linalg.norm(current):
            break
    return current
