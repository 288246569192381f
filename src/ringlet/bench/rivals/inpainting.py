"""Inpainting as libraries for pictures have it: OpenCV's, and scikit-image's biharmonic one."""

import numpy as np

from ringlet.bench.rivals.gaps import Array, Mask, by_picture, trusted_entries
from ringlet.bench.rivals.libraries import library
from ringlet.errors import ArgumentError

__all__ = ["biharmonic", "opencv_inpaint"]

_RADIUS = 3  # pixels
_MOST_PIXELS = 1_000_000  # of a picture for which the biharmonic equations are solved


def opencv_inpaint(values: Array, observed: Mask) -> Array:
    """``cv2.inpaint`` (Telea) of all that is missing or distrusted; pixels of eight bits, colour by colour."""
    cv2 = library("cv2")
    low, span = float(values[observed].min()), float(np.ptp(values[observed])) or 1.0

    def picture(pixels: Array, known: Mask) -> Array:
        trusted = trusted_entries(pixels, known)
        levels = np.where(trusted, np.clip((pixels - low) / span, 0, 1) * 255, 0).round().astype(np.uint8)
        painted = cv2.inpaint(levels, np.where(trusted, 0, 255).astype(np.uint8), _RADIUS, cv2.INPAINT_TELEA)
        return np.where(trusted, pixels, low + span * painted.astype(pixels.dtype) / 255)

    return by_picture(values, observed, picture)


def biharmonic(values: Array, observed: Mask) -> Array:
    """``skimage.restoration.inpaint_biharmonic`` of all that is missing or distrusted; not of huge pictures."""
    restoration = library("skimage.restoration")
    if values.shape[0] * values.shape[1] > _MOST_PIXELS:
        raise ArgumentError(
            f"pictures of {values.shape[0]} x {values.shape[1]} pixels take too long; the limit is {_MOST_PIXELS:,}"
        )

    def picture(pixels: Array, known: Mask) -> Array:
        trusted = trusted_entries(pixels, known)
        if trusted.all():
            return pixels
        painted: Array = restoration.inpaint_biharmonic(np.where(trusted, pixels, 0.0), ~trusted)
        return painted

    return by_picture(values, observed, picture)
