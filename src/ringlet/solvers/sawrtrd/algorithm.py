"""Algorithm 1 of the paper, with the corrections of docs/methods.md: a state, and the step that leads to the next one.

    for every core k:
        draw index sets I                              RStS: X_I, P_I and the cores at I
        E = X_I - A_k S_I^T                            residuals, on a pilot; from them sigma
        W = exp(-E^2 / (2 sigma^2))
        d = (W o P_I o E) S_I                          gradient
        h = d (G_k + lambda I)^-1                      scaled by the Gram matrix G_k (FGMC)
        eta = <d, h> / || sqrt(W) o P_I o (h S_I^T) ||^2
        A_k <- A_k + eta h
    stop when D = A_N G_N A_N^T changes little

A state is immutable, and a step returns a new one. So a step can be tried, and its result kept or dropped.
The cores are those of the data divided by their range. AWRTRD is the same with all indices.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, isfinite, isnan, nan, prod

import numpy as np

from ringlet.execution import Placement
from ringlet.results.records import SweepReport
from ringlet.results.saved_state import NOT_SAVED
from ringlet.ring import GramChain
from ringlet.ring.arrays import Array64, Mapper
from ringlet.ring.chain import Core, balanced_cores, refold
from ringlet.ring.gram import relative_change
from ringlet.robust import Kernel, PilotStats, WidthRule
from ringlet.solvers.base import Problem, working_dtype
from ringlet.solvers.engine.core_plan import searched_one_of
from ringlet.solvers.engine.device_gram import DeviceSum
from ringlet.solvers.engine.device_solve import DeviceSolve
from ringlet.solvers.engine.engine import Engine, Moment
from ringlet.solvers.engine.fit_plan import FitPlan
from ringlet.solvers.engine.scaled_step import (
    CorePenalty,
    Descent,
    PartialSearch,
    Penalties,
    Penalty,
    Solve,
    scaled_step,
    solver_of,
)
from ringlet.solvers.engine.streamed_pass import Sketch
from ringlet.solvers.engine.subchain import Resources
from ringlet.solvers.sawrtrd.robust_ring import RobustRing
from ringlet.solvers.sawrtrd.start import Scale, check_representable, given_start, measure, random_start

__all__ = ["Algorithm", "CoreReport", "FitState"]

_IDLE_SWEEPS = 3  # sweeps on samples with data in which no core moves; then the fit ends
_RIDGE_OF_ROUGH = 1e-3  # least ridge beside which rounding Gram matrices to the cores' precision does not matter
_ENTRIES_PER_UNKNOWN = 20  # observed entries of a slice for each of its unknowns: enough while a ring is small,
_LEAST_ENTRIES = 1 << 18  # and at least this number of entries in all, observed or not: fewer would cost hardly less


@dataclass(frozen=True)
class FitState:
    """The state of a fit.

    Attributes
    ----------
    cores : tuple of arrays
        Z_1 .. Z_N, of the data divided by their range.
    penalties : Penalties
    sigma : float
        Kernel width of the last sweep, in the data's units; infinite before the first.
    narrowest : float
        The kernel width must not go below this in the present sweep, in data ranges.
    idle_sweeps : int
        Number of sweeps in a row in which no core moved.
    plan : FitPlan
        How updates of a ring of this rank are computed.
    last_gram : array or None
        D after the last sweep; the stop rule compares it with the next.
    enough_for : tuple of int or None
        Updates use only as many entries as a ring of this rank needs; None: as many as the solver asks for.
    """

    cores: tuple[Core, ...]
    penalties: Penalties
    sigma: float
    narrowest: float
    idle_sweeps: int
    plan: FitPlan = field(repr=False, metadata=NOT_SAVED)
    last_gram: Array64 | None = field(default=None, repr=False, metadata=NOT_SAVED)
    enough_for: tuple[int, ...] | None = field(default=None, metadata=NOT_SAVED)


@dataclass(frozen=True)
class CoreReport:
    """The result of a core update: the statistics of its pilot, and whether the core moved."""

    pilot: PilotStats
    moved: bool


@dataclass(frozen=True)
class Look:
    """What one core update has seen of the data; updates under several penalties may share it.

    Attributes
    ----------
    mode : int
    sketch : Sketch
    pilot : PilotStats
    descent : Descent
        The gradient, and the pass that computed it.
    """

    mode: int
    sketch: Sketch
    pilot: PilotStats
    descent: Descent


@dataclass(frozen=True)
class Algorithm:
    """AWRTRD or SAWRTRD on given data.

    Attributes
    ----------
    settings : RobustRing
    problem : Problem
    scale : Scale
        Robust measures of the data.
    engine : Engine
    width_rule : WidthRule
        Of the kernel that weighs entries.
    narrowing : float
        Least factor of the kernel width from one sweep to the next.
    last_sweep : int or None
        The number of the last sweep; None if other sweeps may come between one and the next.
    beside : int
        Bytes that the fit needs for other purposes; plans count them.
    """

    settings: RobustRing
    problem: Problem
    scale: Scale
    engine: Engine
    width_rule: WidthRule
    narrowing: float
    last_sweep: int | None = None
    beside: int = 0

    def sweep(self, state: FitState, number: int) -> tuple[FitState, SweepReport]:
        """Update every core once, in a sweep of this number."""
        grams, reports, order = self.grams(state), [], len(state.cores)
        for k in range(order):
            then: Moment | None = (number, k + 1)  # the update that follows
            if k + 1 == order:
                then = (number + 1, 0) if self.last_sweep is not None and number < self.last_sweep else None
            state, grams, report = self.update(state, grams, self.look(state, grams, (number, k), then))
            reports.append(report)
        return self.report(state, grams, reports)

    def look(self, state: FitState, grams: GramChain, moment: Moment, then: Moment | None = None) -> Look:
        """What an update sees of the data; of the penalties only the kernel width counts.

        Parameters
        ----------
        state : FitState
        grams : GramChain
            Of the state's cores.
        moment : (int, int)
            Number of the sweep, and mode k.
        then : (int, int), optional
            The update that follows, if it is known.
        """
        engine, k = self.engine, moment[1]
        then = then if state.plan.reads_ahead else None  # with wider bonds a memory budget may have no room for it
        columns = None if state.enough_for is None else self._few_columns(state.enough_for, k)
        with engine.resources.part(f"mode {k}"):
            sketch = engine.sample(grams.cores, moment, columns=columns, then=then)  # X_I, P_I
            residuals, size = engine.pilot_residuals(sketch, moment), self.scale.data_range
            pilot = PilotStats(Kernel(state.sigma / size, self.width_rule.loss))  # as before, where nothing is observed
            if residuals.size:
                pilot = self.width_rule.pilot(residuals, size, state.narrowest, state.penalties.width)  # sigma
            data = engine.pass_over(sketch, k, state.plan)
            d, weights = data.gradient(pilot.kernel)  # d = (W o P o (X - A S^T)) S
        return Look(k, sketch, pilot, Descent(data, d, weights))

    def update(
        self, state: FitState, grams: GramChain, look: Look, *, again: bool = False
    ) -> tuple[FitState, GramChain, CoreReport]:
        """Update the core that was looked at; `again`: the look serves another update, too."""
        rows, k, pilot = None, look.mode, look.pilot
        with self.engine.resources.part(f"mode {k}"):
            penalty, solve = self._scaling(state, grams, look.sketch, pilot, k)  # G_k, lambda
            if solve is not None or self.settings.scaling == "none":
                search = self._search(look.sketch, penalty) if state.plan.cores[k].searched_one_of > 1 else None
                rows = scaled_step(look.descent, penalty, solve, self.mapper, search, again=again)  # A_k + eta h
        if rows is None:
            return state, grams, CoreReport(pilot, moved=False)
        before, _, after = state.cores[k].shape
        core = refold(rows, before, after, grams.xp)
        state = replace(state, cores=(*state.cores[:k], grams.host(core), *state.cores[k + 1 :]))
        return state, grams.with_core(k, core), CoreReport(pilot, moved=True)

    def grams(self, state: FitState) -> GramChain:
        """The Gram matrices of the ring; as exact as solves need them where there is a ridge and data are near zero."""
        ridge = state.penalties.ridge
        shifted = (ridge is None or ridge >= _RIDGE_OF_ROUGH) and self.scale.level == 1.0
        return self.engine.resources.grams(state.cores, rough=shifted and self.settings.solve == "auto")

    def report(self, state: FitState, grams: GramChain, reports: Sequence[CoreReport]) -> tuple[FitState, SweepReport]:
        """End a sweep: the state from which the next one begins, and a report to the driver."""
        data_range = self.scale.data_range
        pilots = [report.pilot for report in reports if not isnan(report.pilot.loss)]  # those that held data
        gram = grams.unfolding_gram(len(state.cores) - 1)  # D = A_N G_N A_N^T
        change = relative_change(gram, state.last_gram) * self.scale.level  # against the data's range, not their level
        count = len(pilots) or nan
        settling = not pilots  # samples without data say nothing about convergence
        sigma, narrowest, idle = state.sigma, state.narrowest, state.idle_sweeps
        if pilots:
            width = pilots[-1].kernel.width
            settling = pilots[-1].settling
            sigma, narrowest = width * data_range, self.narrowing * width
            idle = 0 if any(report.moved for report in reports) else idle + 1
        cores = tuple(balanced_cores(state.cores) or state.cores)
        state = replace(state, cores=cores, sigma=sigma, narrowest=narrowest, idle_sweeps=idle, last_gram=gram)
        return state, SweepReport(
            change=change,
            loss=sum([pilot.loss for pilot in pilots]) / count * data_range * data_range,
            sigma=sigma,
            mean_weight=sum([pilot.mean_weight for pilot in pilots]) / count,
            stalled=idle >= _IDLE_SWEEPS,
            distrusts=sum([pilot.mean_weight for pilot in pilots]) < 0.5 * len(pilots),
            settling=settling,
        )

    @classmethod
    def of(
        cls, settings: RobustRing, problem: Problem, resources: Resources, *, tuned: bool = False, beside: int = 0
    ) -> "Algorithm":
        """Measure the data, and open them for reading. In a fit that is `tuned`, sweeps need not follow each other."""
        plan = settings.plan_of(problem, problem.rank, beside)
        scale = measure(problem.source, problem.survey, problem.seed)
        check_representable(scale.data_range, working_dtype(problem.source.dtype, settings.dtype))
        engine = Engine(problem, settings.sampling_rule(), scale.data_range, resources, reads_ahead=plan.reads_ahead)
        rule, last_sweep = settings.width_rule(), None if tuned else settings.sweeps
        narrowing = rule.narrowing(scale.data_range, settings.sweeps)
        return cls(settings, problem, scale, engine, rule, narrowing, last_sweep, beside)

    def init(self, rank: tuple[int, ...] | None = None, attempt: int = 0) -> FitState:
        """The first state of a fit: given cores, or a nearly constant tensor, which differs between attempts."""
        problem, scale, settings = self.problem, self.scale, self.settings
        shape, dtype = problem.source.shape, working_dtype(problem.source.dtype, settings.dtype)
        # The least width of the first sweep keeps what stands out from a background. A fixed width begins at the range.
        narrowest = scale.reach if self.width_rule.rule is not None else 1.0
        if problem.init is not None and rank is None:
            cores = given_start(problem.init, shape, problem.rank, scale.data_range, dtype)
            narrowest = 0.0
        else:
            cores = random_start(shape, rank or problem.rank, scale.centre, dtype, problem.seed, attempt)
        bonds = tuple([core.shape[0] for core in cores])
        plan = settings.plan_of(problem, bonds, self.beside)
        return FitState(tuple(cores), settings.penalties(len(shape)), inf, narrowest, 0, plan)

    def with_cores(self, state: FitState, cores: Sequence[Core]) -> FitState:
        """The state with other cores, perhaps with other bonds."""
        plan = self.settings.plan_of(self.problem, tuple([core.shape[0] for core in cores]), self.beside)
        return replace(state, cores=tuple(cores), plan=plan)

    def with_kernel(self, kernel: bool) -> "Algorithm":
        """The same with the solver's kernel, or with least squares."""
        rule = self.settings.width_rule()
        return replace(self, width_rule=rule if kernel else replace(rule, rule=None, fixed=inf))

    def on(self, problem: Problem, placement: Placement | None) -> "Algorithm":
        """The same for the same tensor with other observed entries; this one reads nothing more."""
        self.engine.close()
        rule, resources = self.settings.sampling_rule(), replace(self.engine.resources, placement=placement)
        plan = self.settings.plan_of(problem, problem.rank, self.beside)
        engine = Engine(problem, rule, self.scale.data_range, resources, reads_ahead=plan.reads_ahead)
        return replace(self, problem=problem, engine=engine)

    @cached_property
    def mapper(self) -> Mapper:
        """Used like `map` for independent pieces of work."""
        return self.engine.resources.mapper

    def _scaling(
        self, state: FitState, grams: GramChain, sketch: Sketch, pilot: PilotStats, k: int
    ) -> tuple[Penalty | None, Solve | None]:
        """The penalties on core k, and what scales its gradient; (None, None) without scaling, or if G_k is zero."""
        settings, survey, shape = self.settings, self.problem.survey, self.problem.source.shape
        if settings.scaling == "none":
            return None, None
        resources, local = self.engine.resources, settings.scaling == "local"
        grams, place = (resources.grams(sketch.cores), sketch.mode) if local else (grams, k)
        with self.engine.resources.part("Gram"):
            gram = grams.without(place)  # G_k = S_k^T S_k
        unknowns = state.cores[k].shape[0] * state.cores[k].shape[2]
        level = gram.trace() / unknowns
        if not (isfinite(level) and level > 0.0):
            return None, None
        trusted = pilot.mean_weight * (survey.observed / prod(shape))
        strength = state.penalties.ridge_for(state.plan.unknowns, trusted)
        ridge = self.scale.penalty_unit * strength * level
        smooth = self.scale.penalty_unit * state.penalties.smooth[k] * level
        part = pilot.mean_weight * (prod(sketch.sizes) // shape[k]) / (prod(shape) // shape[k])  # that counts
        shares = (survey.shares[k] * part).astype(state.cores[k].dtype)[:, np.newaxis]
        planned, profile, room = state.plan.cores[k].solve, resources.profile, None
        exact = planned.exact_smooth if smooth else planned.exact
        if isinstance(gram, DeviceSum):
            there, mean = gram.place.put(shares), float(shares.mean())
            scale: Solve = DeviceSolve(gram, ridge, smooth, exact)
            return CorePenalty(ridge, smooth, there, mean=mean, xp=grams.xp), scale
        if exact:  # all cores and sweeps use this memory for G: new pages would cost as much as filling them
            room = np.asarray(resources.workspace.array("Gram", (unknowns, unknowns), np.dtype("f8")), np.float64)
        solve = solver_of(gram, ridge, smooth, self.mapper, room, exact=exact)
        solve = solve if profile is None else profile.timed("solve", solve)
        return CorePenalty(ridge, smooth, shares, self.mapper), solve

    def _search(self, sketch: Sketch, penalty: Penalty | None) -> PartialSearch | None:
        """How to search some slices only; None: all are searched. A sketch may be smaller than planned."""
        if not isinstance(penalty, CorePenalty):
            return None
        one_of, device = searched_one_of(prod(sketch.sizes), sketch.sizes[sketch.mode]), self.engine.resources.device
        if device is None:
            return PartialSearch(one_of, penalty.shares)
        shares = penalty.shares if isinstance(penalty.shares, np.ndarray) else device.place.fetch(penalty.shares)
        return PartialSearch(one_of, shares, device.place)

    def _few_columns(self, rank: tuple[int, ...], k: int) -> int | None:
        """The columns of data in memory that a slice needs, if these are fewer than the solver asks for."""
        source = self.problem.source
        if source.chunks is not None:
            return None
        columns, length = prod(source.shape) // source.shape[k], source.shape[k]
        unknowns = rank[k] * rank[(k + 1) % len(rank)]
        observed = self.problem.survey.observed / prod(source.shape)
        enough = max(int(_ENTRIES_PER_UNKNOWN * unknowns / observed), _LEAST_ENTRIES // length) + 1
        return enough if enough < min(self.settings.sampling_rule().samples or inf, columns) else None
