"""PCA with missing data, as DINEOF fills satellite fields: a truncated SVD and its own gaps in turn."""

from collections.abc import Iterator
from itertools import islice
from math import prod

import numpy as np
from numpy.typing import NDArray

from ringlet.bench.rivals.gaps import Array, Mask, held_out

__all__ = ["pca"]

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
    front = np.moveaxis(values, mode, 0)
    matrix = front.reshape(len(front), -1).astype(np.float64)
    known = np.moveaxis(observed, mode, 0).reshape(matrix.shape)
    centre = matrix[known].mean()
    matrix = np.where(known, matrix - centre, 0.0)
    components = _number(matrix, known) if components is None else components
    *_, filled = islice(_growing(matrix, known), components)
    filled += centre
    estimate = np.moveaxis(filled.reshape(front.shape), 0, mode)
    return np.where(observed, values, estimate).astype(values.dtype)


def _number(matrix: NDArray[np.float64], known: Mask) -> int:
    """Components with the least error at held-out entries."""
    out = held_out(known)
    seen = known & ~out
    if not (out.any() and seen.any()):
        return 1
    best, least = 1, np.inf
    for number, filled in enumerate(islice(_growing(matrix, seen), _MOST), 1):
        error = float(np.abs(filled - matrix)[out].mean())
        if error < _GAIN * least:
            best, least = number, error
        elif number >= best + _PATIENCE:
            break
    return best


def _growing(matrix: NDArray[np.float64], known: Mask) -> Iterator[NDArray[np.float64]]:
    """The matrix filled by one component, by two, ...: each number starts from the answer of the last one."""
    filled = np.zeros_like(matrix)
    for number in range(1, min(matrix.shape) + 1):
        filled = _filled(matrix, known, number, filled)
        yield filled


def _filled(matrix: NDArray[np.float64], known: Mask, number: int, start: NDArray[np.float64]) -> NDArray[np.float64]:
    """Truncated SVDs of the matrix, each with its own answers in the gaps."""
    current = np.where(known, matrix, start)
    for _ in range(_ROUNDS):
        small = current if current.shape[0] <= current.shape[1] else current.T
        _, vectors = np.linalg.eigh(small @ small.T)
        leading = vectors[:, -number:]
        model = leading @ (leading.T @ small)
        model = model if small is current else model.T
        change = np.linalg.norm((model - current)[~known])
        current = np.where(known, matrix, model)
        if change <= _CLOSE * np.linalg.norm(current):
            break
    return current
