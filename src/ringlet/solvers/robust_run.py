"""A fit by AWRTRD or SAWRTRD under way: scaled steepest descent on one core after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError
from ringlet.execution import Placement, Profile, Threads
from ringlet.ring import GramChain
from ringlet.ring.chain import Core
from ringlet.ring.kronecker import KroneckerSum
from ringlet.robust import LOSSES, Kernel
from ringlet.sampling import (
    Purpose,
    draw_entries,
    draw_rows,
    draw_subtensor,
    leverage_distribution,
    stream,
)
from ringlet.solvers.change import last_mode_gram, relative_change
from ringlet.solvers.direction import GramFactor
from ringlet.solvers.driver import RunState, SweepReport
from ringlet.solvers.fit_plan import FitPlan
from ringlet.solvers.operators import Workspace, entry_order
from ringlet.solvers.penalties import Penalties
from ringlet.solvers.plan import plan_core
from ringlet.solvers.problem import Problem
from ringlet.solvers.reading import Ahead, hold
from ringlet.solvers.recall import name_cores, recall_cores, recall_number
from ringlet.solvers.ridge import automatic_ridge, unknowns_per_entry
from ringlet.solvers.ring_snapshot import RingSnapshot
from ringlet.solvers.rows import RowSource, row_core
from ringlet.solvers.sketching import RegionPass, Regions, Subtensors
from ringlet.solvers.smoothness import laplacian, roughness, smooth_solve
from ringlet.solvers.solver import check_fits_machine, working_dtype
from ringlet.solvers.spread_regions import SpreadRegions
from ringlet.solvers.start import check_representable, given_start, measure, random_start
from ringlet.solvers.streamed_pass import StreamedPass, refold
from ringlet.solvers.trust import NARROWING, Trust, draw_pilot, pilot_entries, rule_width
from ringlet.sources import ArraySource, Source

if TYPE_CHECKING:
    from ringlet.solvers.robust_ring import RobustRing

__all__ = ["Position", "RobustRun", "Sketch"]

Floats: TypeAlias = NDArray[np.floating[Any]]

_ENOUGH = 30  # observed entries of a slice for each of its unknowns, in a thrifty run
_IDLE_SWEEPS = 3  # so many sweeps without a move, on samples that hold data, end a fit


@dataclass(frozen=True)
class Sketch:
    """What one core update looks at: a source, the indices used of it, and the cores at those indices."""

    source: Source
    mode: int
    index: tuple[NDArray[np.intp], ...]
    cores: list[Core]
    row_weights: Floats | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Indices used of every mode."""
        return tuple(len(indices) for indices in self.index)

    @property
    def columns(self) -> int:
        """Entries of one slice, J."""
        return prod(self.sizes) // self.sizes[self.mode]


@dataclass(frozen=True)
class Position:
    """Where a fit stands between two sweeps."""

    cores: tuple[Core, ...]
    sigma: float
    narrowest: float
    shape_gram: Floats | None
    penalties: Penalties


class RobustRun:
    """A fit under way.

    The cores describe the data divided by its size; they are replaced, never written to, so a ring that was handed out
    stays as it is.
    """

    def __init__(
        self,
        solver: "RobustRing",
        problem: Problem,
        threads: Threads,
        placement: Placement | None = None,
        *,
        samples: int | None,
        sampling: str,
        steady: bool = True,
    ) -> None:
        self._solver = solver
        self._problem = problem
        self._run = threads.run
        self._placement = placement
        self._samples = samples
        self._sampling = sampling
        self._steady = steady  # the sweep after this one has the next number
        self._all_modes = range(len(problem.source.shape))
        self._modes: Sequence[int] = self._all_modes  # of the present sweep
        self._workspace = Workspace()
        self.profile = Profile()
        self._loss = LOSSES[solver.loss]
        source = problem.source
        if sampling.endswith("rows") and not isinstance(source, ArraySource):
            raise ArgumentError(f"sampling={sampling!r} needs data in memory; use sampling='subtensor'")
        if sampling.endswith("rows") and placement is not None:
            raise ArgumentError(f"sampling={sampling!r} cannot use an executor; use sampling='subtensor'")
        self._dtype = working_dtype(source.dtype, solver.dtype)
        self._plan = self._checked_plan(problem.rank)
        scale = measure(source, problem.survey, problem.seed)
        self._size = scale.size
        self._level = max(1.0, abs(scale.centre))  # how far the data lie from zero, in units of their size
        check_representable(scale.size, self._dtype)
        if problem.init is None:
            self._cores = random_start(source.shape, problem.rank, scale.centre, self._dtype, problem.seed)
        else:
            self._cores = given_start(problem.init, source.shape, problem.rank, scale.size, self._dtype)
        self.penalties = solver.penalties(len(source.shape))
        self.thrifty = False  # look at few entries while there are few unknowns
        self._unknowns = unknowns_per_entry(source.shape, problem.rank)
        self._grams = GramChain(self._cores, self._run)
        self._gram_room = np.zeros(0)
        self._weights_room = self._room_for_weights()
        self._subtensors: Subtensors | None = None
        self._held: Ahead[tuple[int, int], ArraySource] | None = None  # subtensors of stored data, in memory
        self._regions: Regions | None = None  # all of stored data, a part after the other
        self._open_readers()
        self._shape_gram: Floats | None = None  # D after the last sweep
        self.sigma = inf
        self._idle_sweeps = 0  # how many sweeps running have moved no core
        # The kernel width must not go below this in the present sweep.
        self._narrowest = scale.reach if problem.init is None else 0.0

    @property
    def kernel(self) -> Kernel:
        """Loss and width, in the data's units."""
        return Kernel(self.sigma, self._loss)

    @property
    def size(self) -> float:
        """The data are divided by it."""
        return self._size

    @property
    def level(self) -> float:
        """How far the data lie from zero, in units of their size; at least 1."""
        return self._level

    @property
    def position(self) -> "Position":
        """Where the fit stands; sweeps do not change it afterwards."""
        return Position(tuple(self._cores), self.sigma, self._narrowest, self._shape_gram, self.penalties)

    def go_to(self, position: "Position") -> None:
        """Go on from there: from an earlier position, or from one with other bonds."""
        rank = tuple(core.shape[0] for core in position.cores)
        if rank != self._plan.rank:
            self._plan = self._checked_plan(rank)
            self._weights_room = self._room_for_weights()
            self._unknowns = unknowns_per_entry(self._problem.source.shape, rank)
        self._cores = list(position.cores)
        self._grams = GramChain(self._cores, self._run)
        self.sigma, self._narrowest = position.sigma, position.narrowest
        self._shape_gram, self.penalties = position.shape_gram, position.penalties

    def recall_change(self) -> None:
        """Let the next sweep tell its change against the present cores."""
        self._shape_gram = last_mode_gram(self._cores, self._grams)

    def look_at(self, problem: Problem, placement: Placement | None) -> None:
        """Fit this data from now on: the same tensor with other entries observed."""
        self.close()
        self._problem, self._placement = problem, placement
        self._open_readers()

    def snapshot(self) -> RingSnapshot:
        """The present model; cores are replaced, never written to, so it need not copy them."""
        return RingSnapshot(tuple(self._cores), self._size, self._problem.survey.empty)

    def close(self) -> None:
        """Stop reading ahead."""
        for reader in (self._held, self._regions):
            if reader is not None:
                reader.close()

    def state(self) -> RunState:
        """Cores, kernel width, how far it may narrow, idle sweeps; draws depend on the sweep's number alone."""
        return {
            **name_cores(self._cores),
            "sigma": self.sigma,
            "narrowest": self._narrowest,
            "idle_sweeps": self._idle_sweeps,
        }

    def resume(self, state: RunState) -> None:
        """Go on from a state."""
        self._cores = recall_cores(state, self._cores)
        self._grams = GramChain(self._cores, self._run)
        self.recall_change()
        self.sigma = recall_number(state, "sigma")
        self._narrowest = recall_number(state, "narrowest")
        self._idle_sweeps = int(recall_number(state, "idle_sweeps"))

    def sweep(self, number: int, modes: Sequence[int] | None = None) -> SweepReport:
        """Update every core once, or those of some modes."""
        moved, trusts = False, []
        self._modes = self._all_modes if modes is None else modes
        for mode in self._modes:
            with self.profile.part(f"mode {mode}"):
                trust, core = self._update(number, mode)
                if trust is not None:
                    trusts.append(trust)
                if core is not None:
                    self._cores[mode] = core
                    self._grams.replace(mode, core)
                    moved = True
        self._modes = self._all_modes
        before, self._shape_gram = self._shape_gram, last_mode_gram(self._cores, self._grams)
        settling = False
        if trusts:
            width = trusts[-1].width
            settling = isinstance(self._solver.sigma, str) and width <= self._narrowest < inf
            self.sigma, self._narrowest = width * self._size, NARROWING * width
            self._idle_sweeps = 0 if moved else self._idle_sweeps + 1
        return SweepReport(
            change=relative_change(self._shape_gram, before) * self._level,  # against the data's size, not their level
            loss=_mean([trust.loss for trust in trusts]) * self._size * self._size,
            sigma=self.sigma,
            mean_weight=_mean([trust.mean_weight for trust in trusts]),
            stalled=self._idle_sweeps >= _IDLE_SWEEPS,
            settling=settling,
        )

    def _update(self, sweep: int, mode: int) -> tuple[Trust | None, Core | None]:
        """The trust in a fresh sketch, and the new core; None where nothing is observed, or nothing moves."""
        sketch = self._draw(sweep, mode)
        trust = self._judge(sketch, sweep, mode)
        if trust is None:
            return None, None
        return trust, self._step(sketch, self._whole_pass(sketch, mode), trust, mode)

    def _step(
        self, sketch: Sketch, streamed: StreamedPass | RegionPass | SpreadRegions, trust: Trust, mode: int
    ) -> Core | None:
        """One scaled steepest descent step on core k with exact line search; None if there is nowhere to go."""
        gradient = streamed.gradient(self._loss, trust.width, self._run)  # d = (W o P o (X - A S^T)) S
        direction, penalty = gradient, 0.0
        if self._solver.scaling != "none":
            with self.profile.part("Gram"):
                gram = self._gram(sketch, mode)
            level = gram.trace() / gram.size
            if not (isfinite(level) and level > 0.0):
                return None
            ridge, smooth = self._ridge(trust) * level, self.penalties.smooth[mode] * level
            # the penalties, in proportion to the part of G that the sampled, observed, trusted entries make up
            share = trust.mean_weight * self._observed_share * sketch.columns / self._columns(mode)
            if ridge:
                gradient -= self._dtype.type(ridge * share) * streamed.rows
            if smooth:
                gradient -= self._dtype.type(smooth * share) * laplacian(streamed.rows)
            with self.profile.part("solve"):
                room = self._room(gram.size)
                if smooth:  # h (G + lambda I) + s L h = d
                    direction = smooth_solve(gram, ridge, smooth, gradient, self._run, room)
                else:
                    factor = GramFactor(gram, ridge, self._dtype, self._run, room)
                    direction = factor.solve(gradient, self._run)  # h = d (G + lambda I)^-1
            penalty = share * (ridge * float(np.vdot(direction, direction)) + smooth * roughness(direction))
        numerator = float(np.vdot(gradient, direction))
        denominator = streamed.curvature(direction, self._loss, trust.width, self._run) + penalty
        step = numerator / denominator if denominator > 0.0 else 0.0  # eta = <d, h> / || sqrt(W) o P o (h S^T) ||^2
        if step == 0.0 or not isfinite(step):
            return None
        before, _, after = self._cores[mode].shape
        return refold(streamed.rows + self._dtype.type(step) * direction, before, after)  # A + eta h

    def _ridge(self, trust: Trust) -> float:
        """The penalty on a core, relative to the mean diagonal of G: as asked, or from how well data determine it."""
        if self.penalties.ridge is not None:
            return self.penalties.ridge
        return automatic_ridge(self._unknowns, trust.mean_weight * self._observed_share, self._level)

    def _draw(self, sweep: int, mode: int) -> Sketch:
        """The random part of the data for one core update."""
        source, shape = self._problem.source, self._problem.source.shape
        if self._sampling.endswith("rows"):
            return self._draw_rows(mode, stream(self._problem.seed, Purpose.SAMPLE, sweep, mode))
        few = self._few_columns(mode) if self.thrifty else None
        if few is not None:
            index = draw_subtensor(shape, few, stream(self._problem.seed, Purpose.SAMPLE, sweep, mode), whole=mode)
        else:
            index = tuple(map(np.arange, shape)) if self._subtensors is None else self._subtensors.index(sweep, mode)
        cores = [
            core if len(indices) == length else core[:, indices, :]
            for core, indices, length in zip(self._cores, index, shape, strict=True)
        ]
        if self._held is None:
            return Sketch(source, mode, index, cores)
        held = self._held((sweep, mode))
        return Sketch(held, mode, tuple(map(np.arange, held.shape)), cores)

    def _few_columns(self, mode: int) -> int | None:
        """As many columns of data in memory as a slice's unknowns need, if these are fewer than the solver asks for."""
        if self._problem.source.chunks is not None:
            return None
        before, _, after = self._cores[mode].shape
        enough = int(_ENOUGH * before * after / self._observed_share) + 1
        return enough if enough < min(self._samples or inf, self._columns(mode)) else None

    def _hold(self, moment: tuple[int, int]) -> ArraySource:
        """What a core update looks at, in memory, laid out as the update reads it."""
        assert self._subtensors is not None  # noqa: S101 - only subtensors are held
        index = self._subtensors.index(*moment)
        sizes = tuple(len(indices) for indices in index)
        return hold(self._problem.source, index, entry_order(plan_core(sizes, self._problem.rank, moment[1])))

    def _following(self, moment: tuple[int, int]) -> tuple[int, int] | None:
        """The core update after this one; None where something else may be tried first."""
        sweep, mode = moment
        later = self._modes[self._modes.index(mode) + 1 :]
        if later:
            return sweep, later[0]
        return (sweep + 1, 0) if self._steady and sweep < self._solver.sweeps else None

    def _draw_rows(self, mode: int, rng: np.random.Generator) -> Sketch:
        """Single rows of the unfolding, as an order-2 problem: (core k, the product of all others at the rows)."""
        source = self._problem.source
        assert isinstance(source, ArraySource)  # noqa: S101 - checked at the start
        assert self._samples is not None  # noqa: S101
        others = [core for other, core in enumerate(self._cores) if other != mode]
        if self._sampling == "leverage-rows":
            distributions = [leverage_distribution(core) for core in others]
        else:
            distributions = [np.full(core.shape[1], 1.0 / core.shape[1]) for core in others]
        rows, weights = draw_rows(distributions, self._samples, rng)
        row_source = RowSource(source, mode, rows)
        index = tuple(np.arange(length) for length in row_source.shape)
        relative = (weights / weights.mean()).astype(self._dtype)
        cores = [self._cores[mode], row_core(self._cores, mode, rows)]
        return Sketch(row_source, 0, index, cores, relative if self._sampling == "leverage-rows" else None)

    def _judge(self, sketch: Sketch, sweep: int, mode: int) -> Trust | None:
        """Kernel width, loss and mean weight from a small random part of the sketch."""
        if self._regions is None:
            chosen = draw_pilot(sketch.sizes, stream(self._problem.seed, Purpose.PILOT, sweep, mode))
            index = tuple(indices[part] for indices, part in zip(sketch.index, chosen, strict=True))
            source = sketch.source
        else:  # all of a store: the pilot comes from a few chunks
            entries = pilot_entries(sketch.sizes)
            chosen = draw_entries(sketch.source, entries, self._problem.seed, Purpose.PILOT, sweep, mode)
            index = tuple(np.arange(len(part)) for part in chosen)
            source = hold(sketch.source, chosen, tuple(range(len(chosen))))
        cores = [core[:, part, :] for core, part in zip(sketch.cores, chosen, strict=True)]
        pilot = self._stream(Sketch(source, sketch.mode, index, cores)).residuals()
        if not pilot.size:
            return None
        return Trust.of(pilot, self._loss, self._width(pilot))

    def _width(self, pilot: Floats) -> float:
        """The kernel width sigma, in units of the data's size.

        An adaptive width starts at the spread of the data themselves and narrows slowly, so that entries which an
        unfinished model does not reach yet are not taken for outliers.
        """
        width = rule_width(self._solver, pilot, self._size)
        return max(self.penalties.width * width, self._narrowest) if isinstance(self._solver.sigma, str) else width

    def _whole_pass(self, sketch: Sketch, mode: int) -> StreamedPass | RegionPass | SpreadRegions:
        """The pass that core `mode` is updated from."""
        if self._regions is None:
            return self._stream(sketch, mode)

        regions, placement = self._regions, self._placement
        if placement is not None and len(regions.blocks) >= placement.slots:
            return SpreadRegions(regions.blocks, sketch.cores, mode, self._size, placement)

        def over(number: int, cores: list[Core]) -> StreamedPass:
            if self._placement is None:
                held = regions.held(number)
                return self._stream(Sketch(held, mode, tuple(map(np.arange, held.shape)), cores), mode)
            index = tuple(np.arange(span.start, span.stop) for span in regions.blocks[number])
            return self._stream(Sketch(sketch.source, mode, index, cores), mode)

        return RegionPass(regions.blocks, sketch.cores, mode, over)

    def _stream(self, sketch: Sketch, mode: int | None = None) -> StreamedPass:
        """A pass over a sketch: over the one that core `mode` is updated from, or over a pilot."""
        plan = plan_core(sketch.sizes, tuple(core.shape[0] for core in sketch.cores), sketch.mode)
        return StreamedPass(
            sketch.source,
            sketch.index,
            sketch.cores,
            plan,
            scale=self._size,
            row_weights=sketch.row_weights,
            weights_room=self._weights_room if mode is not None and self._plan.cores[mode].keeps_weights else None,
            workspace=self._workspace,
            profile=self.profile,
            placement=None if mode is None else self._placement,
        )

    def _checked_plan(self, rank: tuple[int, ...]) -> FitPlan:
        source = self._problem.source
        plan = self._solver.plan(source.shape, rank, source.dtype, source.chunks)
        check_fits_machine(plan, f"rank {rank} on shape {source.shape}", "give a smaller rank or fewer samples")
        return plan

    def _room_for_weights(self) -> Floats:
        kept = (core.plan.entries for core in self._plan.cores if core.keeps_weights)
        return np.empty(max(kept, default=0), self._dtype)

    def _open_readers(self) -> None:
        source, seed, ahead = self._problem.source, self._problem.seed, self._plan.reads_ahead
        if self._samples is not None:
            uniform = self._sampling == "uniform-subtensor"
            self._subtensors = Subtensors(source, self._samples, seed, uniform=uniform)
            if source.chunks is not None and self._placement is None:  # else the workers read
                self._held = Ahead(self._hold, self._following if ahead else lambda _: None)
        elif source.chunks is not None:
            self._regions = Regions(source, ahead=ahead)

    def _gram(self, sketch: Sketch, mode: int) -> KroneckerSum:
        if self._solver.scaling == "local":
            return GramChain(sketch.cores, self._run).kronecker_without(sketch.mode)
        return self._grams.kronecker_without(mode)

    def _room(self, size: int) -> NDArray[np.float64]:
        """Memory for a Gram matrix, the same for all cores and sweeps: fresh pages would cost as much as filling it."""
        if self._gram_room.size < size * size:
            self._gram_room = np.zeros(size * size)
        return self._gram_room[: size * size].reshape(size, size)

    def _columns(self, mode: int) -> int:
        shape = self._problem.source.shape
        return prod(shape) // shape[mode]

    @property
    def _observed_share(self) -> float:
        return self._problem.survey.observed / prod(self._problem.source.shape)


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0
