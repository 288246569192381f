"""A window that is being filled, and predictions of the ring's error in its gaps."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.local.bridging import Bridge
from ringlet.local.gap_kinds import kinds_of
from ringlet.local.layout import Slices, Tile
from ringlet.local.neighbours import (
    Array32,
    neighbour_predictions,
    other_slices,
    pair_sums,
    shifted,
    slice_sum,
    window_mean,
)
from ringlet.local.stacking import Stack
from ringlet.local.surface import Surface
from ringlet.local.window import Window
from ringlet.ring.arrays import Mapper

__all__ = ["FIRST_RADIUS", "PASS_RADIUS", "Columns", "GapWork"]

Columns: TypeAlias = Callable[[Tile], Array32]  # predictions of the ring's error in a tile, shape (C, ...)

_LEVELS = 3  # scales of neighbours
_ROUGHNESS_LEVELS = 3  # scales at which the ring is smoothed
FIRST_RADIUS = 2**_LEVELS - 1  # entries that the first predictions read on either side
PASS_RADIUS = 2  # the same of a pass
_LEAST_MASS = np.float32(1e-6)  # weight of a window without its centre, if it has no other entry


class GapWork:
    """A window that is being filled: its values where they are trusted, elsewhere the estimate so far."""

    def __init__(self, window: Window, trusted: NDArray[np.bool_], *, smooths_ring: bool) -> None:
        self.window, self.modes = window, window.layout.modes
        self.trusted = trusted
        self._fixed = window.residuals * trusted  # what is not to be filled, less the ring
        self._open = (~trusted).astype(np.float32)
        self.begin()
        self.density = np.zeros_like(self.array)
        self._smooths_ring = smooths_ring and bool(self.modes.ordered)
        self.surface: Array32 | None = None

    def begin(self) -> None:
        """The window before anything was filled."""
        self.array = self.window.ring + self._fixed

    def lay(self, surface: Surface | None, mapper: Mapper) -> None:
        """Add the values of a surface to the predictions."""
        if surface is not None:
            self.surface = surface.through(self.window, self.trusted, mapper)

    def bridge(self, bridge: Bridge | None) -> None:
        """Fill some gaps by the surface alone."""
        if bridge is not None and self.surface is not None:
            bridged = bridge.kinds[kinds_of(self.trusted, self.modes)] & ~self.trusted
            self._open -= bridged
            self._fixed += self.surface * (bridged * np.float32(bridge.share))
        self.begin()

    def fill(self, stack: Stack, columns: Columns, radius: int, mapper: Mapper) -> None:
        """Fill by stacked predictions of the ring's error."""
        result = np.empty_like(self.array)

        def work(tile: Tile) -> None:
            result[tile.inner] = self.filled(columns(tile), stack, tile)

        for _ in mapper(work, self.window.layout.tiles(radius)):
            pass
        self.array = result

    def filled(self, columns: Array32, stack: Stack, tile: Tile) -> Array32:
        """The filled tile."""
        here = tile.inner
        detail = stack.predict(columns, self.density[here])
        detail *= self._open[here]
        detail += self._fixed[here]
        detail += self.window.ring[here]
        return detail

    def neighbours(self, tile: Tile) -> Array32:
        """Predictions of the ring's error by neighbours, and by smoothing the ring."""
        weights = self.trusted[tile.outer].astype(np.float32)
        residuals = self.window.residuals[tile.outer]
        said = neighbour_predictions(residuals * weights, weights, self.modes, _LEVELS, tile.core)
        self.density[tile.inner] = said.density
        columns = [said.columns]
        if self.surface is not None:
            columns.append(self.surface[tile.inner][None])
        if not self._smooths_ring:
            return np.concatenate(columns)
        ring = self.window.ring[tile.outer]
        smooth, wide = [], ring
        for level in range(_ROUGHNESS_LEVELS):
            wide = window_mean(wide, self.modes.ordered, 1, first=level)
            smooth.append(wide[tile.core] / self._window_mass(ring, level + 1, tile.core) - ring[tile.core])
        return np.concatenate([*columns, np.stack(smooth)])

    def guided(self, flat: float, tile: Tile) -> Array32:
        """Predictions of the ring's error by the filled array itself."""
        ordered, array, core = self.modes.ordered, self.array[tile.outer], tile.core
        centre = np.float32(0.5 ** len(ordered))
        around = window_mean(array, ordered, 1)[core] - centre * array[core]
        around /= np.maximum(self._window_mass(array, 1, core) - centre, _LEAST_MASS)
        along, mass = np.zeros_like(around), np.zeros_like(around)
        for mode in ordered:
            sureness = np.reciprocal(self._differences(array, mode)[core] + np.float32(flat))
            mass = mass + sureness
            pairs = pair_sums(array, mode)[core]
            pairs *= sureness
            pairs /= np.maximum(pair_sums(_ones(array, mode), mode), 1)[_only(core, mode)]
            along += pairs
        along /= mass
        columns = [array[core] - self.window.ring[tile.inner], around - array[core], along - array[core]]
        differences, weights = array[core] - around, self.trusted[tile.inner].astype(np.float32)
        for mode in self.modes.related:
            columns += other_slices(differences, weights, [], mode)
        return np.stack(columns)

    def mean_difference(self, tile: Tile) -> float:
        """Mean squared difference of neighbours in a tile."""
        array = self.array[tile.outer]
        means = [float(self._differences(array, mode)[tile.core].mean()) for mode in self.modes.ordered]
        return sum(means) / max(len(means), 1)

    def _differences(self, array: Array32, mode: int) -> Array32:
        """Squared differences along a mode, around every place, mean of all related slices."""
        ahead, behind = shifted(mode, 1)
        steps = array[ahead] - array[behind]
        steps *= steps
        squares = np.zeros_like(array)
        squares[ahead] = steps
        squares[behind] += steps
        for related in self.modes.related:
            squares = slice_sum(squares, related) * np.float32(1 / array.shape[related])
        return window_mean(squares, self.modes.ordered, 1)

    def _window_mass(self, array: Array32, levels: int, core: Slices) -> Array32:
        """Sum of a window's weights that lie inside the array, for a part of it."""
        mass = np.ones((1,) * array.ndim, np.float32)
        for mode in self.modes.ordered:
            mass = mass * window_mean(_ones(array, mode), (mode,), levels)[_only(core, mode)]
        return mass


def _ones(array: Array32, mode: int) -> Array32:
    """Ones along a mode, to be broadcast."""
    return np.ones([length if number == mode else 1 for number, length in enumerate(array.shape)], np.float32)


def _only(core: Slices, mode: int) -> Slices:
    """A part along one mode."""
    return (*(slice(None),) * mode, core[mode])
