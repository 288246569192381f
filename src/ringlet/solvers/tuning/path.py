"""An automatic fit: a path of ever larger rings, of which held-out entries choose the best.

The ring grows from rung to rung, to the bonds that promise most for their size, and always goes on. On the way
penalties are tuned and entries are judged again. The path ends where the ring may not be larger, or when two rungs in a
row were no better than the best one. That one is swept on until it settles, and a last time or two with all entries.

Every round of the driver is one sweep that continues from the last: nothing is fitted twice.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isnan, log10, nan
from time import perf_counter
from typing import TypeAlias

from ringlet.errors import DataWarning, FormatError, warn
from ringlet.execution import Placement
from ringlet.results.records import Rung, RunState, SweepReport
from ringlet.results.ring_snapshot import RingSnapshot
from ringlet.results.saved_state import by_name, from_names, saved_array
from ringlet.ring import TensorRing
from ringlet.robust import Kernel
from ringlet.solvers.base import Problem
from ringlet.solvers.engine.scaled_step import Penalties
from ringlet.solvers.rank_choice import RankChoice
from ringlet.solvers.sawrtrd.algorithm import Algorithm
from ringlet.solvers.sawrtrd.run import RobustSnapshot, resumed_state
from ringlet.solvers.sawrtrd.start import given_start
from ringlet.solvers.tuning.bond_growth import BondGrowth
from ringlet.solvers.tuning.entry_weights import EntryWeights
from ringlet.solvers.tuning.judging import Judge
from ringlet.solvers.tuning.path_state import Path, PathState, Phase, rungs_by_name, saved_rungs
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.restarts import begun_anew
from ringlet.solvers.tuning.trials import Candidate, Trials
from ringlet.solvers.tuning.tuned_parameters import TunedParameters, Tuning, open_parameters
from ringlet.solvers.tuning.validator import HeldOut

__all__ = ["CoarseStart", "PathRun"]

Step: TypeAlias = Callable[[Path, int], Path]  # from a path, in the round of this number, to another


@dataclass(frozen=True)
class CoarseStart:
    """A ring of the whole data to begin with, in their units, and penalties to continue with."""

    ring: TensorRing
    penalties: Penalties


class PathRun:
    """An automatic fit, as the driver sees it.

    Parameters
    ----------
    held : HeldOut
    algorithm : Algorithm
        On the problem without the held-out entries.
    policy : TuningPolicy
    judge : Judge or None
        None: a kernel weighs entries.
    place : callable
        Puts the entries of a problem on the cluster, if there is one.
    coarse_start : callable
        Gives a ring to begin with, and penalties; or None. Its argument is the time by which the fit should end.
    """

    def __init__(
        self,
        held: HeldOut,
        algorithm: Algorithm,
        policy: TuningPolicy,
        judge: Judge | None = None,
        place: Callable[[Problem], Placement | None] = lambda _: None,
        coarse_start: Callable[[float], CoarseStart | None] = lambda _: None,
    ) -> None:
        solver, scale, whole = algorithm.settings, algorithm.scale, held.whole
        self._held, self._whole, self._scale, self._policy = held, whole, scale, policy
        self._place, self._coarse_start = place, coarse_start
        self._hurried: RunState | None = None  # the state when the time ran out
        self._deadline = inf
        self._ends = solver.tol > 0  # tol=0 asks for all sweeps
        first = algorithm.init()
        if solver.ridge == "auto":
            first = replace(first, penalties=replace(first.penalties, ridge=policy.first_ridge))
        self._first_penalties = first.penalties
        dtype = first.cores[0].dtype
        trials = Trials(algorithm, held.validator.scaled(scale.data_range, scale.level, dtype))
        self._entries = EntryWeights(held, trials.validator, policy, judge, place)
        tuned = open_parameters(solver, whole.source.shape)
        tunes_width = judge is None and policy.tunes_width  # judged entries count alike
        self._open = [one for one in tuned if tunes_width or one.name != "width"]
        self._untried = TunedParameters(self._open).state
        choice = whole.choice
        most = 0 if choice is None else choice.most_parameters(whole.source.shape, dtype.itemsize)
        self._growth = BondGrowth(whole.source.shape, choice or RankChoice(), most, policy)
        phase = Phase.POLISHING if choice is None else Phase.GROWING
        restarted = not policy.restarts or choice is not None or whole.init is not None  # growing bonds need none
        self._began = perf_counter()
        start = trials.candidate(first, SweepReport(change=inf, loss=nan))
        self._path = self._sized(Path(PathState(self._untried, phase, restarted=restarted), trials, start, start))

    def snapshot(self) -> RobustSnapshot:
        """The present model."""
        path, scale, empty = self._path, self._scale, self._whole.survey.empty
        state, honest = path.now.state, None
        if path.now.residuals.size:
            honest = RingSnapshot(path.honest or state.cores, scale.data_range, empty)
        return RobustSnapshot(
            state.cores,
            scale.data_range,
            empty,
            Kernel(state.sigma, path.trials.algorithm.settings.kernel_loss),
            scale=scale,
            penalties=state.penalties,
            path=path.rungs,
            honest=honest,
            unseen=self._held.mask,
            judged=self._entries.judge is not None,
            judged_beside=path.judged,
        )

    def prepare(self, deadline: float) -> None:
        """Go to the coarse ring, if there is one that is better than a nearly constant tensor."""
        self._deadline = deadline
        start = self._coarse_start(deadline)
        if start is None:
            return
        now, trials = self._path.now, self._path.trials
        dtype = now.state.cores[0].dtype
        cores = given_start(start.ring, start.ring.shape, start.ring.rank, self._scale.data_range, dtype)
        coarse = replace(trials.algorithm.with_cores(now.state, cores), penalties=start.penalties)
        candidate = trials.candidate(coarse, now.report)
        if trials.compare(candidate, now).certainty > self._policy.sure:
            self._path = self._sized(replace(self._path, now=candidate, best=candidate))

    def sweep(self, number: int) -> SweepReport:
        """One round: a sweep, and the steps that follow from it."""
        if self._hurried is not None or self._path.at.phase is Phase.CLOSING:
            return self._closing_sweep(number)
        tuning = self._tuning_sweep(number)
        for step in self._steps(tuning):
            self._path = step(self._path, number)
        path = self._path
        error = path.trials.error(path.now)
        ring = f"ring {len(path.rungs) + 1}" if path.at.phase is Phase.GROWING else "last ring"
        quality = f", {-20 * log10(error):.1f} dB" if error > 0 else ""
        return replace(
            path.now.report,
            settling=True,
            stalled=False,
            held_out=error * self._scale.data_range,
            stage=f"{ring}: {path.now.parameters:,} numbers{quality}",
            growing=path.at.phase is Phase.GROWING,
        )

    def hurry(self) -> None:
        """Continue with all entries, and end. A checkpoint keeps the state before: with more time the fit goes on."""
        if self._hurried is None:
            self._hurried = self.state()
            self._path = replace(self._path, now=self._better())

    def warn_if_missed(self) -> None:
        """Say so if the target was not reached."""
        choice, now = self._whole.choice, self._path.now
        if choice is None or choice.psnr is None:
            return
        psnr = self._path.trials.validator.psnr(now.state.cores, choice)
        if psnr >= choice.psnr:
            return
        why = "too few entries to hold some out" if isnan(psnr) else f"{psnr:.1f} dB"
        right = self._path.trials.validator.psnr(now.state.cores, replace(choice, trusted=True))
        if not choice.trusted and right > psnr + 1:  # dB: they matter
            why += f", {right:.1f} dB without those judged wrong, which trusted=True leaves out"
        warn(f"target(psnr={choice.psnr}) was not reached: {why}, with rank {now.state.plan.rank}", DataWarning)

    def close(self) -> None:
        """Stop reading ahead."""
        self._path.trials.algorithm.engine.close()

    def _tuning_sweep(self, number: int) -> Tuning:
        """One sweep, in which parameters are tuned if some are due and the ring does not improve fast without."""
        path = self._path
        before, at, trials, tuning = path.now, path.at, path.trials, Tuning.EARLY
        # A ring that is too small takes what it cannot reach for wrong: widths wait until a larger one is no better.
        settled = at.kernel and (at.phase is Phase.POLISHING or at.idle_rungs > 0)
        parameters = TunedParameters(self._open, at.parameters)
        due = parameters.due(before.parameters, () if settled else ("width",))
        if not due:
            tuning = Tuning.DONE
        if due and at.gain <= self._policy.too_fast_db:
            now, helped = trials.tuned(before, number, parameters, due)
            tuning = Tuning.HELPED if helped else Tuning.IN_VAIN
        else:
            now = trials.swept(before.state, number)
        gain = trials.compare(now, before).gain
        self._path = replace(path, now=now).moved(gain=gain, sweeps=at.sweeps + 1, parameters=parameters.state)
        return tuning

    def _closing_sweep(self, number: int) -> SweepReport:
        """A sweep with all entries; the last ones."""
        path = self._path if self._path.at.phase is Phase.CLOSING else self._with_all_entries(self._path)
        now = path.trials.swept(path.now.state, number)
        self._path = replace(path, now=now).moved(sweeps=path.at.sweeps + 1)
        ended = self._path.at.sweeps >= self._policy.closing_sweeps and self._hurried is None
        return replace(now.report, settling=True, converged=ended, stage="last sweeps with all entries")

    def _steps(self, tuning: Tuning) -> Iterator[Step]:
        """What follows a sweep; a step is taken before the next one is decided upon."""
        at = self._path.at
        if at.phase is Phase.GROWING:
            if self._rung_ends(tuning):
                yield from self._climb()
        elif self._whole.choice is None and at.sweeps == self._policy.first_sweeps:
            yield self._entries.kernel_chosen  # before penalties hide what is rare
        elif self._polished(tuning):
            yield from self._end()

    def _rung_ends(self, tuning: Tuning) -> bool:
        """Whether the rung has shown what it can do."""
        policy, path, gain, sweeps = self._policy, self._path, self._path.at.gain, self._path.at.sweeps
        if sweeps >= policy.fast_rung_sweeps:
            return True
        if gain > policy.rung_goes_on_db or tuning is Tuning.EARLY:  # bonds must not make up for sweeps or penalties
            return False
        cheap = not path.rungs or policy.cheap_part * path.now.parameters < self._growth.most
        if sweeps >= (policy.cheap_rung_sweeps if cheap else policy.rung_sweeps):
            return True
        settled = policy.chance_db if cheap else policy.rung_settled_db
        behind = bool(path.rungs) and self._better() is path.best
        return not (behind or path.now.report.settling) and gain < settled and tuning >= Tuning.IN_VAIN

    def _climb(self) -> Iterator[Step]:
        """End a rung: note it, judge entries, and go on to the next one, or end the path."""
        path, error = self._path, self._path.trials.error(self._path.now)
        seconds = perf_counter() - self._began
        rung = Rung(path.now.state.plan.rank, path.now.parameters, error * self._scale.data_range, seconds)
        gains = not path.rungs or path.trials.compare(path.now, path.best).gain > self._policy.chance_db
        idle_rungs, enough = 0 if gains else path.at.idle_rungs + 1, self._enough()
        best = path.now if gains else path.best
        self._path = replace(path, best=best, rungs=(*path.rungs, rung)).moved(idle_rungs=idle_rungs)
        if not path.rungs and self._entries.judge is None:
            yield self._entries.kernel_chosen
            self._path = replace(self._path, best=self._path.now)
        if self._entries.outdated(self._path) and self._entries.in_time(self._path, self._deadline):
            yield self._entries.judged
            yield self._entries.readmitted
            judged_at = self._entries.unjudged.error(self._path.now.residuals)
            self._path = self._path.moved(judged_at=judged_at)
        last = self._path.now
        if idle_rungs < self._policy.patience and not (enough or self._enough()):
            yield self._growth.grown
        if self._path.now is not last:
            self._path = self._sized(self._path.moved(sweeps=0, gain=0.0))
            return
        at_best = replace(self._path, now=self._path.best)
        self._path = self._sized(at_best.moved(phase=Phase.POLISHING, idle=0, gain=0.0))
        yield from self._weigh()

    def _polished(self, tuning: Tuning) -> bool:
        """Whether the validation error has stopped falling."""
        policy, now, at = self._policy, self._path.now, self._path.at
        little = at.gain < policy.chance_db and not now.report.settling
        idle, error = at.idle + 1 if little else 0, self._path.trials.error(now)
        self._path = self._path.moved(idle=idle)
        if error < policy.exact and at.gain < policy.rung_goes_on_db:  # nothing is left to be tuned
            return self._ends
        if idle < policy.patience + (tuning is not Tuning.DONE):
            return False
        if error > 0 and 20 * log10(at.tuned_at / error) > policy.retuning_db:  # it may want other penalties
            self._path = self._path.moved(parameters=self._untried, tuned_at=error, idle=0)
            return False
        return self._ends

    def _end(self) -> Iterator[Step]:
        """The fit with held-out entries has shown what it can do: judge a last time, and go over to all entries."""
        last, at, given_rank = self._path.now, self._path.at, self._whole.choice is None
        if not at.restarted:
            self._path = self._path.moved(restarted=True)
            yield partial(begun_anew, penalties=self._first_penalties)
            if self._path.now is not last:
                self._path = self._path.moved(parameters=self._untried, idle=0, tuned_at=inf)
                return
        if self._entries.may_judge_last(self._path) and self._entries.in_time(self._path, self._deadline):
            yield self._entries.judged  # what a better ring believes is more
            yield self._entries.readmitted
            yield from self._weigh()
            self._path = self._path.moved(idle=0, judgements=at.judgements + 1)
            if given_rank:
                self._path = self._path.moved(parameters=self._untried, tuned_at=inf)
            return
        if self._policy.trims_bonds and not given_rank:
            yield self._growth.trimmed
        if self._entries.may_judge_finally(self._path):
            yield self._entries.judged_finally
        self._path = self._with_all_entries(self._path)

    def _weigh(self) -> Iterator[Step]:
        """Choose how entries count in the rest of the fit: alike or by a kernel, trusted ones or all."""
        start = self._path.now.state
        if not self._path.at.readmitted:
            yield self._entries.kernel_chosen
            yield partial(self._entries.readmitted, since=start)

    def _enough(self) -> bool:
        """Whether the ring is as good as the target, or describes the data exactly."""
        choice, trials, now = self._whole.choice, self._path.trials, self._path.now
        if choice is not None and choice.psnr is not None:
            return trials.validator.psnr(now.state.cores, choice) >= choice.psnr
        return trials.error(now) < self._policy.exact

    def _better(self) -> Candidate:
        """The present ring, or the best one if that is no worse."""
        path = self._path
        return path.now if path.trials.compare(path.now, path.best).gain > 0 else path.best

    def _with_all_entries(self, path: Path) -> Path:
        """Go over to the sweeps that see the held-out entries, too."""
        path = replace(path, honest=path.now.state.cores).moved(phase=Phase.CLOSING, sweeps=0)
        return self._entries.believed(path) if path.judgement is not None else self._on_whole(path)

    def _on_whole(self, path: Path) -> Path:
        algorithm = path.trials.algorithm.on(self._whole, self._place(self._whole))
        return replace(path, trials=replace(path.trials, algorithm=algorithm))

    def _sized(self, path: Path) -> Path:
        """While bonds grow, look at what the next larger ring needs, so that this one and that one see the same."""
        now = path.now
        rank = self._growth.next_rank(now.state.plan.rank) if path.at.phase is Phase.GROWING else None
        return replace(path, now=replace(now, state=replace(now.state, enough_for=rank)))

    def state(self) -> RunState:
        """The present state, and what the next round depends on."""
        if self._hurried is not None:
            return self._hurried
        path, order = self._path, len(self._whole.source.shape)
        saved = by_name(path.now.state) | by_name(path.best.state, "best.") | by_name(path.at, "path.")
        saved |= rungs_by_name(path.rungs, order)
        if path.judgement is not None:
            saved |= path.judgement.state()
        return saved | {f"honest.{mode}": core for mode, core in enumerate(path.honest)}

    def resume(self, state: RunState) -> None:
        """Continue from a state."""
        path, shape = self._path, self._whole.source.shape
        path = replace(path, at=from_names(path.at, state, "path."), rungs=saved_rungs(state, shape))
        if sorted(path.at.parameters.queue) != list(range(len(self._open))):
            raise FormatError("'path.parameters.queue' of the state is not an order of the tuned parameters")
        closing = path.at.phase is Phase.CLOSING
        if closing:
            dtype = path.now.state.cores[0].dtype
            names = [f"honest.{mode}" for mode in range(len(shape))]
            path = replace(path, honest=tuple(saved_array(state, name, None, dtype) for name in names))
        judgement = self._entries.resumed(state, path.now.state.cores[0].dtype)
        if judgement is not None:
            path = self._entries.believed(replace(path, judgement=judgement))
        else:
            path = self._on_whole(path) if closing else path
            algorithm = path.trials.algorithm.with_kernel(path.at.kernel)
            path = replace(path, trials=replace(path.trials, algorithm=algorithm))
        best = {name[len("best.") :]: value for name, value in state.items() if name.startswith("best.")}
        candidates = []
        for like, saved in ((path.now, state), (path.best, best)):
            resumed = resumed_state(path.trials.algorithm, like.state, saved)
            candidates.append(path.trials.candidate(resumed, like.report))
        self._path = self._sized(replace(path, now=candidates[0], best=candidates[1]))
