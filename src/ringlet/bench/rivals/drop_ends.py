"""Drop the ends, interpolate the rest: smallest and largest values count as missing, SciPy fills linearly."""

import numpy as np

from ringlet.bench.rivals.gaps import Array, Mask, between_ends, by_picture
from ringlet.bench.rivals.linear_modes import linear_modes

__all__ = ["drop_ends_linear", "drop_ends_modes"]

_FEWEST = 4  # points that a triangulation needs
_SHIFT = 1e-3  # pixels
_NEAR = 8  # pixels from a gap within which observed entries are used


def drop_ends_linear(values: Array, observed: Mask) -> Array:
    """Linear interpolation over triangles in every picture of the first two modes."""
    return by_picture(values, between_ends(values, observed), _interpolated)


def drop_ends_modes(values: Array, observed: Mask) -> Array:
    """Linear interpolation along every mode, for tensors that are not pictures."""
    return linear_modes(values, between_ends(values, observed))


def _interpolated(pixels: Array, known: Mask) -> Array:
    from scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator
    from scipy.ndimage import binary_dilation

    gaps = np.argwhere(~known)
    if not len(gaps):
        return pixels
    # A grid is the worst case of a triangulation: four corners on one circle everywhere. A small shift avoids them.
    shift = np.random.default_rng(0).uniform(-_SHIFT, _SHIFT, (*known.shape, 2))
    near = known & binary_dilation(~known, iterations=_NEAR)
    points = np.argwhere(near) + shift[near]
    if len(points) < _FEWEST:
        return np.where(known, pixels, pixels[known].mean() if len(points) else 0.0)
    estimate = pixels.copy()
    found = LinearNDInterpolator(points, pixels[near])(gaps)
    outside = np.isnan(found)  # beyond the outermost points
    found[outside] = NearestNDInterpolator(points, pixels[near])(gaps[outside])
    estimate[~known] = found
    return estimate
