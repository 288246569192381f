"""Drop the ends, interpolate the rest: smallest and largest values count as missing, SciPy fills linearly."""

import numpy as np

from ringlet.bench.rivals.gaps import Array, Mask, between_ends, by_picture
from ringlet.bench.rivals.linear_modes import linear_modes

__all__ = ["drop_ends_linear", "drop_ends_modes"]

_FEWEST = 4  # points that a triangulation needs
_SHIFT = 1e-3  # pixels


def drop_ends_linear(values: Array, observed: Mask) -> Array:
    """Linear interpolation over triangles in every picture of the first two modes."""
    return by_picture(values, between_ends(values, observed), _interpolated)


def drop_ends_modes(values: Array, observed: Mask) -> Array:
    """Linear interpolation along every mode, for tensors that are not pictures."""
    return linear_modes(values, between_ends(values, observed))


def _interpolated(pixels: Array, known: Mask) -> Array:
    from scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator

    # A grid is the worst case of a triangulation: four corners on one circle everywhere. A small shift avoids them.
    shift = np.random.default_rng(0).uniform(-_SHIFT, _SHIFT, (*known.shape, 2))
    points = np.argwhere(known) + shift[known]
    if len(points) < _FEWEST:
        return np.where(known, pixels, pixels[known].mean() if len(points) else 0.0)
    gaps = np.argwhere(~known)
    estimate = pixels.copy()
    found = LinearNDInterpolator(points, pixels[known])(gaps)
    outside = np.isnan(found)  # beyond the outermost points
    found[outside] = NearestNDInterpolator(points, pixels[known])(gaps[outside])
    estimate[~known] = found
    return estimate
