"""Gaussian fill and median: a few lines of SciPy that every user of pictures knows, and non-local means after them."""

import numpy as np

from ringlet.bench.rivals.gaps import Array, Mask, by_picture, gaussian_fill, trusted_entries
from ringlet.bench.rivals.libraries import library

__all__ = ["gaussian_median", "gaussian_nlm", "gaussian_only"]

_WINDOW = 5  # pixels a side, of the median


def gaussian_only(values: Array, observed: Mask) -> Array:
    """Drop distrusted entries and fill all gaps by Gaussian means; trusted entries stay as they are."""

    def picture(pixels: Array, known: Mask) -> Array:
        return gaussian_fill(pixels, trusted_entries(pixels, known))

    return by_picture(values, observed, picture)


def gaussian_median(values: Array, observed: Mask) -> Array:
    """The same with a median filter of 5 x 5 pixels after it, which no entry survives as it was."""
    from scipy.ndimage import median_filter

    filled = gaussian_only(values, observed)
    return by_picture(filled, observed, lambda pixels, _: median_filter(pixels, _WINDOW))


def gaussian_nlm(values: Array, observed: Mask) -> Array:
    """The fill with non-local means after it, by the noise that scikit-image estimates; colours together."""
    restoration = library("skimage.restoration")
    estimate = gaussian_only(values, observed)
    for place in np.ndindex(estimate.shape[3:]):
        index = (..., *place)
        colours = -1 if estimate.ndim > 2 else None
        noise = float(np.mean(restoration.estimate_sigma(estimate[index], channel_axis=colours)))
        estimate[index] = restoration.denoise_nl_means(
            estimate[index],
            patch_size=5,
            patch_distance=6,
            h=0.8 * noise,
            sigma=noise,
            fast_mode=True,
            channel_axis=colours,
        )
    return estimate
