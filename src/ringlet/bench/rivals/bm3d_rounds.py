"""Plug-and-play with BM3D: denoise, put trusted entries back, and again with less noise."""

import numpy as np

from ringlet.bench.rivals.gaps import Array, Mask, by_picture, gaussian_fill, trusted_entries
from ringlet.bench.rivals.libraries import library

__all__ = ["bm3d_rounds"]

_NOISE = 0.2, 0.12, 0.08, 0.05, 0.03, 0.02  # of the range, one round each


def bm3d_rounds(values: Array, observed: Mask) -> Array:
    """Six rounds of BM3D over a first fill, each followed by the trusted entries; colours one by one."""
    denoise = library("bm3d").bm3d
    span = float(np.ptp(values[observed])) or 1.0

    def picture(pixels: Array, known: Mask) -> Array:
        trusted = trusted_entries(pixels, known)
        estimate = gaussian_fill(pixels, trusted)
        for noise in _NOISE:
            estimate = np.where(trusted, pixels, denoise(estimate, noise * span).astype(pixels.dtype))
        return estimate

    return by_picture(values, observed, picture)
