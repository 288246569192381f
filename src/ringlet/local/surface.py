"""A smooth surface through trusted entries, for gaps that are wider than the windows of neighbours.

Among all arrays with the trusted values it has the least energy: the sum of squared second differences along ordered
modes, as of a bent plate, and a part for slopes, as of a stretched membrane. A plate continues slopes into a gap, and
the membrane limits this. A fixed number of Chebyshev steps is accurate enough, and distant entries have no influence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod

import numpy as np
from numpy.typing import NDArray

from ringlet.local.layout import Slices
from ringlet.local.neighbours import Array32, window_mean
from ringlet.local.window import Window
from ringlet.ring.arrays import Mapper

__all__ = ["Surface", "learn_surface"]

_TENSION = np.float32(0.03)  # weight of slopes, beside that of bending
_FEWEST_STEPS, _STEPS, _MOST_STEPS = 8, 16, 96  # least number, more for every entry of depth of the gaps, and most
_DEEP = 0.02  # share of the entries in gaps that are as deep
_REDUCTION = 5.3  # twice the steps times the square root of the least eigenvalue whose error becomes small
_WIDTHS = 5  # scales of the windows for the first surface
_START_MASS = np.float32(0.05)  # of a window on trusted entries, for all of its weight
_LEAST_PAIRS = 100  # neighbours whose differences show how smooth a mode is
_LEAST = 1e-12  # in squared units
_SLAB_ENTRIES = 1 << 15  # least number of entries that are worked on at a time


@dataclass(frozen=True, eq=False)
class Surface:
    """How to compute a surface through trusted entries.

    Attributes
    ----------
    weights : tuple of float
        Of the ordered modes: large where neighbours differ little. Their sum is a quarter, so that the operator is at
        most one.
    steps : int
    """

    weights: tuple[float, ...]
    steps: int

    def through(self, window: Window, trusted: NDArray[np.bool_], mapper: Mapper = map) -> Array32:
        """The surface's values less those of the ring, at all entries that are not trusted; residuals elsewhere."""
        ordered = window.layout.modes.ordered
        result = _start(window, trusted)
        first = min(ordered)
        parts = _slabs(window.ring.shape, first)

        def work(part: Slices) -> None:
            self._relax(result[part], trusted[part], ordered)

        for _ in mapper(work, parts):
            pass
        result -= window.ring
        return result

    def _relax(self, values: Array32, trusted: NDArray[np.bool_], modes: Sequence[int]) -> None:
        """Chebyshev steps from the values, which change where they are not trusted."""
        free = (~trusted).astype(np.float32)
        high = 1.0 + float(_TENSION)
        low = high * (_REDUCTION / (2 * self.steps)) ** 2
        middle, half = (high + low) / 2, (high - low) / 2
        ratio = middle / half
        rho = 1 / ratio
        slope = self._slope(values, modes)
        slope *= free
        step = slope * np.float32(-1 / middle)
        for number in range(self.steps):
            values += step
            if number == self.steps - 1:
                break
            slope = self._slope(values, modes)
            slope *= free
            following = 1 / (2 * ratio - rho)
            step *= np.float32(following * rho)
            slope *= np.float32(2 * following / half)
            step -= slope
            rho = following

    def _slope(self, values: Array32, modes: Sequence[int]) -> Array32:
        """Half the derivative of the energy."""
        bending, slope = np.zeros_like(values), np.zeros_like(values)
        for mode, weight in zip(modes, self.weights, strict=True):
            low, inside, high = _three(mode)
            if values.shape[mode] > 2:
                second = values[low] + values[high]
                second -= values[inside]
                second -= values[inside]
                second *= np.float32(weight)
                bending[inside] += second
        for mode, weight in zip(modes, self.weights, strict=True):
            low, inside, high = _three(mode)
            if values.shape[mode] > 2:
                part = bending[inside] * np.float32(weight)
                slope[low] += part
                slope[high] += part
                part += part
                slope[inside] -= part
            before, after = _two(mode)
            part = values[after] - values[before]
            part *= _TENSION * np.float32(weight)
            slope[after] += part
            slope[before] -= part
        return slope


def learn_surface(windows: Sequence[Window], trusted: Sequence[NDArray[np.bool_]]) -> Surface | None:
    """Measure how smooth the data are along each ordered mode, and how deep their gaps; None without such a mode."""
    ordered = windows[0].layout.modes.ordered
    if not ordered:
        return None
    smoothness = np.array([_smoothness(windows, trusted, mode) for mode in ordered]) ** 0.5
    weights = smoothness / max(4 * float(smoothness.sum()), _LEAST)
    depth = max(_depth(~known, ordered) for known in trusted)
    return Surface(tuple(map(float, weights)), min(_FEWEST_STEPS + _STEPS * depth, _MOST_STEPS))


def _smoothness(windows: Sequence[Window], trusted: Sequence[NDArray[np.bool_]], mode: int) -> float:
    """The inverse of the mean squared difference of trusted neighbours along a mode."""
    before, after = _two(mode)
    squares, pairs = 0.0, 0
    for window, known in zip(windows, trusted, strict=True):
        values = window.ring + window.residuals
        both = known[before] & known[after]
        steps = (values[after] - values[before]) * both
        squares += float(np.sum(steps * steps, dtype=np.float64))
        pairs += int(np.count_nonzero(both))
    if pairs < _LEAST_PAIRS:  # such as every second slice: the model then gives the smoothness
        steps = np.concatenate([np.diff(window.ring, axis=mode).ravel() for window in windows])
        squares, pairs = float(np.sum(steps * steps, dtype=np.float64)), steps.size
    return 1 / max(squares / max(pairs, 1), _LEAST)


def _depth(gaps: NDArray[np.bool_], modes: Sequence[int]) -> int:
    """Depth of gaps in entries: only a small share of them is deeper."""
    least, depth = _DEEP * np.count_nonzero(gaps), 0
    while True:
        for mode in modes:
            inner = gaps.copy()
            before, after = _two(mode)
            inner[after] &= gaps[before]
            inner[before] &= gaps[after]
            gaps = inner
        if np.count_nonzero(gaps) <= least or depth * _STEPS > _MOST_STEPS:
            return depth
        depth += 1


def _start(window: Window, trusted: NDArray[np.bool_]) -> Array32:
    """Trusted values; in gaps, their means over the narrowest windows with enough of them, otherwise the ring."""
    mass, modes = trusted.astype(np.float32), window.layout.modes.ordered
    total = window.ring + window.residuals
    total *= mass
    result, left = total.copy(), (~trusted).astype(np.float32)
    for level in range(_WIDTHS):
        mass, total = (window_mean(array, modes, 1, first=level) for array in (mass, total))
        part = np.minimum(mass * (1 / _START_MASS), 1)
        part *= left
        left -= part
        part *= total
        part /= np.maximum(mass, np.float32(_LEAST))
        result += part
    left *= window.ring
    result += left
    return result


def _slabs(shape: Sequence[int], first: int) -> list[Slices]:
    """Parts of an array that are whole along the modes from `first` on."""
    if first == 0:
        return [(slice(None),) * len(shape)]
    length = ceil(_SLAB_ENTRIES / max(prod(shape[1:]), 1))
    return [(slice(start, start + length),) for start in range(0, shape[0], length)]


def _two(mode: int) -> tuple[Slices, Slices]:
    """Indices of all slices of a mode but the last one, and but the first one."""
    before = (slice(None),) * mode
    return (*before, slice(None, -1)), (*before, slice(1, None))


def _three(mode: int) -> tuple[Slices, Slices, Slices]:
    """Indices of all slices of a mode but the last two, but the two ends, and but the first two."""
    before = (slice(None),) * mode
    return (*before, slice(None, -2)), (*before, slice(1, -1)), (*before, slice(2, None))
