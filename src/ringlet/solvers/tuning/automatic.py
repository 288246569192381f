"""Automatic fits, for the driver: the error at held-out entries chooses the settings."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from math import inf, isnan, log10, nan
from time import perf_counter

from ringlet.errors import ArgumentError, DataWarning, FormatError, warn
from ringlet.execution import Placement, Threads
from ringlet.results.records import RunState, SweepReport
from ringlet.results.ring_snapshot import RingSnapshot
from ringlet.results.saved_state import by_name, from_names, saved_array
from ringlet.robust import Kernel
from ringlet.solvers.base import Problem
from ringlet.solvers.engine.subchain import Resources
from ringlet.solvers.rank_choice import RankChoice
from ringlet.solvers.sawrtrd.algorithm import Algorithm
from ringlet.solvers.sawrtrd.robust_ring import RobustRing
from ringlet.solvers.sawrtrd.run import resumed_state
from ringlet.solvers.sawrtrd.start import given_start
from ringlet.solvers.tuning.bond_growth import BondGrowth
from ringlet.solvers.tuning.coarse_start import coarse_start
from ringlet.solvers.tuning.entry_weights import EntryWeights
from ringlet.solvers.tuning.holdout import holdout_memory
from ringlet.solvers.tuning.judging import Judge, can_judge, judge_for, judging_memory, without_stuck_entries
from ringlet.solvers.tuning.path import PathRules
from ringlet.solvers.tuning.path_state import Path, PathState, Phase, rungs_by_name, saved_rungs
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.snapshot import AutomaticSnapshot
from ringlet.solvers.tuning.trials import Trials
from ringlet.solvers.tuning.tuned_parameters import TunedParameters, open_parameters
from ringlet.solvers.tuning.validator import HeldOut, hold_out

__all__ = ["PathRun", "start_automatic"]


@contextmanager
def start_automatic(solver: RobustRing, problem: Problem, policy: TuningPolicy) -> Iterator["PathRun"]:
    """Begin an automatic fit; the driver sweeps it."""
    rule = solver.sampling_rule()
    if rule.by_rows:
        raise ArgumentError(f"sampling={rule.method!r} needs a given rank and a given smooth, not 'auto'")
    problem = without_stuck_entries(solver, policy, problem)
    held = hold_out(problem, policy, solver.budget)
    shape, stored = problem.source.shape, problem.source.chunks is not None
    beside = holdout_memory(shape, stored=stored)
    if can_judge(solver, policy, problem):
        beside += judging_memory(solver, policy, shape, stored=stored)
    with ExitStack() as stack:
        threads = stack.enter_context(Threads(solver.threads))
        device = stack.enter_context(problem.open_device())
        resources = Resources(threads.run, stack.enter_context(held.seen.place()), device=device)
        algorithm = Algorithm.of(solver, held.seen, resources, tuned=True, beside=beside)
        judge = judge_for(solver, policy, held, algorithm.scale.data_range)
        run = PathRun(held, algorithm, policy, judge, place=lambda of: stack.enter_context(of.place()))
        stack.enter_context(closing(run))
        yield run
        run.warn_if_missed()


class PathRun:
    """A running automatic fit.

    Parameters
    ----------
    held : HeldOut
    algorithm : Algorithm
        On the problem without the held-out entries.
    policy : TuningPolicy
    judge : Judge or None
        None: a kernel gives entries their weights.
    place : callable
        Puts the entries of a problem on the cluster, if there is one.
    """

    def __init__(
        self,
        held: HeldOut,
        algorithm: Algorithm,
        policy: TuningPolicy,
        judge: Judge | None = None,
        place: Callable[[Problem], Placement | None] = lambda _: None,
    ) -> None:
        solver, scale, whole, choice = algorithm.settings, algorithm.scale, held.whole, held.whole.choice
        self._held, self._scale, self._policy = held, scale, policy
        self._hurried: RunState | None = None  # the state when the time ran out
        first = algorithm.init()
        if solver.ridge == "auto":
            first = replace(first, penalties=replace(first.penalties, ridge=policy.first_ridge))
        shape, dtype = whole.source.shape, first.cores[0].dtype
        trials = Trials(algorithm, held.validator.scaled(scale.data_range, scale.level, dtype))
        most = 0 if choice is None else choice.most_parameters(shape, dtype.itemsize)
        self._rules = PathRules(
            whole,
            policy,
            EntryWeights(held, trials.validator, policy, judge, place),
            BondGrowth(shape, choice or RankChoice(), most, policy),
            tuple(open_parameters(solver, shape, tunes_width=judge is None and policy.tunes_width)),
            first.penalties,
            scale.data_range,
            ends=solver.tol > 0,  # tol=0 means all sweeps
            began=perf_counter(),
        )
        at = PathState(
            TunedParameters(self._rules.parameters).state,
            Phase.POLISHING if choice is None else Phase.GROWING,
            restarted=not policy.restarts or choice is not None or whole.init is not None,  # bonds that grow need none
        )
        start = trials.candidate(first, SweepReport(change=inf, loss=nan))
        self._path = self._rules.sized(Path(at, trials, start, start))

    def prepare(self, deadline: float) -> None:
        """Start from the ring of block medians, if it is better than a nearly constant tensor."""
        rules, path, now = self._rules, self._path, self._path.now
        self._rules = replace(rules, entries=replace(rules.entries, deadline=deadline))
        algorithm = path.trials.algorithm
        start = coarse_start(start_automatic, algorithm.settings, algorithm.problem, self._policy, deadline)
        if start is None:
            return
        shape, dtype = start.ring.shape, now.state.cores[0].dtype
        cores = given_start(start.ring, shape, start.ring.rank, self._scale.data_range, dtype)
        state = replace(algorithm.with_cores(now.state, cores), penalties=start.penalties)
        coarse = path.trials.candidate(state, now.report)
        if path.trials.compare(coarse, now).certainty > self._policy.sure:
            path = rules.sized(replace(path, now=coarse, best=coarse))
            if rules.entries.outdated(path):  # a kernel, which begins wide, would take the ring away from right entries
                path = rules.entries.judged(path, 0)
            self._path = path

    def sweep(self, number: int) -> SweepReport:
        """One round: a sweep, and what follows from it."""
        rules = self._rules
        if self._hurried is not None or self._path.at.phase is Phase.CLOSING:
            return self._closing_sweep(number)
        path = rules.swept(self._path, number)
        path = rules.climbed(path, number) if path.at.phase is Phase.GROWING else rules.polished(path, number)
        self._path = path
        growing, error = path.at.phase is Phase.GROWING, path.trials.error(path.now)
        ring = f"ring {len(path.rungs) + 1}" if growing else "last ring"
        quality = f", {-20 * log10(error):.1f} dB" if error > 0 else ""
        return replace(
            path.now.report,
            settling=True,
            stalled=False,
            held_out=error * self._scale.data_range,
            stage=f"{ring}: {path.now.parameters:,} numbers{quality}",
            growing=growing,
        )

    def _closing_sweep(self, number: int) -> SweepReport:
        """A sweep with all entries; the last ones."""
        path = self._path if self._path.at.phase is Phase.CLOSING else self._rules.closing(self._path)
        now = path.trials.swept(path.now.state, number)
        self._path = replace(path, now=now).moved(sweeps=path.at.sweeps + 1)
        ended = self._path.at.sweeps >= self._policy.closing_sweeps and self._hurried is None
        return replace(now.report, settling=True, converged=ended, stage="last sweeps with all entries")

    def hurry(self) -> None:
        """Continue with all entries, and end. A checkpoint keeps the state before: with more time the fit goes on."""
        if self._hurried is None:
            self._hurried = self.state()
            self._path = replace(self._path, now=self._rules.better(self._path))

    def snapshot(self) -> AutomaticSnapshot:
        """The present model."""
        path, scale, empty = self._path, self._scale, self._held.whole.survey.empty
        state, honest = path.now.state, None
        if path.now.residuals.size:
            honest = RingSnapshot(path.honest or state.cores, scale.data_range, empty)
        return AutomaticSnapshot(
            state.cores,
            scale.data_range,
            empty,
            Kernel(state.sigma, path.trials.algorithm.settings.kernel_loss),
            scale=scale,
            penalties=state.penalties,
            path=path.rungs,
            honest=honest,
            unseen=self._held.mask,
            judged=self._rules.entries.judge is not None,
            judged_beside=path.judged,
        )

    def warn_if_missed(self) -> None:
        """Warn if the target was not reached."""
        choice, now, validator = self._held.whole.choice, self._path.now, self._path.trials.validator
        if choice is None or choice.psnr is None or choice.parameters is not None:  # the ring of medians is a start
            return
        psnr = validator.psnr(now.state.cores, choice)
        if psnr >= choice.psnr:
            return
        why = "too few entries to hold some out" if isnan(psnr) else f"{psnr:.1f} dB"
        right = validator.psnr(now.state.cores, replace(choice, trusted=True))
        if not choice.trusted and right > psnr + 1:  # dB: wrong entries matter
            why += f", {right:.1f} dB without those judged wrong, which trusted=True leaves out"
        warn(f"target(psnr={choice.psnr}) was not reached: {why}, with rank {now.state.plan.rank}", DataWarning)

    def close(self) -> None:
        """Stop reading ahead."""
        self._path.trials.algorithm.engine.close()

    def state(self) -> RunState:
        """The present state, and what the next round depends on."""
        if self._hurried is not None:
            return self._hurried
        path, order = self._path, len(self._held.whole.source.shape)
        saved = by_name(path.now.state) | by_name(path.best.state, "best.") | by_name(path.at, "path.")
        saved |= rungs_by_name(path.rungs, order)
        if path.judgement is not None:
            saved |= path.judgement.state()
        return saved | {f"honest.{mode}": core for mode, core in enumerate(path.honest)}

    def resume(self, state: RunState) -> None:
        """Continue from a state."""
        path, rules, shape = self._path, self._rules, self._held.whole.source.shape
        path = replace(path, at=from_names(path.at, state, "path."), rungs=saved_rungs(state, shape))
        if sorted(path.at.parameters.queue) != list(range(len(rules.parameters))):
            raise FormatError("'path.parameters.queue' of the state is not an order of the tuned parameters")
        dtype = path.now.state.cores[0].dtype
        if path.at.phase is Phase.CLOSING:
            names = [f"honest.{mode}" for mode in range(len(shape))]
            path = replace(path, honest=tuple(saved_array(state, name, None, dtype) for name in names))
        path = replace(path, judgement=rules.entries.resumed(state, dtype))
        path = rules.entries.counted(path, path.at.counting)
        best = {name[len("best.") :]: value for name, value in state.items() if name.startswith("best.")}
        now, best_now = (
            path.trials.candidate(resumed_state(path.trials.algorithm, like.state, saved), like.report)
            for like, saved in ((path.now, state), (path.best, best))
        )
        self._path = rules.sized(replace(path, now=now, best=best_now))
