"""How large the errors of right entries are: by slice of modes without an order, and around every entry.

An entry's own error is not part of its scale, because a gross error would widen it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod

import numpy as np

from ringlet.local.layout import Layout, Tile
from ringlet.local.modes import sampling_step
from ringlet.local.neighbours import Array32, slice_sum, window_concentration, window_mean

__all__ = ["SCALE_RADIUS", "LocalScale", "SliceScales"]

_LEVELS = 3  # of the window in which the local scale is measured
SCALE_RADIUS = 2**_LEVELS - 1
_PRIOR = 0.2  # weight of the variance of all entries in the local one, whose own weights sum to at most 1
_PRIOR_ENTRIES = 28.0  # weight of both priors in entries; with small windows the rest is the variance of other slices
_SLICE_ENTRIES = 20.0  # entries of all slices that count in the scale of one
_LEAST_ERROR = 0.1  # share of the typical error: smaller ones count as this, so that zeros have little influence
_SCALE_ENTRIES = 1 << 18  # about, from which the scales of slices are measured
_LEAST_SLICES = 32  # of every other mode that are looked at for them
_ROUNDING = 2.0**-23  # of the data's range, in float32: where typical errors are as small, slices do not differ
_MEDIAN_ENTRIES = 1 << 16  # about, of which the typical error is the median
_TINY = 1e-30


@dataclass(frozen=True, eq=False)
class SliceScales:
    """Scales of errors relative to each other, one for every slice of some modes.

    Attributes
    ----------
    scales : tuple of float32 arrays
        For one mode each; they broadcast against the whole array.
    """

    scales: tuple[Array32, ...] = ()

    @classmethod
    def of(cls, errors: Array32, weights: Array32, modes: Sequence[int]) -> "SliceScales":
        """Measure them by mean logarithms of errors, which single gross errors hardly change.

        Parameters
        ----------
        errors, weights : float32 arrays
            Errors in units of the data's range; entries count by their weights.
        modes : sequence of int
            Whose slices have scales.

        Examples
        --------
        >>> errors = np.outer([1, 1, 3], np.full(400, 0.1)).astype(np.float32)
        >>> errors[0, 0] = 1e6
        >>> SliceScales.of(errors, np.ones_like(errors), (0,)).scales[0].ravel().round(1)
        array([0.7, 0.7, 2. ], dtype=float32)
        """
        if not modes:
            return cls()
        some = tuple(
            slice(None) if mode in modes else slice(None, None, step)
            for mode, step in enumerate(_steps(errors.shape, modes))
        )
        sizes, weights = np.abs(errors[some]), weights[some]
        total = float(weights.sum(dtype=np.float64))
        known = sizes[weights > 0]
        typical = float(np.median(known[:: 1 + known.size // _MEDIAN_ENTRIES])) if known.size else 0.0
        if typical < _ROUNDING:
            return cls()
        logs = np.log(np.maximum(sizes, np.float32(_LEAST_ERROR * typical), out=sizes), out=sizes)
        logs -= np.float32(np.sum(weights * logs, dtype=np.float64) / total)
        scales = []
        for mode in modes:
            others = tuple(axis for axis in range(sizes.ndim) if axis != mode)
            mass = np.sum(weights, others, keepdims=True, dtype=np.float64)
            sums = np.sum(weights * logs, others, keepdims=True, dtype=np.float64)
            effect = (sums / (mass + _SLICE_ENTRIES)).astype(np.float32)
            logs -= effect
            scales.append(np.exp(effect))
        return cls(tuple(scales))

    def over(self, shape: Sequence[int]) -> Array32:
        """Their product, for a block of this shape. Modes that are not whole in it have scales of 1."""
        result = np.ones((1,) * len(shape), np.float32)
        for scale in self.scales:
            if all(length in (1, whole) for length, whole in zip(scale.shape, shape, strict=True)):
                result = result * scale
        return result


@dataclass(frozen=True, eq=False)
class LocalScale:
    """Variance of right errors around every entry.

    Attributes
    ----------
    errors, weights, calm : float32 arrays
        Errors count by `calm`; `weights` count them.
    layout : Layout
    whole : float
        Variance of all, divided by the scales of their slices.
    scales : float32 array
        Of slices; broadcast against the errors.
    slices : int
        Of the modes without an order, all together.
    around : float32 array of shape (2, ...) or None
        Sums of squares and of weights around every place, over all slices. None where windows are large.
    """

    errors: Array32
    weights: Array32
    calm: Array32
    layout: Layout
    whole: float
    scales: Array32
    slices: int
    around: Array32 | None

    @classmethod
    def of(
        cls, errors: Array32, weights: Array32, calm: Array32, layout: Layout, whole: float, scales: SliceScales
    ) -> "LocalScale":
        """Prepare the sums that all tiles need."""
        ordered, scale = layout.modes.ordered, scales.over(errors.shape)
        slices = [mode for mode in range(errors.ndim) if mode not in ordered]
        number, around = prod(errors.shape[mode] for mode in slices), None
        if ordered and number > 1 and _more(len(ordered)) > 0:
            around = np.stack([calm * np.square(errors / scale), weights])
            for mode in slices:
                around = slice_sum(around, mode + 1)
            around = window_mean(around, [mode + 1 for mode in ordered], _LEVELS)
        return cls(errors, weights, calm, layout, whole, scale, number, around)

    def variance(self, tile: Tile, *, relative: bool = False) -> Array32:
        """Of the entries of a tile, or that relative to the scales of slices.

        It includes the variances of all entries and of other slices.
        """
        ordered = self.layout.modes.ordered
        scale = np.float32(1) if relative else _part(self.scales, tile.inner)
        if not ordered:
            return np.broadcast_to(np.square(scale) * np.float32(self.whole), self.errors[tile.inner].shape).copy()
        both = np.empty((2, *self.errors[tile.outer].shape), np.float32)
        np.square(self.errors[tile.outer], out=both[0])
        both[0] *= self.calm[tile.outer]
        both[0] /= np.maximum(np.square(_part(self.scales, tile.outer)), np.float32(_TINY))
        both[1] = self.weights[tile.outer]
        around = window_mean(both, [mode + 1 for mode in ordered], _LEVELS)[(slice(None), *tile.core)]
        prior = np.float32(_PRIOR)
        others = np.float32(self.whole)  # the variance in other slices
        if self.around is not None:
            rest = np.maximum(_part(self.around, (slice(None), *tile.inner)) - around, 0)
            rest *= np.float32(1 / (self.slices - 1))
            others = (rest[0] + prior * others) / (rest[1] + prior)
        around -= both[(slice(None), *tile.core)] * np.float32(2.0 ** (-_LEVELS * len(ordered)))  # the entry itself
        squares, mass = np.maximum(around, 0, out=around)
        squares += prior * np.float32(self.whole)
        mass += prior
        more = np.float32(_more(len(ordered)))
        squares += more * others
        mass += more
        squares /= mass
        squares *= np.square(scale)
        return np.asarray(squares)


def _steps(shape: Sequence[int], modes: Sequence[int]) -> list[int]:
    """Steps between slices of each other mode that suffice to measure those of some modes."""
    steps = [1] * len(shape)
    others = [mode for mode in range(len(shape)) if mode not in modes]
    for mode in sorted(others, key=lambda mode: -shape[mode]):
        left = prod(ceil(length / step) for length, step in zip(shape, steps, strict=True))
        step = min(max(left // _SCALE_ENTRIES, 1), max(shape[mode] // _LEAST_SLICES, 1))
        steps[mode] = sampling_step(step, shape[mode])
    return steps


def _more(modes: int) -> float:
    """Weight of other slices beside windows along this number of ordered modes; 0 where windows are large."""
    return max(0.0, _PRIOR_ENTRIES * window_concentration(modes, _LEVELS) - _PRIOR)


def _part(array: Array32, block: tuple[slice, ...]) -> Array32:
    """A block of an array that may be broadcast."""
    return array[tuple(slice(None) if length == 1 else part for length, part in zip(array.shape, block, strict=True))]
