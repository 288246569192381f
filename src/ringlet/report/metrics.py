"""How close an estimate is to the truth. Plain functions of two arrays; nothing is clipped or rounded."""

from math import inf, log10, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ringlet.errors import ArgumentError

__all__ = ["psnr", "relative_error", "ssim"]

_WINDOW = 7  # pixels a side, as in the usual implementations of SSIM
_SLAB_ENTRIES = 1 << 20  # of tensors,
_BAND_ENTRIES = 1 << 18  # and of pictures, that are compared at once, to limit memory


def psnr(estimate: ArrayLike, truth: ArrayLike, data_range: float) -> float:
    """Peak signal-to-noise ratio in dB, ``10 log10(range^2 / mse)``; infinite for a perfect match.

    Parameters
    ----------
    estimate, truth : arrays of one shape
    data_range : float
        Largest minus smallest possible value, 255 for 8-bit pictures.

    Examples
    --------
    >>> round(psnr([[0, 10]], [[0, 0]], data_range=100), 2)
    23.01
    """
    squares, _, entries = _squares(estimate, truth)
    mean_square = squares / entries
    return 10 * log10(data_range**2 / mean_square) if mean_square else inf


def relative_error(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Frobenius norm of the error over that of the truth.

    Examples
    --------
    >>> relative_error([[3.0, 5.0]], [[3.0, 4.0]])
    0.2
    """
    squares, size, _ = _squares(estimate, truth)
    return sqrt(squares / size) if size else (inf if squares else 0.0)


def ssim(estimate: ArrayLike, truth: ArrayLike, data_range: float) -> float:
    """Mean structural similarity of two pictures; 1 for a perfect match.

    Parameters
    ----------
    estimate, truth : arrays of shape (height, width) or (height, width, channels), at least 7 x 7 pixels
        Channels are compared one by one and averaged.
    data_range : float
        Largest minus smallest possible value, 255 for 8-bit pictures.

    References
    ----------
    Wang, Bovik, Sheikh & Simoncelli, "Image quality assessment: from error visibility to structural
    similarity", IEEE Transactions on Image Processing 13(4), 2004. Here with uniform windows of 7 x 7 pixels.

    Examples
    --------
    >>> ramp = np.add.outer(np.arange(9.0), np.arange(8.0))
    >>> ssim(ramp, ramp, data_range=15)
    1.0
    """
    x, y = _pair(estimate, truth)
    if y.ndim not in (2, 3) or min(y.shape[:2]) < _WINDOW:
        raise ArgumentError(
            "ssim compares pictures (height, width) or (height, width, channels) "
            f"of at least {_WINDOW} x {_WINDOW} pixels, not shape {y.shape}"
        )
    edge = _WINDOW // 2  # windows that extend over the border are left out
    inner = len(y) - 2 * edge
    step = max(1, _BAND_ENTRIES // y.shape[1])
    channels = [(x, y)] if y.ndim == 2 else [(x[..., place], y[..., place]) for place in range(y.shape[2])]
    total = 0.0
    for first, second in channels:
        for start in range(0, inner, step):
            rows = slice(start, min(start + step, inner) + 2 * edge)
            similarity = _similarity(first[rows].astype(np.float64), second[rows].astype(np.float64), data_range)
            total += float(similarity[edge:-edge, edge:-edge].sum())
    return total / float(len(channels) * inner * (y.shape[1] - 2 * edge))


def _squares(estimate: ArrayLike, truth: ArrayLike) -> tuple[float, float, int]:
    """Sums of squares of the error and of the truth, and the number of entries; a slab at a time: videos are large."""
    x, y = _pair(estimate, truth)
    x, y = np.atleast_1d(x), np.atleast_1d(y)
    step = max(1, _SLAB_ENTRIES * len(y) // max(1, y.size))
    errors, size = 0.0, 0.0
    for start in range(0, len(y), step):
        slab = y[start : start + step].astype(np.float64)
        error = slab - x[start : start + step]
        errors, size = errors + float(np.vdot(error, error)), size + float(np.vdot(slab, slab))
    return errors, size, y.size


def _pair(estimate: ArrayLike, truth: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    x, y = np.asarray(estimate), np.asarray(truth)
    if x.shape != y.shape:
        raise ArgumentError(f"estimate has shape {x.shape} but truth has {y.shape}; they must agree")
    return x, y


def _similarity(x: NDArray[np.float64], y: NDArray[np.float64], data_range: float) -> NDArray[np.float64]:
    """SSIM of the windows around all pixels of two grey pictures."""
    mean_x, mean_y = _window_mean(x), _window_mean(y)
    unbiased = _WINDOW**2 / (_WINDOW**2 - 1)
    variance_x = unbiased * (_window_mean(x * x) - mean_x**2)
    variance_y = unbiased * (_window_mean(y * y) - mean_y**2)
    covariance = unbiased * (_window_mean(x * y) - mean_x * mean_y)
    c1, c2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    return np.asarray(
        ((2 * mean_x * mean_y + c1) * (2 * covariance + c2))
        / ((mean_x**2 + mean_y**2 + c1) * (variance_x + variance_y + c2))
    )


def _window_mean(image: NDArray[np.float64]) -> NDArray[Any]:
    from scipy.ndimage import uniform_filter

    mean: NDArray[Any] = uniform_filter(image, size=_WINDOW)
    return mean
