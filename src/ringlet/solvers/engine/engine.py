"""What an algorithm needs of the data: samples of them for core updates, residuals of pilots, passes over samples.

The samples depend on the seed, the sweep and the mode only, never on the cores. So the next sample of stored data
can be read while this one is used. An engine keeps memory and readers between updates; none of it changes a result.
"""

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.arrays import Floats
from ringlet.ring.chain import Core
from ringlet.sampling import ChunkDraw, Purpose, SamplingRule, draw_entries, draw_subtensor, stream
from ringlet.solvers.base import Problem
from ringlet.solvers.engine.cluster_regions import ClusterRegions
from ringlet.solvers.engine.core_plan import plan_core
from ringlet.solvers.engine.device_gram import taken
from ringlet.solvers.engine.device_pass import DevicePass
from ringlet.solvers.engine.fit_plan import FitPlan
from ringlet.solvers.engine.prefetch import Ahead, hold
from ringlet.solvers.engine.regions import RegionPass, Regions
from ringlet.solvers.engine.row_sampling import row_sketch
from ringlet.solvers.engine.streamed_pass import Pass, Sketch, StreamedPass
from ringlet.solvers.engine.subchain import Resources
from ringlet.sources import ArraySource, Source

__all__ = ["Engine", "Moment", "pilot_entries"]

Indices: TypeAlias = tuple[NDArray[np.intp], ...]
Moment: TypeAlias = tuple[int, int]  # a sweep and a mode: one core update

# Entries of a pilot: a sixteenth of the sample, within these bounds.
_PILOT_SHARE, _PILOT_LEAST, _PILOT_MOST = 16, 1 << 13, 1 << 17


class Engine:
    """Samples of the data of a problem, and passes over them.

    Parameters
    ----------
    problem : Problem
    sampling : SamplingRule
        How many columns of the unfolding an update uses, and how they are drawn.
    data_range : float
        The data are divided by it as they are read.
    resources : Resources
    reads_ahead : bool
        Whether there is memory for the next sample of stored data.
    """

    def __init__(
        self, problem: Problem, sampling: SamplingRule, data_range: float, resources: Resources, *, reads_ahead: bool
    ) -> None:
        source, placement = problem.source, resources.placement
        sampling.check(source, on_cluster=placement is not None)
        self._source = source
        self._seed = problem.seed
        self._layout_rank = problem.rank  # samples of stored data are laid out as updates of this rank read them
        self._sampling, self._by_rows = sampling, sampling.by_rows
        self._data_range = data_range
        self.resources = resources
        self._pass_type = StreamedPass if resources.device is None else DevicePass
        # for small passes
        self._here = Resources(workspace=resources.workspace, profile=resources.profile, device=resources.device)
        self._chunk_draws: list[ChunkDraw] | None = None
        self._held: Ahead[Moment, ArraySource] | None = None
        self._regions: Regions | None = None
        if source.chunks is None or sampling.by_rows:
            return
        if sampling.samples is None:
            self._regions = Regions(source, ahead=reads_ahead)
            return
        if not sampling.uniform:
            modes, samples = range(len(source.shape)), sampling.samples
            self._chunk_draws = [ChunkDraw.plan(source.chunks, samples, whole=mode) for mode in modes]
        if placement is None:  # otherwise the workers read
            self._held = Ahead(self._hold, reads_ahead)

    def sample(
        self, cores: Sequence[Core], moment: Moment, *, columns: int | None = None, then: Moment | None = None
    ) -> Sketch:
        """The random part of the data for one core update (RStS): X_I, P_I and the cores at I.

        Parameters
        ----------
        cores : sequence of arrays
        moment : (int, int)
            Number of the sweep, and mode k.
        columns : int, optional
            Use only this number of columns of data in memory.
        then : (int, int), optional
            The update that follows, if it is known. Its sample of stored data is read meanwhile.
        """
        source, shape, mode = self._source, self._source.shape, moment[1]
        if self._by_rows and isinstance(source, ArraySource) and self._sampling.samples is not None:
            rng = stream(self._seed, Purpose.SAMPLE, *moment)
            return row_sketch(source, cores, mode, self._sampling.samples, rng, by_leverage=self._sampling.by_leverage)
        index = self._index(moment, columns)
        if isinstance(cores[0], np.ndarray):
            parts = [
                core if len(indices) == length else core[:, indices, :]
                for core, indices, length in zip(cores, index, shape, strict=True)
            ]
        else:
            parts = taken(cores, index)
        if self._held is None:
            return Sketch(source, mode, index, parts)
        held = self._held(moment, then)
        return Sketch(held, mode, tuple(map(np.arange, held.shape)), parts)

    def pilot_residuals(self, sketch: Sketch, moment: Moment) -> Floats:
        """Residuals of a small random part of a sketch, which give the kernel width; may be empty.

        The pilot of a fit that uses all of a store comes from few chunks.
        """
        if self._regions is not None:
            chosen = draw_entries(sketch.source, pilot_entries(sketch.sizes), self._seed, Purpose.PILOT, *moment)
            index: Indices = tuple(np.arange(len(part)) for part in chosen)
            source: Source = hold(sketch.source, chosen, tuple(range(len(chosen))))
        else:
            rng = stream(self._seed, Purpose.PILOT, *moment)
            chosen = draw_subtensor(sketch.sizes, pilot_entries(sketch.sizes), rng)
            index = tuple([indices[part] for indices, part in zip(sketch.index, chosen, strict=True)])
            source = sketch.source
        if isinstance(sketch.cores[0], np.ndarray):
            cores = [core[:, part, :] for core, part in zip(sketch.cores, chosen, strict=True)]
        else:
            cores = taken(sketch.cores, chosen)
        pilot = Sketch(source, sketch.mode, index, cores)
        return self._pass_type(pilot, self._data_range, self._here).residuals()

    def pass_over(self, sketch: Sketch, mode: int, plan: FitPlan) -> Pass:
        """The pass that core `mode` is updated from."""
        regions, resources = self._regions, self.resources
        placement = resources.placement
        keeps = prod(sketch.sizes) <= plan.cores[mode].kept_entries  # a sketch may be smaller than planned
        if regions is None and resources.device is None and keeps:
            dtype = sketch.cores[sketch.mode].dtype
            room = resources.workspace.array("kept weights", (plan.kept_entries,), dtype)
            return StreamedPass(sketch, self._data_range, resources, room)
        if regions is None:
            return self._pass_type(sketch, self._data_range, resources)
        if placement is not None and len(regions.blocks) >= placement.slots:
            return ClusterRegions(regions.blocks, sketch, self._data_range, placement)

        def over(number: int, cores: list[Core]) -> Pass:
            if placement is None:
                held = regions.held(number)
                part = Sketch(held, mode, tuple(map(np.arange, held.shape)), cores)
            else:
                index = tuple(np.arange(span.start, span.stop) for span in regions.blocks[number])
                part = Sketch(sketch.source, mode, index, cores)
            return self._pass_type(part, self._data_range, resources)

        return RegionPass(regions.blocks, sketch.cores, mode, over)

    def close(self) -> None:
        """Stop reading ahead."""
        for reader in (self._held, self._regions):
            if reader is not None:
                reader.close()

    def _index(self, moment: Moment, columns: int | None = None) -> Indices:
        """Indices used of every mode, all of the mode that is updated."""
        shape, mode = self._source.shape, moment[1]
        samples = self._sampling.samples if columns is None else columns
        if samples is None:
            return tuple(map(np.arange, shape))
        if self._chunk_draws is not None and columns is None:
            return self._chunk_draws[mode].indices(self._seed, Purpose.SAMPLE, *moment)
        return draw_subtensor(shape, samples, stream(self._seed, Purpose.SAMPLE, *moment), whole=mode)

    def _hold(self, moment: Moment) -> ArraySource:
        """The entries that a core update uses, in memory, in the order in which the update reads them."""
        index = self._index(moment)
        order = plan_core(tuple(map(len, index)), self._layout_rank, moment[1]).order
        return hold(self._source, index, order)


def pilot_entries(sizes: Sequence[int]) -> int:
    """How many entries of a sketch of these sizes make a pilot."""
    return min(max(prod(sizes) // _PILOT_SHARE, _PILOT_LEAST), _PILOT_MOST)
