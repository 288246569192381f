"""Gaussian fill and median: a few lines of SciPy that every user of pictures knows, and non-local means after them."""

import numpy as np

from ringlet.bench.rivals.gaps import Array, Mask, by_picture, gaussian_fill, near_the_median
from ringlet.bench.rivals.libraries import library

__all__ = ["gaussian_median", "gaussian_median_nlm"]


def gaussian_median(values: Array, observed: Mask) -> Array:
    """Fill gaps by Gaussian means, drop entries far from the median of their neighbours, and fill again.

    Other observed entries stay as they are.
    """

    def picture(pixels: Array, known: Mask) -> Array:
        return gaussian_fill(pixels, near_the_median(pixels, known))

    return by_picture(values, observed, picture)


def gaussian_median_nlm(values: Array, observed: Mask) -> Array:
    """The same with non-local means after it, by the noise that scikit-image estimates; colours together."""
    restoration = library("skimage.restoration")
    estimate = gaussian_median(values, observed)
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
