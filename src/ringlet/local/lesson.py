"""Some tiles of a window with hidden entries, at which filling is learned and evaluated."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ringlet.local.gain import Scores
from ringlet.local.gap_kinds import kinds_of
from ringlet.local.gap_work import PASS_RADIUS, Columns, GapWork
from ringlet.local.layout import Tile
from ringlet.local.neighbours import Array32
from ringlet.local.stacking import Stack, Training
from ringlet.ring.arrays import Mapper

__all__ = ["NO_HALF", "Lesson"]

NO_HALF = -1  # is left out


class Lesson:
    """Some tiles of a window, with hidden entries."""

    def __init__(self, work: GapWork, hidden: NDArray[np.bool_], tiles: Sequence[Tile], mapper: Mapper) -> None:
        self.work, self._tiles, self._mapper = work, tiles, mapper
        self._hidden = [np.flatnonzero(hidden[tile.inner]) for tile in tiles]
        self._halves = [np.zeros(places.size, np.int8) for places in self._hidden]
        self._left_out = NO_HALF

    def divide(self, rng: np.random.Generator) -> None:
        """Draw halves of the hidden entries."""
        self._halves = [rng.integers(0, 2, places.size, np.int8) for places in self._hidden]

    def begin(self, left_out: int) -> None:
        """Begin again, and leave one half out of learning."""
        self.work.begin()
        self._left_out = left_out

    def kinds(self) -> list[NDArray[np.uint8]]:
        """Of the hidden entries."""
        kinds = kinds_of(self.work.trusted, self.work.modes)
        return [kinds[tile.inner].ravel()[places] for tile, places in zip(self._tiles, self._hidden, strict=True)]

    def laid(self) -> list[tuple[Array32, Array32]]:
        """The surface and the residuals at the hidden entries, both less the ring."""
        surface, residuals = self.work.surface, self.work.window.residuals
        assert surface is not None  # noqa: S101 - asked before
        return [
            (surface[tile.inner].ravel()[places], residuals[tile.inner].ravel()[places])
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
        return float(np.mean(list(self._mapper(self.work.mean_difference, self._with_halo(PASS_RADIUS)))))

    def squares(self) -> float:
        """Sum of squares of filled values minus data, at the hidden entries that count."""
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
        """Ring minus data, and filled values minus data."""
        for tile, places in zip(self._tiles, self._hidden, strict=True):
            here, window = tile.inner, self.work.window
            residuals = window.residuals[here].ravel()[places]
            yield residuals, (self.work.array[here] - window.ring[here]).ravel()[places] - residuals

    def _counted(self) -> list[Array32]:
        """Which hidden entries count in learning: 1 or 0."""
        return [(half != self._left_out).astype(np.float32) for half in self._halves]

    def _with_halo(self, radius: int) -> list[Tile]:
        return [self.work.window.layout.with_halo(tile, radius) for tile in self._tiles]
