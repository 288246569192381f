"""Entries that are missing or wrong: the ring, and what trusted entries around say of its error.

First the stacked predictions of neighbours. Then a few passes over the filled array, in which directions along which
it changes least count most: along an edge, not across it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ringlet.local.modes import NeighbourModes
from ringlet.local.neighbours import Array32, hat, neighbour_predictions, other_slices, pairs, shifted, window_mean
from ringlet.local.stacking import Stack, Training, fit_stack
from ringlet.local.window import Window

__all__ = ["FILLING_RADIUS", "Filling", "learn_filling"]

_LEVELS = 4  # scales of neighbours
_ROUGHNESS_LEVELS = 3  # scales at which the ring is smoothed
_PASSES = 3  # over the filled array
FILLING_RADIUS = 2**_LEVELS - 1 + 2 * _PASSES
_FLAT = 0.01  # of the mean squared difference of neighbours: what is smaller is no edge


@dataclass(frozen=True, eq=False)
class Filling:
    """How to fill, as measured where entries were known and hidden.

    Attributes
    ----------
    modes : NeighbourModes
    first : Stack
    passes : tuple of Stack
    flat : float
        A squared difference that is no edge.
    smooths_ring : bool
        Whether smoothed copies of the ring are among the predictions.
    hidden : int
        Number of the hidden entries.
    ring_error, error : float
        Mean squares at these, of the ring and of what was filled.
    """

    modes: NeighbourModes
    first: Stack
    passes: tuple[Stack, ...]
    flat: float
    smooths_ring: bool
    hidden: int
    ring_error: float
    error: float

    def fill(self, window: Window, trusted: NDArray[np.bool_]) -> Array32:
        """Predictions of all entries; those of trusted entries are of no use."""
        work = _Work(window, trusted, self.modes)
        work.take(work.neighbours(self.smooths_ring), self.first)
        for stack in self.passes:
            work.take(work.guided(self.flat), stack)
        return work.filled


def learn_filling(
    windows: Sequence[Window],
    trusted: Sequence[NDArray[np.bool_]],
    hidden: Sequence[NDArray[np.bool_]],
    modes: NeighbourModes,
    *,
    smooths_ring: bool,
) -> Filling:
    """Learn to fill hidden entries from all others.

    Parameters
    ----------
    windows : sequence of Window
    trusted, hidden : sequences of bool arrays
        Hidden entries are trusted ones that are treated as missing here.
    modes : NeighbourModes
    smooths_ring : bool
        Whether smoothed copies of the ring are predictions, too. It must not have seen the hidden entries: at those
        that it has seen, a ring that is too rough looks better than it is.
    """
    works = [_Work(window, known & ~away, modes) for window, known, away in zip(windows, trusted, hidden, strict=True)]
    chosen = [np.flatnonzero(away) for away in hidden]
    ring_error = _error(works, chosen)
    first = _step(works, chosen, [work.neighbours(smooths_ring) for work in works])
    flat = _FLAT * float(np.mean([work.mean_difference() for work in works])) if modes.ordered else 0.0
    passes = [
        _step(works, chosen, [work.guided(flat) for work in works]) for _ in range(_PASSES if modes.ordered else 0)
    ]
    return Filling(
        modes, first, tuple(passes), flat, smooths_ring, sum(map(len, chosen)), ring_error, _error(works, chosen)
    )


class _Work:
    """A window that is being filled."""

    def __init__(self, window: Window, trusted: NDArray[np.bool_], modes: NeighbourModes) -> None:
        self.window, self.trusted, self.modes = window, trusted, modes
        self.filled = window.ring
        self._values = window.ring + window.residuals
        self._weights = trusted.astype(np.float32)
        self._density = self._weights

    def take(self, columns: list[Array32], stack: Stack) -> None:
        """Fill by stacked predictions of the ring's error."""
        self.filled = self.window.ring + stack.predict(columns, self._density)

    def training(self, columns: list[Array32], chosen: NDArray[np.intp]) -> Training:
        ones = np.ones(self._density.shape, np.float32)
        return Training.of(columns, self._density, self.window.residuals, ones, chosen)

    def neighbours(self, smooths_ring: bool) -> list[Array32]:
        """Predictions of the ring's error by neighbours, and by smoothing the ring."""
        said = neighbour_predictions(self.window.residuals * self._weights, self._weights, self.modes, _LEVELS)
        self._density = said.density
        columns, smooth = said.columns, self.window.ring
        for level in range(1, _ROUGHNESS_LEVELS + 1) if smooths_ring and self.modes.ordered else ():
            for mode in self.modes.ordered:
                smooth = hat(smooth, mode, 2 ** (level - 1))
            columns.append(smooth / self._window_mass(level) - self.window.ring)
        return columns

    def guided(self, flat: float) -> list[Array32]:
        """Predictions of the ring's error by the filled array itself."""
        ordered, filled = self.modes.ordered, self.filled
        array = np.where(self.trusted, self._values, filled)
        centre = np.float32(0.5 ** len(ordered))
        around = (window_mean(array, ordered, 1) - centre * array) / (self._window_mass(1) - centre)
        along, mass = np.zeros_like(array), np.zeros_like(array)
        for mode in ordered:
            sureness = 1 / (self._differences(array, mode) + np.float32(flat))
            along += sureness * pairs(array, mode) / pairs(self._ones(mode), mode)
            mass += sureness
        columns = [filled - self.window.ring, around - filled, along / np.maximum(mass, np.float32(1e-30)) - filled]
        for mode in self.modes.related:
            columns += other_slices(array - around, self._weights, [], mode)
        return columns

    def mean_difference(self) -> float:
        """Mean squared difference of neighbours in the filled array."""
        array = np.where(self.trusted, self._values, self.filled)
        return float(np.mean([self._differences(array, mode).mean() for mode in self.modes.ordered]))

    def _differences(self, array: Array32, mode: int) -> Array32:
        """Squared differences along a mode, around every place, over all related slices."""
        ahead, behind = shifted(mode, 1)
        steps = (array[ahead] - array[behind]) ** 2
        squares = np.zeros_like(array)
        squares[ahead] += steps
        squares[behind] += steps
        if self.modes.related:
            squares = squares.mean(self.modes.related, keepdims=True)
        return window_mean(squares, self.modes.ordered, 1)

    def _window_mass(self, levels: int) -> Array32:
        """Sum of a window's weights that lie inside the array, to be broadcast."""
        mass = np.ones((1,) * self.filled.ndim, np.float32)
        for mode in self.modes.ordered:
            mass = mass * window_mean(self._ones(mode), (mode,), levels)
        return mass

    def _ones(self, mode: int) -> Array32:
        shape = [1] * self.filled.ndim
        shape[mode] = self.filled.shape[mode]
        return np.ones(shape, np.float32)


def _step(works: Sequence[_Work], chosen: Sequence[NDArray[np.intp]], columns: Sequence[list[Array32]]) -> Stack:
    """Learn a stack at the hidden entries, and fill by it."""
    stack = fit_stack(work.training(said, there) for work, said, there in zip(works, columns, chosen, strict=True))
    for work, said in zip(works, columns, strict=True):
        work.take(said, stack)
    return stack


def _error(works: Sequence[_Work], chosen: Sequence[NDArray[np.intp]]) -> float:
    """Mean square of what is filled minus data, at the hidden entries."""
    errors = [
        (work.filled - work.window.ring - work.window.residuals).ravel()[there]
        for work, there in zip(works, chosen, strict=True)
    ]
    together = np.concatenate(errors).astype(np.float64)
    return float(np.mean(together**2)) if together.size else 0.0
