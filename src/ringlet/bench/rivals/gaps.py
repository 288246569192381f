"""What several rivals share: pictures and tables of a tensor, held-out entries, and a simple rule for wrong entries."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Array",
    "Mask",
    "Rival",
    "between_ends",
    "by_picture",
    "gaussian_fill",
    "held_out",
    "local_median",
    "mean_filled",
    "table_of",
    "tensor_of",
    "trusted_entries",
]

Array: TypeAlias = NDArray[np.floating[Any]]
Mask: TypeAlias = NDArray[np.bool_]
Rival: TypeAlias = Callable[[Array, Mask], Array]
_Entries = TypeVar("_Entries", bound=np.generic)

_HELD_OUT = 0.1  # of the observed entries
_STREAM = 0, 21  # a seed of its own, so that what is held out does not depend on how the data were damaged
_ATOM = 0.02  # share of the observed entries at the ends of the range from which on these count as wrong
_WIDTHS = 0.7, 1.5, 3.0, 6.0, 12.0, 24.0  # of Gaussians, in pixels
_LEAST_MASS = 0.05  # of a Gaussian on observed entries
_IN_WINDOW = 15  # observed entries whose median is taken
_WIDEST = 5  # pixels from the middle of their window to its edge
_FAR = 0.15  # of the range of all medians, from the median of the neighbours: wrong


def by_picture(values: Array, observed: Mask, rival: Rival) -> Array:
    """Apply a method of pictures (height, width) to all of a tensor's, one after the other.

    The first two modes are those of the pictures.
    """
    estimate = np.empty_like(values)
    for place in np.ndindex(values.shape[2:]):
        index = (slice(None), slice(None), *place)
        estimate[index] = rival(values[index], observed[index])
    return estimate


def table_of(tensor: NDArray[_Entries], mode: int) -> NDArray[_Entries]:
    """The unfolding with one mode as rows, and all others as columns.

    Examples
    --------
    >>> x = np.arange(24).reshape(2, 3, 4)
    >>> table_of(x, 1).shape, np.array_equal(tensor_of(table_of(x, 1), 1, x.shape), x)
    ((3, 8), True)
    """
    return np.moveaxis(tensor, mode, 0).reshape(tensor.shape[mode], -1)


def tensor_of(table: NDArray[_Entries], mode: int, shape: tuple[int, ...]) -> NDArray[_Entries]:
    """The tensor of a shape whose unfolding is given."""
    others = [length for other, length in enumerate(shape) if other != mode]
    return np.moveaxis(table.reshape(shape[mode], *others), 0, mode)


def between_ends(values: Array, observed: Mask) -> Mask:
    """Observed entries that are neither the smallest nor the largest value observed; all of them if that leaves none.

    Examples
    --------
    >>> between_ends(np.array([0.0, 0.4, 1.0, 0.6]), np.array([True, True, True, False])).tolist()
    [False, True, False, False]
    """
    if not observed.any():
        return observed
    known = values[observed]
    inside = observed & (values > known.min()) & (values < known.max())
    return inside if inside.any() else observed


def trusted_entries(values: Array, observed: Mask) -> Mask:
    """Observed entries of a picture that someone who has looked at its histogram would trust.

    Where many entries lie at the ends of the range, those are distrusted (salt and pepper). Otherwise entries are
    distrusted that are far from the median of the observed entries around them (wrong entries of any value).
    """
    inside = between_ends(values, observed)
    if np.count_nonzero(inside) < (1 - _ATOM) * np.count_nonzero(observed) or not observed.any():
        return inside
    median = local_median(values, observed)
    return np.asarray(observed & (np.abs(values - median) < _FAR * np.ptp(median)))


def local_median(values: Array, observed: Mask) -> Array:
    """Medians of the observed entries around every pixel, in a window that holds about fifteen of them.

    Examples
    --------
    >>> x = np.zeros((9, 9))
    >>> x[4, 4] = 7.0
    >>> float(local_median(x, np.ones(x.shape, bool)).max())
    0.0
    """
    share = max(float(observed.mean()), 1e-3)
    reach = min(max(2, round((np.sqrt(_IN_WINDOW / share) - 1) / 2)), _WIDEST)
    padded = np.pad(np.where(observed, values, np.inf), reach, constant_values=np.inf)
    height, width = values.shape
    side = range(2 * reach + 1)
    around = np.sort([padded[i : i + height, j : j + width] for i in side for j in side], axis=0)
    count = np.isfinite(around).sum(axis=0)
    middle = np.maximum(count - 1, 0)[None] // 2
    median = np.take_along_axis(around, middle, axis=0)[0]
    found: Array = np.where(count > 0, median, values[observed].mean()).astype(values.dtype)
    return found


def held_out(observed: Mask) -> Mask:
    """A tenth of the observed entries, always the same, by which a method may choose its settings."""
    chosen = np.random.default_rng(_STREAM).random(observed.shape) < _HELD_OUT
    return np.asarray(observed & chosen)


def mean_filled(values: Array, observed: Mask) -> Array:
    """The data with the mean of the observed entries in the gaps."""
    return np.where(observed, values, values[observed].mean())


def gaussian_fill(values: Array, observed: Mask) -> Array:
    """Fill the gaps of a picture by weighted means of what is observed around them.

    The narrowest of several Gaussians is used that has observed entries within its reach.
    """
    from scipy.ndimage import gaussian_filter

    filled, missing = np.where(observed, values, 0.0), ~observed
    known, weight = filled.copy(), observed.astype(values.dtype)
    for width in _WIDTHS:
        if not missing.any():
            return filled
        mass = gaussian_filter(weight, width, truncate=3.0)
        here = missing & (mass > _LEAST_MASS)
        filled[here] = gaussian_filter(known, width, truncate=3.0)[here] / mass[here]
        missing &= ~here
    filled[missing] = values[observed].mean() if observed.any() else 0.0
    return filled
