"""Draws what the core updates of a fit look at. What is drawn depends on the seed, the sweep and the mode alone."""

from collections.abc import Sequence

import numpy as np

from ringlet.errors import ArgumentError
from ringlet.execution import Placement
from ringlet.ring.chain import Core
from ringlet.sampling import Purpose, draw_subtensor, stream
from ringlet.solvers.engine.core_plan import plan_core
from ringlet.solvers.engine.prefetch import Ahead, hold
from ringlet.solvers.engine.regions import Regions, Subtensors
from ringlet.solvers.engine.row_sampling import row_sketch
from ringlet.solvers.engine.sketch import Sketch
from ringlet.solvers.problem import Problem
from ringlet.sources import ArraySource, Source

__all__ = ["Draws", "check_sampling"]


def check_sampling(sampling: str, source: Source, placement: Placement | None) -> None:
    """Refuse single rows of data that are not in memory here."""
    if sampling.endswith("rows") and not isinstance(source, ArraySource):
        raise ArgumentError(f"sampling={sampling!r} needs data in memory; use sampling='subtensor'")
    if sampling.endswith("rows") and placement is not None:
        raise ArgumentError(f"sampling={sampling!r} cannot use an executor; use sampling='subtensor'")


class Draws:
    """Sketches of the data of a problem; those of stored data are in memory, the next one is read meanwhile.

    Parameters
    ----------
    problem : Problem
    placement : Placement or None
        Where workers read the data.
    samples : int or None
        Columns of the unfolding, J; None: all.
    sampling : str
        How they are drawn.
    ahead : bool
        There is memory for reading ahead.
    last : int or None
        The number of the last sweep; None if other sweeps may come between one and the next.

    Attributes
    ----------
    regions : Regions or None
        All of stored data, a part after the other, if all of them are looked at.
    modes : sequence of int
        Of the present sweep, in their order.
    """

    def __init__(
        self,
        problem: Problem,
        placement: Placement | None,
        *,
        samples: int | None,
        sampling: str,
        ahead: bool,
        last: int | None,
    ) -> None:
        self._problem = problem
        self._samples = samples
        self._sampling = sampling
        self._last = last
        self._subtensors: Subtensors | None = None
        self._held: Ahead[tuple[int, int], ArraySource] | None = None
        self.regions: Regions | None = None
        self.modes: Sequence[int] = range(len(problem.source.shape))
        source = problem.source
        if samples is not None:
            self._subtensors = Subtensors(source, samples, problem.seed, uniform=sampling == "uniform-subtensor")
            if source.chunks is not None and placement is None:  # else the workers read
                self._held = Ahead(self._hold, self._following if ahead else lambda _: None)
        elif source.chunks is not None:
            self.regions = Regions(source, ahead=ahead)

    def sketch(self, cores: Sequence[Core], sweep: int, mode: int, few: int | None = None) -> Sketch:
        """The random part of the data for one core update; of data in memory perhaps only `few` columns."""
        source, shape = self._problem.source, self._problem.source.shape
        if self._sampling.endswith("rows"):
            return self._rows(cores, sweep, mode)
        if few is not None:
            index = draw_subtensor(shape, few, stream(self._problem.seed, Purpose.SAMPLE, sweep, mode), whole=mode)
        else:
            index = tuple(map(np.arange, shape)) if self._subtensors is None else self._subtensors.index(sweep, mode)
        parts = [
            core if len(indices) == length else core[:, indices, :]
            for core, indices, length in zip(cores, index, shape, strict=True)
        ]
        if self._held is None:
            return Sketch(source, mode, index, parts)
        held = self._held((sweep, mode))
        return Sketch(held, mode, tuple(map(np.arange, held.shape)), parts)

    def close(self) -> None:
        """Stop reading ahead."""
        for reader in (self._held, self.regions):
            if reader is not None:
                reader.close()

    def _rows(self, cores: Sequence[Core], sweep: int, mode: int) -> Sketch:
        source, samples = self._problem.source, self._samples
        assert isinstance(source, ArraySource)  # noqa: S101 - checked before
        assert samples is not None  # noqa: S101
        rng = stream(self._problem.seed, Purpose.SAMPLE, sweep, mode)
        return row_sketch(source, cores, mode, samples, rng, by_leverage=self._sampling == "leverage-rows")

    def _hold(self, moment: tuple[int, int]) -> ArraySource:
        """What a core update looks at, in memory, laid out as the update reads it."""
        assert self._subtensors is not None  # noqa: S101 - only subtensors are held
        index = self._subtensors.index(*moment)
        sizes = tuple(len(indices) for indices in index)
        return hold(self._problem.source, index, plan_core(sizes, self._problem.rank, moment[1]).order)

    def _following(self, moment: tuple[int, int]) -> tuple[int, int] | None:
        """The core update after this one; None where something else may be tried first."""
        sweep, mode = moment
        later = self.modes[self.modes.index(mode) + 1 :]
        if later:
            return sweep, later[0]
        return (sweep + 1, 0) if self._last is not None and sweep < self._last else None
