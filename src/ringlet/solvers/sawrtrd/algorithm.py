"""A fit by AWRTRD or SAWRTRD under way: scaled steepest descent on one core after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan, prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.execution import Placement, Profile, Threads
from ringlet.ring import GramChain
from ringlet.ring.balance import balanced
from ringlet.ring.chain import Core
from ringlet.robust import LOSSES, Kernel
from ringlet.solvers.base import check_fits_machine, working_dtype
from ringlet.solvers.driver import RunState, SweepReport
from ringlet.solvers.engine.fit_plan import FitPlan
from ringlet.solvers.engine.passes import Passes
from ringlet.solvers.engine.sampler import Draws, check_sampling
from ringlet.solvers.engine.scaled_step import Scaling, descend
from ringlet.solvers.engine.sketch import Sketch, pilot_of
from ringlet.solvers.engine.streamed_pass import refold
from ringlet.solvers.problem import Problem
from ringlet.solvers.ring_snapshot import RingSnapshot
from ringlet.solvers.saved_state import name_cores, recall_cores, recall_number
from ringlet.solvers.sawrtrd.convergence import last_mode_gram, relative_change
from ringlet.solvers.sawrtrd.pilot import NARROWING, Trust, rule_width
from ringlet.solvers.sawrtrd.ridge import automatic_ridge, unknowns_per_entry
from ringlet.solvers.sawrtrd.start import check_representable, given_start, measure, random_start
from ringlet.solvers.tuning.tuned_parameters import Penalties

if TYPE_CHECKING:
    from ringlet.solvers.sawrtrd.settings import RobustRing

__all__ = ["Position", "RobustRun", "Step"]

Floats: TypeAlias = NDArray[np.floating[Any]]

_ENOUGH = 20  # observed entries of a slice for each of its unknowns,
_FEWEST = 1 << 18  # and in all so many entries, observed or not: fewer cost hardly less
_IDLE_SWEEPS = 3  # so many sweeps without a move, on samples that hold data, end a fit


@dataclass(frozen=True)
class Step:
    """What became of a core update: the trust in its sketch, and whether the core moved."""

    trust: Trust
    moved: bool


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
        self.profile = Profile()
        self._loss = LOSSES[solver.loss]
        source = problem.source
        check_sampling(sampling, source, placement)
        self._dtype = working_dtype(source.dtype, solver.dtype)
        self._plan = self._checked_plan(problem.rank)
        scale = self._scale = measure(source, problem.survey, problem.seed)
        self._size = scale.size
        check_representable(scale.size, self._dtype)
        if problem.init is None:
            self._cores = random_start(source.shape, problem.rank, scale.centre, self._dtype, problem.seed)
        else:
            self._cores = given_start(problem.init, source.shape, problem.rank, scale.size, self._dtype)
        self.penalties = solver.penalties(len(source.shape))
        self.sized_for: tuple[int, ...] | None = None  # updates look at what a ring of this rank needs; None: at all
        self._unknowns = unknowns_per_entry(source.shape, problem.rank)
        self._grams = GramChain(self._cores, self._run)
        self._gram_room = np.zeros(0)
        self._passes = Passes(self._size, self._dtype, self.profile)
        self._passes.prepare(self._plan)
        self._draws = self._open(problem)
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
        return self._scale.level

    @property
    def penalty_unit(self) -> float:
        """What penalties are relative to, in mean diagonals of the Gram matrix."""
        return self._scale.penalty_unit

    @property
    def position(self) -> "Position":
        """Where the fit stands; sweeps do not change it afterwards."""
        return Position(tuple(self._cores), self.sigma, self._narrowest, self._shape_gram, self.penalties)

    def go_to(self, position: "Position") -> None:
        """Go on from there: from an earlier position, or from one with other bonds."""
        rank = tuple(core.shape[0] for core in position.cores)
        if rank != self._plan.rank:
            self._plan = self._checked_plan(rank)
            self._passes.prepare(self._plan)
            self._unknowns = unknowns_per_entry(self._problem.source.shape, rank)
            self._cores = list(position.cores)
            self._grams = GramChain(self._cores, self._run)
        for mode, core in enumerate(position.cores):
            if core is not self._cores[mode]:
                self._put(mode, core)
        self.sigma, self._narrowest = position.sigma, position.narrowest
        self._shape_gram, self.penalties = position.shape_gram, position.penalties

    def fresh_start(self, rank: tuple[int, ...], penalties: Penalties, attempt: int) -> "Position":
        """A random place to begin at, another one for every attempt."""
        shape, centre = self._problem.source.shape, self._scale.centre
        cores = random_start(shape, rank, centre, self._dtype, self._problem.seed, attempt)
        return Position(tuple(cores), inf, self._scale.reach, None, penalties)

    def recall_change(self) -> None:
        """Let the next sweep tell its change against the present cores."""
        self._shape_gram = last_mode_gram(self._cores, self._grams)

    def look_at(self, problem: Problem, placement: Placement | None) -> None:
        """Fit this data from now on: the same tensor with other entries observed."""
        self.close()
        self._problem, self._placement = problem, placement
        self._draws = self._open(problem)

    def snapshot(self) -> RingSnapshot:
        """The present model; cores are replaced, never written to, so it need not copy them."""
        return RingSnapshot(tuple(self._cores), self._size, self._problem.survey.empty)

    def close(self) -> None:
        """Stop reading ahead."""
        self._draws.close()

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

    def sweep(self, number: int) -> SweepReport:
        """Update every core once."""
        return self.report([self.update(number, mode) for mode in self._all_modes])

    def update_alone(self, number: int, mode: int) -> None:
        """Update one core, and none after it in a sweep of this number."""
        self._draws.modes = (mode,)
        self.update(number, mode)
        self._draws.modes = self._all_modes

    def update(self, number: int, mode: int) -> Step:
        """Update one core in a sweep of this number."""
        with self.profile.part(f"mode {mode}"):
            trust, core = self._update(number, mode)
            if core is not None:
                self._put(mode, core)
        return Step(trust, moved=core is not None)

    def _put(self, mode: int, core: Core) -> None:
        self._cores[mode] = core
        self._grams.replace(mode, core)

    def report(self, steps: Sequence[Step]) -> SweepReport:
        """Close a sweep that took these steps."""
        trusts = [step.trust for step in steps if step.trust.measured]
        moved = any(step.moved for step in steps)
        before, self._shape_gram = self._shape_gram, last_mode_gram(self._cores, self._grams)
        cores = balanced(self._cores)
        if cores is not None:
            self._cores, self._grams = cores, GramChain(cores, self._run)
        settling = not trusts  # a change of nothing at samples without data means nothing
        if trusts:
            width = trusts[-1].width
            settling = isinstance(self._solver.sigma, str) and width <= self._narrowest < inf
            self.sigma, self._narrowest = width * self._size, NARROWING * width
            self._idle_sweeps = 0 if moved else self._idle_sweeps + 1
        return SweepReport(
            change=relative_change(self._shape_gram, before) * self.level,  # against the data's size, not their level
            loss=_mean([trust.loss for trust in trusts]) * self._size * self._size,
            sigma=self.sigma,
            mean_weight=_mean([trust.mean_weight for trust in trusts]),
            stalled=self._idle_sweeps >= _IDLE_SWEEPS,
            settling=settling,
        )

    def _update(self, sweep: int, mode: int) -> tuple[Trust, Core | None]:
        """The trust in a fresh sketch, and the new core; None if it did not move."""
        sketch = self._draw(sweep, mode)
        trust = self._judge(sketch, sweep, mode)
        streamed, scaling = self._passes.whole(sketch, mode), self._scaling(sketch, trust, mode)
        rows = descend(streamed, self._loss, trust.width, scaling, self._run, self.profile)
        before, _, after = self._cores[mode].shape
        return trust, None if rows is None else refold(rows, before, after)

    def _scaling(self, sketch: Sketch, trust: Trust, mode: int) -> Scaling | None:
        if self._solver.scaling == "none":
            return None
        with self.profile.part("Gram"):
            local = self._solver.scaling == "local"
            grams, place = (GramChain(sketch.cores, self._run), sketch.mode) if local else (self._grams, mode)
            gram = grams.kronecker_without(place)
        shares = self._problem.survey.shares(mode) * (trust.mean_weight * sketch.columns / self._columns(mode))
        shares = shares.astype(self._dtype)[:, np.newaxis]
        ridge, smooth = (self.penalty_unit * strength for strength in (self._ridge(trust), self.penalties.smooth[mode]))
        return Scaling(gram, ridge, smooth, shares, self._room(gram.size))

    def _ridge(self, trust: Trust) -> float:
        """The penalty on a core: as asked, or from how well data determine it."""
        if self.penalties.ridge is not None:
            return self.penalties.ridge
        return automatic_ridge(self._unknowns, trust.mean_weight * self._observed_share)

    def _draw(self, sweep: int, mode: int) -> Sketch:
        """The random part of the data for one core update."""
        few = self._few_columns(mode)
        return self._draws.sketch(self._cores, sweep, mode, few)

    def _few_columns(self, mode: int) -> int | None:
        """As many columns of data in memory as a slice needs, if these are fewer than the solver asks for."""
        if self.sized_for is None or self._problem.source.chunks is not None:
            return None
        unknowns = self.sized_for[mode] * self.sized_for[(mode + 1) % len(self._cores)]
        fewest = _FEWEST // self._problem.source.shape[mode]
        enough = max(int(_ENOUGH * unknowns / self._observed_share), fewest) + 1
        return enough if enough < min(self._samples or inf, self._columns(mode)) else None

    def _judge(self, sketch: Sketch, sweep: int, mode: int) -> Trust:
        """Kernel width, loss and mean weight from a small random part of the sketch, if that holds data."""
        part = pilot_of(sketch, self._problem.seed, sweep, mode, stored=self._draws.regions is not None)
        pilot = self._passes.pilot(part).residuals()
        if not pilot.size:
            return Trust.unmeasured(self.sigma / self._size)
        return Trust.of(pilot, self._loss, self._width(pilot))

    def _width(self, pilot: Floats) -> float:
        """The kernel width sigma, in units of the data's size.

        An adaptive width starts at the spread of the data themselves and narrows slowly, so that entries which an
        unfinished model does not reach yet are not taken for outliers.
        """
        width = rule_width(self._solver, pilot, self._size)
        return max(self.penalties.width * width, self._narrowest) if isinstance(self._solver.sigma, str) else width

    def _checked_plan(self, rank: tuple[int, ...]) -> FitPlan:
        source = self._problem.source
        plan = self._solver.plan(source.shape, rank, source.dtype, source.chunks, judged=not self._steady)
        check_fits_machine(plan, f"rank {rank} on shape {source.shape}", "give a smaller rank or fewer samples")
        return plan

    def _open(self, problem: Problem) -> Draws:
        draws = Draws(
            problem,
            self._placement,
            samples=self._samples,
            sampling=self._sampling,
            ahead=self._plan.reads_ahead,
            last=self._solver.sweeps if self._steady else None,
        )
        self._passes.look_at(draws.regions, self._placement)
        return draws

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
    return sum(numbers) / len(numbers) if numbers else nan
