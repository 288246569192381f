"""A fit that chooses its rank, penalties and kernel width by entries that it does not see.

Every round is a sweep that continues from the last one. In it cores are updated twice, as they would be
anyway and with a penalty changed; after it wider bonds are tried. What the held-out entries prefer is kept; nothing is
fitted twice.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from math import inf, isnan, nan, prod

from ringlet.errors import ArgumentError, DataWarning, FormatError, warn
from ringlet.execution import Placement, Threads
from ringlet.results.records import RunState, SweepReport
from ringlet.results.ring_snapshot import RingSnapshot
from ringlet.results.saved_state import by_name, from_names
from ringlet.ring import TensorRing
from ringlet.robust import Kernel
from ringlet.solvers.base import Problem, first_look
from ringlet.solvers.engine.subchain import Resources
from ringlet.solvers.sawrtrd.algorithm import Algorithm
from ringlet.solvers.sawrtrd.penalties import Penalties
from ringlet.solvers.sawrtrd.robust_ring import RobustRing
from ringlet.solvers.sawrtrd.run import resumed_state
from ringlet.solvers.sawrtrd.start import Scale, given_start
from ringlet.solvers.tuning.bond_growth import BondGrowth, GrowthState
from ringlet.solvers.tuning.holdout import HoldoutMask, hide, holdout_memory
from ringlet.solvers.tuning.hole_guides import guide_holes
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.restarts import find_restart
from ringlet.solvers.tuning.trials import Candidate, Trial, Trials
from ringlet.solvers.tuning.tuned_parameters import TunedParameters, Tuning, TuningState, open_parameters
from ringlet.solvers.tuning.validator import Validator

__all__ = ["CoarseStart", "TunedRun", "hold_out", "start_tuned"]

_FIRST_RIDGE = 0.01
_FAST = 0.7  # dB a sweep: above, it is too early to see what helps
_PROGRESS = 0.1  # dB that have to be gained within
_PATIENCE = 3  # rounds, or else the fit ends
_SURE = 2.0  # standard errors by which a ring to begin with has to be better
_LAST_SWEEPS = 2  # with all entries, at the end
_LEAST_SQUARES = 1e3  # factor of the kernel width that makes weights one
_LEAST_SQUARES_SWEEPS = 4  # with it, at the end
_HOPELESS = -2.0  # dB after any of these sweeps: there are outliers


@dataclass(frozen=True)
class CoarseStart:
    """A ring of the whole data to begin with, in their units, and penalties to continue with."""

    ring: TensorRing
    penalties: Penalties


@dataclass(frozen=True)
class ControllerState:
    """What the next round's choice depends on, beside the state of the fit.

    Attributes
    ----------
    last_gain : float
        Of a sweep, in dB.
    gained : float
        dB since progress was seen last, and
    rounds_idle : int
        rounds.
    closing : int
        Sweeps with all entries.
    restarted, least_squares : bool
        Whether other starts, and least squares, have been tried.
    growth : GrowthState
    parameters : TuningState
    """

    growth: GrowthState
    parameters: TuningState
    last_gain: float = inf
    gained: float = 0.0
    rounds_idle: int = 0
    closing: int = 0
    restarted: bool = False
    least_squares: bool = False


def hold_out(
    problem: Problem, policy: TuningPolicy, budget: int | None = None
) -> tuple[Problem, Problem, Validator, HoldoutMask]:
    """The problem with guides in large holes, the same without a few entries, and who knows which these are."""
    whole, observed = problem.source, problem.survey.observed
    validator, mask = Validator.of(whole, observed, problem.seed, together=policy.holds_out_together)
    seen = hide(whole, mask)
    if policy.hole_guides and observed < prod(whole.shape):
        whole = guide_holes(whole, seen, problem.seed, budget)
        seen = hide(whole, mask)
    survey = first_look(seen, problem.executor)
    return replace(problem, source=whole), replace(problem, source=seen, survey=survey), validator, mask


@contextmanager
def start_tuned(
    solver: RobustRing,
    problem: Problem,
    policy: TuningPolicy,
    coarse_start: Callable[[RobustRing, Problem, Threads, float], CoarseStart | None],
) -> Iterator["TunedRun"]:
    """Begin a fit in which held-out entries decide; the driver sweeps it.

    Parameters
    ----------
    solver : RobustRing
    problem : Problem
    policy : TuningPolicy
    coarse_start : callable
        Gives a ring to begin with, and penalties; or None.
    """
    rule = solver.sampling_rule()
    if rule.by_rows:
        raise ArgumentError(f"sampling={rule.method!r} needs a given rank and a given smooth, not 'auto'")
    whole, seen, validator, _ = hold_out(problem, policy, solver.budget)
    beside = holdout_memory(problem.source.shape, stored=problem.source.chunks is not None)
    with ExitStack() as stack:
        threads = stack.enter_context(Threads(solver.threads))
        resources = Resources(threads.run, stack.enter_context(seen.place()))
        run = TunedRun(
            whole,
            Algorithm.of(solver, seen, resources, tuned=True, beside=beside),
            validator,
            policy,
            place=lambda: stack.enter_context(whole.place()),
            coarse_start=lambda deadline: coarse_start(solver, seen, threads, deadline),
        )
        stack.enter_context(closing(run))
        yield run
        run.warn_if_missed()


class TunedRun:
    """A fit that chooses, as the driver sees it.

    Parameters
    ----------
    whole : Problem
        With all entries.
    algorithm : Algorithm
        On the problem that `hold_out` gives.
    validator : Validator
        Of the entries that the algorithm does not see.
    policy : TuningPolicy
    place : callable
        Puts all entries on the cluster, if there is one, when they are needed.
    coarse_start : callable
        Gives a ring to begin with, and penalties; or None. It is told the time by which the fit should end.
    """

    def __init__(
        self,
        whole: Problem,
        algorithm: Algorithm,
        validator: Validator,
        policy: TuningPolicy,
        place: Callable[[], Placement | None] = lambda: None,
        coarse_start: Callable[[float], CoarseStart | None] = lambda _: None,
    ) -> None:
        solver, scale, choice = algorithm.settings, algorithm.scale, whole.choice
        self._whole = whole
        self._policy = policy
        self._hurried: RunState | None = None  # the state when the time ran out
        self._ends = solver.tol > 0  # tol=0 asks for all sweeps
        self._place = place
        self._coarse_start = coarse_start
        first = algorithm.init()
        if solver.ridge == "auto":
            first = replace(first, penalties=replace(first.penalties, ridge=_FIRST_RIDGE))
        self._first_penalties = first.penalties
        dtype = first.cores[0].dtype
        self._trials = Trials(algorithm, validator.scaled(scale.data_range, scale.level, dtype))
        self._best = self._trials.candidate(first, SweepReport(change=inf, loss=nan))
        self._open = open_parameters(solver, whole.source.shape)
        self._parameters = TunedParameters(self._open)
        most = 0 if choice is None else choice.most_parameters(whole.source.shape, dtype.itemsize)
        self._growth = BondGrowth(whole, most)
        restarted = not policy.restarts or choice is not None or whole.init is not None  # growing bonds need none
        self._rounds = ControllerState(self._growth.state, self._parameters.state, restarted=restarted)
        self._size()

    @property
    def scale(self) -> Scale:
        """Robust measures of the data."""
        return self._trials.algorithm.scale

    @property
    def kernel(self) -> Kernel:
        """Loss and width, in the data's units."""
        return Kernel(self._best.state.sigma, self._trials.algorithm.settings.kernel_loss)

    @property
    def penalties(self) -> Penalties:
        """Those of the present model."""
        return self._best.state.penalties

    def snapshot(self) -> RingSnapshot:
        """The present model: never one that is only tried."""
        return RingSnapshot(self._best.state.cores, self.scale.data_range, self._whole.survey.empty)

    def prepare(self, deadline: float) -> None:
        """Go to the coarse ring, if there is one that is better than a nearly constant tensor."""
        start = self._coarse_start(deadline)
        if start is None:
            return
        state, trials = self._best.state, self._trials
        cores = given_start(start.ring, start.ring.shape, start.ring.rank, self.scale.data_range, state.cores[0].dtype)
        coarse = replace(trials.algorithm.with_cores(state, cores), penalties=start.penalties)
        candidate = trials.candidate(coarse, self._best.report)
        if trials.compare(candidate, self._best).certainty > _SURE:
            self._best = candidate
            self._size()

    def sweep(self, number: int) -> SweepReport:
        """One round."""
        if (
            self._hurried is not None
            or self._rounds.closing
            or (self._idle() and not self._begins_again(number) and not self._tries_least_squares(number))
        ):
            return self._close(number)
        before = self._best
        self._best, tuning = self._swept(number)
        gain = self._trials.compare(self._best, before).gain
        self._rounds = replace(self._rounds, last_gain=gain)
        if self._growth.state.ended:
            self._note_progress(gain)
        else:
            self._grow(number, gain, tuning)
        error = self._trials.error(self._best) * self.scale.data_range
        return replace(self._best.report, settling=True, stalled=False, held_out=error)

    def hurry(self) -> None:
        """Continue with all entries, and end. A checkpoint keeps the state before: with more time the fit goes on."""
        if self._hurried is None:
            self._hurried = self.state()

    def _swept(self, number: int) -> tuple[Candidate, Tuning]:
        """Where a sweep leads in which parameters are tried, and what became of them."""
        growth = self._growth.state
        waiting: tuple[str, ...] = ()
        # A model of too small a rank would take for wrong what it cannot reach: the width waits until wider bonds bring
        # nothing, and smoothness while they bring much. The ridge does not: bonds must not make up for a large one.
        if not growth.ended and not growth.failed:
            waiting = ("width", "smooth") if growth.eager else ("width",)
        due = self._parameters.due(self._best.parameters, waiting)
        if not due:
            return self._trials.swept(self._best.state, number), Tuning.DONE
        if self._rounds.last_gain > _FAST:  # too early to see what helps
            return self._trials.swept(self._best.state, number), Tuning.EARLY
        best, helped = self._trials.tuned(self._best, number, self._parameters, due)
        return best, Tuning.HELPED if helped else Tuning.IN_VAIN

    def _grow(self, number: int, gain: float, tuning: Tuning) -> None:
        before = self._best
        self._best = self._growth.grown(self._trials, before, gain, number, tuning)
        if self._best.parameters > before.parameters and self._policy.rule_width_after_growth:
            self._best = self._with_rule_width(self._best, number)
        if self._growth.state.ended:
            self._best = self._growth.trimmed(self._trials, self._best, number)
            self._rounds = replace(self._rounds, gained=0.0, rounds_idle=0)
        self._size()

    def _with_rule_width(self, best: Candidate, number: int) -> Candidate:
        """A sweep with the rule's kernel width again, if that is better for a ring that has grown since narrowing it.

        What a small ring had to take for wrong may be what a larger one is to describe.
        """
        state = best.state
        if state.penalties.width >= 1.0 or not self._parameters.awake("width", best.parameters):
            return best
        wide = replace(state, penalties=replace(state.penalties, width=1.0))
        relaxed, narrow = (self._trials.swept(start, number, Trial.RULE_WIDTH) for start in (wide, state))
        return relaxed if self._trials.compare(relaxed, narrow).gain > 0 else narrow

    def _size(self) -> None:
        """While bonds grow, look at what the next larger ring needs, so that this one and that one see the same."""
        rank = self._growth.next_rank(self._trials, self._best)
        self._best = replace(self._best, state=replace(self._best.state, enough_for=rank))

    def _begins_again(self, number: int) -> bool:
        """Begin anew, once, if a fit of a given rank stands still although the rank could do better."""
        if self._rounds.restarted:
            return False
        self._rounds = replace(self._rounds, restarted=True)
        restart = find_restart(self._trials, self._best, self._first_penalties, number)
        if restart is not None:
            self._go_on_from(restart)
        return restart is not None

    def _tries_least_squares(self, number: int) -> bool:
        """Continue with least squares, once, if these come nearer to entries that have been taken for wrong."""
        if self._rounds.least_squares or not self._trials.algorithm.settings.tunes_width:
            return False
        self._rounds = replace(self._rounds, least_squares=True)
        candidate, state = self._best, self._best.state
        state = replace(state, penalties=replace(state.penalties, width=_LEAST_SQUARES))
        for step in range(_LEAST_SQUARES_SWEEPS):
            candidate = self._trials.swept(state, number, Trial.LEAST_SQUARES + step)
            state = candidate.state
            gained = self._trials.compare(candidate, self._best).gain
            if gained < _HOPELESS:
                return False
        if gained < self._policy.least_squares_gain_db:
            return False
        if self._whole.choice is not None:
            self._growth.begin_again()
        self._go_on_from(candidate)
        self._size()
        return True

    def _go_on_from(self, candidate: Candidate) -> None:
        self._best = candidate
        self._parameters = TunedParameters(self._open)
        self._rounds = replace(self._rounds, rounds_idle=0)

    def _idle(self) -> bool:
        resting = not self._parameters.due(self._best.parameters)
        return self._ends and self._rounds.rounds_idle >= _PATIENCE - resting

    def _note_progress(self, gain: float) -> None:
        """Count rounds since the last gain that is worth going on for."""
        gained, idle = self._rounds.gained + gain, self._rounds.rounds_idle
        if gained > _PROGRESS:
            gained, idle = 0.0, 0
        elif not self._best.report.settling:
            idle += 1
        self._rounds = replace(self._rounds, gained=gained, rounds_idle=idle)

    def warn_if_missed(self) -> None:
        """Say so if the target was not reached."""
        choice = self._whole.choice
        if choice is None or choice.psnr is None or self._growth.reached(self._trials, self._best):
            return
        psnr = self._growth.psnr(self._trials, self._best)
        why = "too few entries to hold some out" if isnan(psnr) else f"{psnr:.1f} dB on held-out entries"
        warn(f"target(psnr={choice.psnr}) was not reached: {why}, with rank {self._best.state.rank}", DataWarning)

    def _close(self, number: int) -> SweepReport:
        """A sweep with all entries; the last ones."""
        if not self._rounds.closing:
            self._see_all()
        self._rounds = replace(self._rounds, closing=self._rounds.closing + 1)
        self._best = self._trials.swept(self._best.state, number)
        return replace(
            self._best.report, settling=True, converged=self._rounds.closing >= _LAST_SWEEPS and self._hurried is None
        )

    def _see_all(self) -> None:
        algorithm = self._trials.algorithm.on(self._whole, self._place())
        self._trials = replace(self._trials, algorithm=algorithm)

    def close(self) -> None:
        """Stop reading ahead."""
        self._trials.algorithm.engine.close()

    def state(self) -> RunState:
        """The present state, and what the next round's choice depends on."""
        if self._hurried is not None:
            return self._hurried
        rounds = replace(self._rounds, growth=self._growth.state, parameters=self._parameters.state)
        return by_name(self._best.state) | by_name(rounds, "tuning.")

    def resume(self, state: RunState) -> None:
        """Continue from a state."""
        self._rounds = from_names(self._rounds, state, "tuning.")
        if sorted(self._rounds.parameters.queue) != list(range(len(self._open))):
            raise FormatError("'tuning.parameters.queue' of the state is not an order of the tuned parameters")
        self._growth.state, self._parameters.state = self._rounds.growth, self._rounds.parameters
        if self._rounds.closing:
            self._see_all()
        resumed = resumed_state(self._trials.algorithm, self._best.state, state)
        self._best = self._trials.candidate(resumed, self._best.report)
        self._size()
