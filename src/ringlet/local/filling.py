"""Entries that are missing or wrong: the ring, and what trusted entries around say of its error.

First the stacked predictions of neighbours. Then a few passes over the filled array, in which directions along which
it changes least count most: along an edge, not across it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.local.layout import Slices, Tile, spread_tiles
from ringlet.local.neighbours import (
    Array32,
    neighbour_predictions,
    other_slices,
    pair_sums,
    shifted,
    slice_sum,
    window_mean,
)
from ringlet.local.stacking import Stack, Training, fit_stack
from ringlet.local.window import Window
from ringlet.ring.arrays import Mapper

__all__ = ["FILLING_RADIUS", "Filling", "learn_filling"]

Columns: TypeAlias = Callable[[Tile], Array32]  # predictions of the ring's error in a tile, shape (C, ...)

_LEVELS = 3  # scales of neighbours
_ROUGHNESS_LEVELS = 3  # scales at which the ring is smoothed
_PASSES = 3  # over the filled array, at most
_LEAST_PASS = 0.002  # of the mean square at hidden entries: a pass that gains less is not made
_FIRST_RADIUS = 2**_LEVELS - 1
_PASS_RADIUS = 2
FILLING_RADIUS = _FIRST_RADIUS + _PASS_RADIUS * _PASSES
_FLAT = 0.01  # of the mean squared difference of neighbours: what is smaller is no edge
_LEAST_FLAT = 1e-12  # in squared units, for arrays without any difference
_LEAST_MASS = np.float32(1e-6)  # of a window without its centre, where it holds nothing else
_MOST_HIDDEN = 20_000  # entries from which filling is learned, about


@dataclass(frozen=True, eq=False)
class Filling:
    """How to fill, as measured where entries were known and hidden.

    Attributes
    ----------
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

    first: Stack
    passes: tuple[Stack, ...]
    flat: float
    smooths_ring: bool
    hidden: int
    ring_error: float
    error: float

    def fill(self, window: Window, trusted: NDArray[np.bool_], mapper: Mapper = map) -> Array32:
        """The window's values, with predictions at all entries that are not trusted."""
        work = _Work(window, trusted, smooths_ring=self.smooths_ring)
        work.fill(self.first, work.neighbours, _FIRST_RADIUS, mapper)
        for stack in self.passes:
            work.fill(stack, partial(work.guided, self.flat), _PASS_RADIUS, mapper)
        return work.array


def learn_filling(
    windows: Sequence[Window],
    trusted: Sequence[NDArray[np.bool_]],
    hidden: Sequence[NDArray[np.bool_]],
    *,
    smooths_ring: bool,
    rng: np.random.Generator,
    mapper: Mapper = map,
) -> Filling:
    """Learn to fill hidden entries from all others.

    Parameters
    ----------
    windows : sequence of Window
    trusted, hidden : sequences of bool arrays
        Hidden entries are trusted ones that are treated as missing here. If there are very many, tiles with enough of
        them are drawn.
    smooths_ring : bool
        Whether smoothed copies of the ring are predictions, too. It must not have seen the hidden entries: at those
        that it has seen, a ring that is too rough looks better than it is.
    rng : Generator
        For the draw.
    mapper : callable, optional
        Used like `map`, over tiles.
    """
    share = min(1.0, _MOST_HIDDEN / max(sum(map(np.count_nonzero, hidden)), 1))
    lessons = []
    for window, known, away in zip(windows, trusted, hidden, strict=True):
        work = _Work(window, known & ~away, smooths_ring=smooths_ring)
        tiles = spread_tiles(window.layout.tiles(0), share * away.size, rng)
        lessons.append(_Lesson(work, away, tiles, mapper))
    ordered = bool(windows[0].layout.modes.ordered)
    number = sum(lesson.number for lesson in lessons)
    ring_error = sum(lesson.squares() for lesson in lessons) / max(number, 1)
    first = _step(lessons, [lesson.work.neighbours for lesson in lessons], _FIRST_RADIUS)
    flat = max(_FLAT * sum(lesson.mean_difference() for lesson in lessons) / len(lessons), _LEAST_FLAT)
    error = sum(lesson.squares() for lesson in lessons) / max(number, 1)
    passes: list[Stack] = []
    for _ in range(_PASSES if ordered else 0):
        stack = _step(lessons, [partial(lesson.work.guided, flat) for lesson in lessons], _PASS_RADIUS)
        now = sum(lesson.squares() for lesson in lessons) / max(number, 1)
        if now > (1 - _LEAST_PASS) * error:
            break
        passes.append(stack)
        error = now
    return Filling(first, tuple(passes), flat, smooths_ring, number, ring_error, error)


class _Work:
    """A window that is being filled: its values where they are trusted, and else what is believed."""

    def __init__(self, window: Window, trusted: NDArray[np.bool_], *, smooths_ring: bool) -> None:
        self.window, self.modes = window, window.layout.modes
        self.trusted = trusted
        self.array = window.ring + window.residuals * trusted
        self.density = np.zeros_like(self.array)
        self._smooths_ring = smooths_ring and bool(self.modes.ordered)

    def fill(self, stack: Stack, columns: Columns, radius: int, mapper: Mapper) -> None:
        """Fill by stacked predictions of the ring's error."""
        result = np.empty_like(self.array)

        def work(tile: Tile) -> None:
            result[tile.inner] = self.filled(columns(tile), stack, tile)

        for _ in mapper(work, self.window.layout.tiles(radius)):
            pass
        self.array = result

    def filled(self, columns: Array32, stack: Stack, tile: Tile) -> Array32:
        """What comes out in a tile."""
        here, trusted = tile.inner, self.trusted[tile.inner]
        detail = stack.predict(columns, self.density[here])
        detail *= ~trusted
        detail += self.window.residuals[here] * trusted
        detail += self.window.ring[here]
        return detail

    def neighbours(self, tile: Tile) -> Array32:
        """Predictions of the ring's error by neighbours, and by smoothing the ring."""
        weights = self.trusted[tile.outer].astype(np.float32)
        residuals = self.window.residuals[tile.outer]
        said = neighbour_predictions(residuals * weights, weights, self.modes, _LEVELS, tile.core)
        self.density[tile.inner] = said.density
        if not self._smooths_ring:
            return said.columns
        ring = self.window.ring[tile.outer]
        smooth, wide = [], ring
        for level in range(_ROUGHNESS_LEVELS):
            wide = window_mean(wide, self.modes.ordered, 1, first=level)
            smooth.append(wide[tile.core] / self._window_mass(ring, level + 1, tile.core) - ring[tile.core])
        return np.concatenate([said.columns, np.stack(smooth)])

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


class _Lesson:
    """Some tiles of a window, with hidden entries."""

    def __init__(self, work: _Work, hidden: NDArray[np.bool_], tiles: Sequence[Tile], mapper: Mapper) -> None:
        self.work, self._tiles, self._mapper = work, tiles, mapper
        self._hidden = [np.flatnonzero(hidden[tile.inner]) for tile in tiles]
        self.number = sum(places.size for places in self._hidden)

    def columns(self, columns: Columns, radius: int) -> list[Array32]:
        """Predictions in every tile."""
        return list(self._mapper(columns, self._with_halo(radius)))

    def trainings(self, columns: Sequence[Array32]) -> Iterator[Training]:
        """Predictions at hidden entries."""
        for said, tile, places in zip(columns, self._tiles, self._hidden, strict=True):
            density, residuals = self.work.density[tile.inner], self.work.window.residuals[tile.inner]
            yield Training.of(said, density, residuals, np.ones(density.shape, np.float32), places)

    def fill(self, columns: Sequence[Array32], stack: Stack) -> None:
        """Fill the tiles."""
        for said, tile in zip(columns, self._tiles, strict=True):
            self.work.array[tile.inner] = self.work.filled(said, stack, tile)

    def mean_difference(self) -> float:
        """Mean squared difference of neighbours."""
        return float(np.mean(list(self._mapper(self.work.mean_difference, self._with_halo(_PASS_RADIUS)))))

    def squares(self) -> float:
        """Sum of squares of what is filled minus data, at hidden entries."""
        total = 0.0
        for tile, places in zip(self._tiles, self._hidden, strict=True):
            here, window = tile.inner, self.work.window
            errors = (self.work.array[here] - window.ring[here] - window.residuals[here]).ravel()[places]
            total += float(np.sum(errors**2, dtype=np.float64))
        return total

    def _with_halo(self, radius: int) -> list[Tile]:
        return [self.work.window.layout.with_halo(tile, radius) for tile in self._tiles]


def _step(lessons: Sequence[_Lesson], columns: Sequence[Columns], radius: int) -> Stack:
    """Learn a stack at the hidden entries, and fill by it."""
    said = [lesson.columns(one, radius) for lesson, one in zip(lessons, columns, strict=True)]
    stack = fit_stack(part for lesson, one in zip(lessons, said, strict=True) for part in lesson.trainings(one))
    for lesson, one in zip(lessons, said, strict=True):
        lesson.fill(one, stack)
    return stack


def _ones(array: Array32, mode: int) -> Array32:
    """Ones along a mode, to be broadcast."""
    return np.ones([length if number == mode else 1 for number, length in enumerate(array.shape)], np.float32)


def _only(core: Slices, mode: int) -> Slices:
    """A part along one mode."""
    return (*(slice(None),) * mode, core[mode])
