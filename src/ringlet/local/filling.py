"""Filling of missing and wrong entries: the ring, plus predictions of its error from trusted entries around them.

First the stacked predictions of neighbours and of a smooth surface. Gaps that are wider than those from which the stack
was learned get the surface alone, as far as it can be trusted. A few passes over the filled array follow. In these,
directions of little change count most: along an edge, not across it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ringlet.local.bridging import Bridge, learn_bridge
from ringlet.local.gain import Gain
from ringlet.local.gap_kinds import kinds_of
from ringlet.local.gap_work import FIRST_RADIUS, PASS_RADIUS, Columns, GapWork
from ringlet.local.layout import spread_tiles
from ringlet.local.lesson import NO_HALF, Lesson
from ringlet.local.neighbours import Array32
from ringlet.local.stacking import Stack, fit_stack
from ringlet.local.surface import Surface, learn_surface
from ringlet.local.window import Window
from ringlet.ring.arrays import Mapper

__all__ = ["FILLING_RADIUS", "Filling", "learn_filling"]

_PASSES = 3  # over the filled array, at most
_LEAST_PASS = 0.002  # of the mean square at hidden entries: passes end with a smaller gain
FILLING_RADIUS = FIRST_RADIUS + PASS_RADIUS * _PASSES  # a surface reaches farther where holes are wide
_FLAT = 0.01  # of the mean squared difference of neighbours: smaller ones are no edges
_LEAST_FLAT = 1e-12  # in squared units, for arrays without any difference
_MOST_HIDDEN = 20_000  # entries from which filling is learned, about
_FEW_HIDDEN = 6_000  # with fewer, half of them check what is learned from the others


@dataclass(frozen=True, eq=False)
class Filling:
    """How to fill, learned at known entries that were hidden.

    Attributes
    ----------
    first : Stack
    passes : tuple of Stack
    flat : float
        Largest squared difference that is no edge.
    smooths_ring : bool
        Whether smoothed copies of the ring are among the predictions.
    surface : Surface or None
        If given, it is one of the predictions.
    bridge : Bridge or None
        For gaps of a kind without hidden entries.
    gain : Gain
        Its gain at hidden entries.
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
        work = GapWork(window, trusted, smooths_ring=self.smooths_ring)
        work.lay(self.surface, mapper)
        work.bridge(self.bridge)
        work.fill(self.first, work.neighbours, FIRST_RADIUS, mapper)
        for stack in self.passes:
            work.fill(stack, partial(work.guided, self.flat), PASS_RADIUS, mapper)
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
        Whether smoothed copies of the ring are predictions, too. It must not have seen the hidden entries: at entries
        that it has seen, a ring that is too rough looks better than it is.
    rng : Generator
        Draws the tiles.
    mapper : callable, optional
        Used like `map`, over tiles.
    """
    share = min(1.0, _MOST_HIDDEN / max(sum(map(np.count_nonzero, hidden)), 1))
    surface = learn_surface(windows, trusted)
    lessons = []
    for window, known, away in zip(windows, trusted, hidden, strict=True):
        work = GapWork(window, known & ~away, smooths_ring=smooths_ring)
        work.lay(surface, mapper)
        tiles = spread_tiles(window.layout.tiles(0), share * away.size, rng)
        lessons.append(Lesson(work, away, tiles, mapper))
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


def _learned(lessons: Sequence[Lesson], left_out: int = NO_HALF) -> tuple[Stack, tuple[Stack, ...], float]:
    """Learn at all hidden entries except one half: the first stack, the passes, and the level of flat areas."""
    for lesson in lessons:
        lesson.begin(left_out)
    first = _step(lessons, [lesson.work.neighbours for lesson in lessons], FIRST_RADIUS)
    flat = max(_FLAT * sum(lesson.mean_difference() for lesson in lessons) / len(lessons), _LEAST_FLAT)
    error = sum(lesson.squares() for lesson in lessons)
    passes: list[Stack] = []
    for _ in range(_PASSES if lessons[0].work.modes.ordered else 0):
        stack = _step(lessons, [partial(lesson.work.guided, flat) for lesson in lessons], PASS_RADIUS)
        now = sum(lesson.squares() for lesson in lessons)
        if now > (1 - _LEAST_PASS) * error:
            break
        passes.append(stack)
        error = now
    return first, tuple(passes), flat


def _bridge(lessons: Sequence[Lesson], trusted: Sequence[NDArray[np.bool_]]) -> Bridge | None:
    """Learn to bridge gaps of kinds that no hidden entry has."""
    if lessons[0].work.surface is None:
        return None
    missing = [kinds_of(known, lesson.work.modes)[~known] for lesson, known in zip(lessons, trusted, strict=True)]
    hidden = [part for lesson in lessons for part in lesson.kinds()]
    laid = [pair for lesson in lessons for pair in lesson.laid()]
    bridge = learn_bridge(missing, hidden, *zip(*laid, strict=True))
    for lesson in lessons:
        lesson.work.bridge(bridge)
    return bridge


def _step(lessons: Sequence[Lesson], columns: Sequence[Columns], radius: int) -> Stack:
    """Learn a stack at the hidden entries, and fill with it."""
    said = [lesson.columns(one, radius) for lesson, one in zip(lessons, columns, strict=True)]
    stack = fit_stack(part for lesson, one in zip(lessons, said, strict=True) for part in lesson.trainings(one))
    for lesson, one in zip(lessons, said, strict=True):
        lesson.fill(one, stack)
    return stack
