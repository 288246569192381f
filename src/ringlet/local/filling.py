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

from ringlet.local.bridging import Bridge, learn_bridge
from ringlet.local.gain import Gain, Scores
from ringlet.local.gap_kinds import kinds_of
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
from ringlet.local.surface import Surface, learn_surface
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
_NONE = -1  # of the halves
_FEW_HIDDEN = 6_000  # of fewer, half tells whether what is learned from the others is any good


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
    surface : Surface or None
        If there is one, it is among the predictions.
    bridge : Bridge or None
        For gaps of a kind from which nothing was learned.
    gain : Gain
        What it gained at hidden entries.
    """

    first: Stack
    passes: tuple[Stack, ...]
    flat: float
    smooths_ring: bool
    surface: Surface | None
    bridge: Bridge | None
    gain: Gain

    def fill(self, window: Window, trusted: NDArray[np.bool_], mapper: Mapper = map) -> Array32:
        """The window's values, with predictions at all entries that are not trusted."""
        work = _Work(window, trusted, smooths_ring=self.smooths_ring)
        work.lay(self.surface, mapper)
        work.bridge(self.bridge)
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
    surface = learn_surface(windows, trusted)
    lessons = []
    for window, known, away in zip(windows, trusted, hidden, strict=True):
        work = _Work(window, known & ~away, smooths_ring=smooths_ring)
        work.lay(surface, mapper)
        tiles = spread_tiles(window.layout.tiles(0), share * away.size, rng)
        lessons.append(_Lesson(work, away, tiles, mapper))
    bridge = _bridge(lessons, trusted)
    first, passes, flat = _learned(lessons)
    scores = [lesson.scores() for lesson in lessons]
    number = sum(score.before.size for score in scores)
    if number <= _FEW_HIDDEN:
        for lesson in lessons:
            lesson.divide(rng)
        halves = []
        for fold in range(2):
            _learned(lessons, left_out=fold)
            halves += [lesson.scores(fold) for lesson in lessons]
        scores = halves
    return Filling(
        first, passes, flat, smooths_ring, surface, bridge, Gain.of(scores, learned_there=number > _FEW_HIDDEN)
    )


def _learned(lessons: Sequence["_Lesson"], left_out: int = _NONE) -> tuple[Stack, tuple[Stack, ...], float]:
    """Learn at all hidden entries but those of one half: the first stack, the passes, and what is flat."""
    for lesson in lessons:
        lesson.begin(left_out)
    first = _step(lessons, [lesson.work.neighbours for lesson in lessons], _FIRST_RADIUS)
    flat = max(_FLAT * sum(lesson.mean_difference() for lesson in lessons) / len(lessons), _LEAST_FLAT)
    error = sum(lesson.squares() for lesson in lessons)
    passes: list[Stack] = []
    for _ in range(_PASSES if lessons[0].work.modes.ordered else 0):
        stack = _step(lessons, [partial(lesson.work.guided, flat) for lesson in lessons], _PASS_RADIUS)
        now = sum(lesson.squares() for lesson in lessons)
        if now > (1 - _LEAST_PASS) * error:
            break
        passes.append(stack)
        error = now
    return first, tuple(passes), flat


class _Work:
    """A window that is being filled: its values where they are trusted, and else what is believed."""

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
        """As it was before anything was filled."""
        self.array = self.window.ring + self._fixed

    def lay(self, surface: Surface | None, mapper: Mapper) -> None:
        """Let the values of a surface be among the predictions."""
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
        """What comes out in a tile."""
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


class _Lesson:
    """Some tiles of a window, with hidden entries."""

    def __init__(self, work: _Work, hidden: NDArray[np.bool_], tiles: Sequence[Tile], mapper: Mapper) -> None:
        self.work, self._tiles, self._mapper = work, tiles, mapper
        self._hidden = [np.flatnonzero(hidden[tile.inner]) for tile in tiles]
        self._halves = [np.zeros(places.size, np.int8) for places in self._hidden]
        self._left_out = _NONE

    def divide(self, rng: np.random.Generator) -> None:
        """Draw halves of the hidden entries."""
        self._halves = [rng.integers(0, 2, places.size, np.int8) for places in self._hidden]

    def begin(self, left_out: int) -> None:
        """Begin anew, and leave one half out of learning."""
        self.work.begin()
        self._left_out = left_out

    def kinds(self) -> list[NDArray[np.uint8]]:
        """Of the hidden entries."""
        kinds = kinds_of(self.work.trusted, self.work.modes)
        return [kinds[tile.inner].ravel()[places] for tile, places in zip(self._tiles, self._hidden, strict=True)]

    def laid(self) -> list[tuple[Array32, Array32]]:
        """The surface and the residuals at the hidden entries, both less the ring."""
        arrays = (self.work.surface, self.work.window.residuals)
        return [
            tuple(array[tile.inner].ravel()[places] for array in arrays)
            for tile, places in zip(self._tiles, self._hidden, strict=True)
        ]

    def columns(self, columns: Columns, radius: int) -> list[Array32]:
        """Predictions in every tile."""
        return list(self._mapper(columns, self._with_halo(radius)))

    def trainings(self, columns: Sequence[Array32]) -> Iterator[Training]:
        """Predictions at hidden entries."""
        for said, tile, places, weights in zip(columns, self._tiles, self._hidden, self._counted(), strict=True):
            density, residuals = self.work.density[tile.inner].ravel(), self.work.window.residuals[tile.inner].ravel()
            picked = said.reshape(len(said), density.size)[:, places].T
            yield Training(picked, density[places], residuals[places], weights)

    def fill(self, columns: Sequence[Array32], stack: Stack) -> None:
        """Fill the tiles."""
        for said, tile in zip(columns, self._tiles, strict=True):
            self.work.array[tile.inner] = self.work.filled(said, stack, tile)

    def mean_difference(self) -> float:
        """Mean squared difference of neighbours."""
        return float(np.mean(list(self._mapper(self.work.mean_difference, self._with_halo(_PASS_RADIUS)))))

    def squares(self) -> float:
        """Sum of squares of what is filled minus data, at the hidden entries that count."""
        return sum(
            float(np.sum(weights * errors**2, dtype=np.float64))
            for weights, (_, errors) in zip(self._counted(), self._errors(), strict=True)
        )

    def scores(self, half: int | None = None) -> Scores:
        """Errors at hidden entries, or at half of them, before and after."""
        before, after = (np.concatenate(parts) for parts in zip(*self._errors(), strict=True))
        if half is None:
            return Scores(before, after)
        chosen = np.concatenate(self._halves) == half
        return Scores(before[chosen], after[chosen])

    def _errors(self) -> Iterator[tuple[Array32, Array32]]:
        """Ring minus data, and what is filled minus data."""
        for tile, places in zip(self._tiles, self._hidden, strict=True):
            here, window = tile.inner, self.work.window
            residuals = window.residuals[here].ravel()[places]
            yield residuals, (self.work.array[here] - window.ring[here]).ravel()[places] - residuals

    def _counted(self) -> list[Array32]:
        """Which hidden entries count in learning: 1 or 0."""
        return [(half != self._left_out).astype(np.float32) for half in self._halves]

    def _with_halo(self, radius: int) -> list[Tile]:
        return [self.work.window.layout.with_halo(tile, radius) for tile in self._tiles]


def _bridge(lessons: Sequence[_Lesson], trusted: Sequence[NDArray[np.bool_]]) -> Bridge | None:
    """Bridge gaps of kinds that no hidden entry has."""
    if lessons[0].work.surface is None:
        return None
    missing = [kinds_of(known, lesson.work.modes)[~known] for lesson, known in zip(lessons, trusted, strict=True)]
    hidden = [part for lesson in lessons for part in lesson.kinds()]
    laid = [pair for lesson in lessons for pair in lesson.laid()]
    bridge = learn_bridge(missing, hidden, *zip(*laid, strict=True))
    for lesson in lessons:
        lesson.work.bridge(bridge)
    return bridge


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
