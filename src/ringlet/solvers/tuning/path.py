"""An automatic fit: a path of ever larger rings, of which held-out entries choose the best.

The ring grows from rung to rung, to the bonds that promise most for their size, and always goes on. On the way
penalties are tuned and entries are judged anew. The path ends where the ring may not be larger, or when two rungs in a
row were no better than the best one. That one is swept on until it settles, and a last time or two with all entries.

Every round of the driver is one sweep that continues from the last: nothing is fitted twice.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, isnan, log10, nan
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import BudgetError, DataWarning, FormatError, warn
from ringlet.execution import Placement
from ringlet.results.fit import HonestRing
from ringlet.results.records import Rung, RunState, SweepReport
from ringlet.results.ring_snapshot import RingSnapshot
from ringlet.results.saved_state import by_name, from_names, saved_array
from ringlet.ring import TensorRing
from ringlet.ring.chain import Core
from ringlet.robust import Kernel
from ringlet.solvers.base import Problem
from ringlet.solvers.engine.scaled_step import Penalties
from ringlet.solvers.rank_choice import RankChoice
from ringlet.solvers.sawrtrd.algorithm import Algorithm, FitState
from ringlet.solvers.sawrtrd.judging import Judge
from ringlet.solvers.sawrtrd.run import resumed_state
from ringlet.solvers.sawrtrd.start import Scale, given_start
from ringlet.solvers.tuning.bond_growth import BondGrowth
from ringlet.solvers.tuning.kernel_choice import choose_kernel, with_kernel
from ringlet.solvers.tuning.path_state import PathState, Phase, rungs_by_name, saved_rungs
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.restarts import find_restart
from ringlet.solvers.tuning.trials import Candidate, Trials
from ringlet.solvers.tuning.tuned_parameters import TunedParameters, Tuning, open_parameters
from ringlet.solvers.tuning.validator import HeldOut

__all__ = ["CoarseStart", "PathRun"]


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
        Gives a ring to begin with, and penalties; or None. It is told the time by which the fit should end.
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
        self._held, self._whole = held, whole
        self._policy, self._place, self._judge, self._coarse_start = policy, place, judge, coarse_start
        self._hurried: RunState | None = None  # the state when the time ran out
        self._ends = solver.tol > 0  # tol=0 asks for all sweeps
        first = algorithm.init()
        if solver.ridge == "auto":
            first = replace(first, penalties=replace(first.penalties, ridge=policy.first_ridge))
        self._first_penalties = first.penalties
        dtype = first.cores[0].dtype
        self._trials = Trials(algorithm, held.validator.scaled(scale.data_range, scale.level, dtype))
        tuned = open_parameters(solver, whole.source.shape)
        tunes_width = judge is None and policy.tunes_width  # judged entries count alike
        self._open = [one for one in tuned if tunes_width or one.name != "width"]
        self._parameters = TunedParameters(self._open)
        choice = whole.choice
        most = 0 if choice is None else choice.most_parameters(whole.source.shape, dtype.itemsize)
        self._growth = BondGrowth(whole.source.shape, choice or RankChoice(), most, policy)
        phase = Phase.POLISHING if choice is None else Phase.GROWING
        restarted = not policy.restarts or choice is not None or whole.init is not None  # growing bonds need none
        self._at = PathState(self._parameters.state, phase, restarted=restarted)
        self._weights: NDArray[np.float32] | None = None  # of the last judgement
        self._rungs: list[Rung] = []
        self._honest: tuple[Core, ...] = ()  # the cores before the sweeps with all entries
        self._began = perf_counter()
        self._now = self._best = self._trials.candidate(first, SweepReport(change=inf, loss=nan))
        self._size()

    @property
    def scale(self) -> Scale:
        """Robust measures of the data."""
        return self._trials.algorithm.scale

    @property
    def kernel(self) -> Kernel:
        """Loss and width, in the data's units."""
        return Kernel(self._now.state.sigma, self._trials.algorithm.settings.kernel_loss)

    @property
    def penalties(self) -> Penalties:
        """Those of the present model."""
        return self._now.state.penalties

    @property
    def judges(self) -> bool:
        """Whether entries are judged by their neighbours, not by the kernel."""
        return self._judge is not None

    @property
    def path(self) -> tuple[Rung, ...]:
        """The rungs so far."""
        return tuple(self._rungs)

    @property
    def honest(self) -> HonestRing | None:
        """The ring that has not seen the held-out entries; None if there are none."""
        if not self._now.residuals.size:
            return None
        return HonestRing(self._snapshot(self._honest or self._now.state.cores).ring(), self._held.mask)

    def snapshot(self) -> RingSnapshot:
        """The present model."""
        return self._snapshot(self._now.state.cores)

    def _snapshot(self, cores: tuple[Core, ...]) -> RingSnapshot:
        return RingSnapshot(cores, self.scale.data_range, self._whole.survey.empty)

    def prepare(self, deadline: float) -> None:
        """Go to the coarse ring, if there is one that is better than a nearly constant tensor."""
        start = self._coarse_start(deadline)
        if start is None:
            return
        state, trials = self._now.state, self._trials
        cores = given_start(start.ring, start.ring.shape, start.ring.rank, self.scale.data_range, state.cores[0].dtype)
        coarse = replace(trials.algorithm.with_cores(state, cores), penalties=start.penalties)
        candidate = trials.candidate(coarse, self._now.report)
        if trials.compare(candidate, self._now).certainty > self._policy.sure_of_start:
            self._now = self._best = candidate
            self._size()

    def sweep(self, number: int) -> SweepReport:
        """One round."""
        if self._hurried is not None or self._at.phase is Phase.CLOSING:
            return self._close(number)
        before, tuning = self._now, Tuning.EARLY
        # A ring that is too small takes what it cannot reach for wrong: widths wait until a larger one is no better.
        settled = self._at.kernel and (self._at.phase is Phase.POLISHING or self._at.idle_rungs > 0)
        due = self._parameters.due(before.parameters, () if settled else ("width",))
        if not due:
            tuning = Tuning.DONE
        if due and self._at.gain <= self._policy.too_fast_db:
            self._now, helped = self._trials.tuned(before, number, self._parameters, due)
            tuning = Tuning.HELPED if helped else Tuning.IN_VAIN
        else:
            self._now = self._trials.swept(before.state, number)
        gain = self._trials.compare(self._now, before).gain
        self._at = replace(self._at, gain=gain, sweeps=self._at.sweeps + 1)
        if self._at.phase is Phase.GROWING:
            if self._rung_ends(gain, tuning):
                self._climb(number)
        elif self._whole.choice is None and self._at.sweeps == self._policy.first_sweeps:
            self._choose_kernel(number)  # before penalties hide what is rare
        elif self._polished(gain, tuning):
            self._end(number)
        error = self._trials.error(self._now)
        return replace(
            self._now.report,
            settling=True,
            stalled=False,
            held_out=error * self.scale.data_range,
            stage=self._stage(error),
        )

    def _stage(self, error: float) -> str:
        """The rung, its size and its validation error, in words."""
        rung = f"rung {len(self._rungs) + 1}" if self._at.phase is Phase.GROWING else "last rung"
        quality = f", {-20 * log10(error):.1f} dB" if error > 0 else ""
        return f"{rung} of {self._now.parameters:,} numbers{quality}"

    def hurry(self) -> None:
        """Continue with all entries, and end. A checkpoint keeps the state before: with more time the fit goes on."""
        if self._hurried is None:
            self._hurried = self.state()
            self._now = self._better(self._now, self._best)

    def warn_if_missed(self) -> None:
        """Say so if the target was not reached."""
        choice = self._whole.choice
        if choice is None or choice.psnr is None:
            return
        psnr = self._trials.validator.psnr(self._now.residuals, choice)
        if psnr >= choice.psnr:
            return
        why = "too few entries to hold some out" if isnan(psnr) else f"{psnr:.1f} dB on held-out entries"
        warn(f"target(psnr={choice.psnr}) was not reached: {why}, with rank {self._now.state.rank}", DataWarning)

    def close(self) -> None:
        """Stop reading ahead."""
        self._trials.algorithm.engine.close()

    def _rung_ends(self, gain: float, tuning: Tuning) -> bool:
        """Whether the rung has shown what it can do."""
        policy, sweeps = self._policy, self._at.sweeps
        if sweeps >= policy.fast_rung_sweeps:
            return True
        if gain > policy.rung_goes_on_db or tuning is Tuning.EARLY:  # bonds must not make up for sweeps or penalties
            return False
        cheap = not self._rungs or policy.cheap_part * self._now.parameters < self._growth.most
        if sweeps >= (policy.cheap_rung_sweeps if cheap else policy.rung_sweeps):
            return True
        settled = policy.polished_db if cheap else policy.rung_settled_db
        behind = bool(self._rungs) and self._better(self._now, self._best) is self._best
        return not (behind or self._now.report.settling) and gain < settled and tuning >= Tuning.IN_VAIN

    def _polished(self, gain: float, tuning: Tuning) -> bool:
        """Whether the validation error has stopped falling."""
        policy = self._policy
        little = gain < policy.polished_db and tuning is not Tuning.HELPED and not self._now.report.settling
        self._at = replace(self._at, idle=self._at.idle + 1 if little else 0)
        error = self._trials.error(self._now)
        if error < policy.exact and gain < policy.rung_goes_on_db:  # nothing is left to be tuned
            return self._ends
        if self._at.idle < policy.polishing_sweeps + (tuning is not Tuning.DONE):
            return False
        if error > 0 and 20 * log10(self._at.tuned_at / error) > policy.retuning_db:
            # A better ring may want other penalties.
            self._parameters = TunedParameters(self._open)
            self._at = replace(self._at, tuned_at=error, idle=0)
            return False
        return self._ends

    def _climb(self, number: int) -> None:
        """End a rung: note it, judge entries, and go on to the next one, or end the path."""
        trials, error = self._trials, self._trials.error(self._now)
        self._rungs.append(
            Rung(
                self._now.state.rank, self._now.parameters, error * self.scale.data_range, perf_counter() - self._began
            )
        )
        gains = len(self._rungs) == 1 or trials.compare(self._now, self._best).gain > self._policy.worthwhile_db
        if gains:
            self._best = self._now
        idle_rungs, enough = 0 if gains else self._at.idle_rungs + 1, self._enough()
        self._at = replace(self._at, idle_rungs=idle_rungs)
        if len(self._rungs) == 1:
            self._choose_kernel(number)
            self._best = self._now
        self._judge_entries()
        grown = None
        if idle_rungs < self._policy.idle_rungs and not (enough or self._enough()):
            try:
                grown = self._growth.grown(self._trials, self._now, self._at.gain, number)
            except BudgetError:  # no room for a larger ring
                grown = None
        if grown is not None:
            self._now = grown
            self._at = replace(self._at, sweeps=0, gain=0.0)
            self._size()
            return
        self._now = self._best
        self._at = replace(self._at, phase=Phase.POLISHING, idle=0, gain=0.0)
        self._size()
        self._choose_kernel(number)

    def _enough(self) -> bool:
        """Whether the ring is as good as was asked for, or describes the data exactly."""
        choice, trials = self._whole.choice, self._trials
        if choice is not None and choice.psnr is not None:
            return trials.validator.psnr(self._now.residuals, choice) >= choice.psnr
        return trials.error(self._now) < self._policy.exact

    def _better(self, new: Candidate, old: Candidate) -> Candidate:
        return new if self._trials.compare(new, old).gain > 0 else old

    def _judge_entries(self) -> None:
        """Judge all entries by the present ring, if it is better than the one they were judged by last."""
        error = self._trials.error(self._now)
        if self._judge is None or not error > 0:
            return
        if self._at.judged_at < inf and 20 * log10(self._at.judged_at / error) < self._policy.rejudging_db:
            return
        self._at = replace(self._at, kernel=False)
        self._believe(self._judge.weights(self._now.state.cores, self._trials.algorithm.mapper))
        self._at = replace(self._at, judged_at=self._trials.error(self._now))

    def _choose_kernel(self, number: int) -> None:
        """Least squares, or a kernel that doubts what lies far off: as held-out entries say."""
        algorithm = self._trials.algorithm
        survey, far = algorithm.problem.survey, self._policy.hopeless_ranges * self.scale.data_range
        hopeful = self._policy.chooses_least_squares and survey.maximum - survey.minimum < far
        if hopeful and algorithm.settings.tunes_width:
            judged = self._weights is not None
            self._trials, self._now, kernel = choose_kernel(self._trials, self._now, number, judged, self._policy)
            self._at = replace(self._at, kernel=kernel)

    def _believe(self, weights: NDArray[np.float32]) -> None:
        """Go on with least squares of what is believed."""
        assert self._judge is not None  # noqa: S101 - who else gives weights
        self._weights = weights
        problem = self._whole if self._at.phase is Phase.CLOSING else self._held.seen
        algorithm = self._trials.algorithm.on(self._judge.believed(problem, weights), None)
        self._trials = Trials(with_kernel(algorithm, self._at.kernel), self._trials.validator.judged(weights))

    def _end(self, number: int) -> None:
        """The fit with held-out entries has shown what it can do: judge a last time, and go over to all entries."""
        if self._begins_again(number):
            return
        if self._judge is not None and self._whole.choice is None and self._at.judgements < self._policy.judgements:
            self._believe(
                self._judge.weights(self._now.state.cores, self._trials.algorithm.mapper)
            )  # what a better ring believes is more
            self._choose_kernel(number)
            self._parameters = TunedParameters(self._open)
            self._at = replace(self._at, idle=0, tuned_at=inf, judgements=self._at.judgements + 1)
            return
        if self._policy.trims_bonds and self._whole.choice is not None:
            self._now = self._growth.trimmed(self._trials, self._now, number)
        self._see_all()

    def _begins_again(self, number: int) -> bool:
        """Begin anew, once, if a fit of a given rank stands still although the rank could do better."""
        if self._at.restarted:
            return False
        self._at = replace(self._at, restarted=True)
        restart = find_restart(self._trials, self._now, self._first_penalties, number)
        if restart is not None:
            self._now, self._parameters = restart, TunedParameters(self._open)
            self._at = replace(self._at, idle=0, tuned_at=inf)
        return restart is not None

    def _close(self, number: int) -> SweepReport:
        """A sweep with all entries; the last ones."""
        if self._at.phase is not Phase.CLOSING:
            self._see_all()
        self._at = replace(self._at, sweeps=self._at.sweeps + 1)
        self._now = self._trials.swept(self._now.state, number)
        ended = self._at.sweeps >= self._policy.closing_sweeps and self._hurried is None
        return replace(self._now.report, settling=True, converged=ended, stage="last sweeps with all entries")

    def _see_all(self) -> None:
        self._at = replace(self._at, phase=Phase.CLOSING, sweeps=0)
        self._honest = self._now.state.cores
        if self._weights is not None:
            self._believe(self._weights)
        else:
            self._see_whole()

    def _see_whole(self) -> None:
        algorithm = self._trials.algorithm.on(self._whole, self._place(self._whole))
        self._trials = replace(self._trials, algorithm=algorithm)

    def _size(self) -> None:
        """While bonds grow, look at what the next larger ring needs, so that this one and that one see the same."""
        rank = self._growth.next_rank(self._now.state.rank) if self._at.phase is Phase.GROWING else None
        self._now = replace(self._now, state=replace(self._now.state, enough_for=rank))

    def state(self) -> RunState:
        """The present state, and what the next round depends on."""
        if self._hurried is not None:
            return self._hurried
        at = replace(self._at, parameters=self._parameters.state)
        saved = by_name(self._now.state) | by_name(self._best.state, "best.") | by_name(at, "path.")
        saved |= rungs_by_name(self._rungs, len(self._now.state.cores))
        if self._weights is not None:
            saved["path.weights"] = self._weights
        return saved | {f"honest.{mode}": core for mode, core in enumerate(self._honest)}

    def resume(self, state: RunState) -> None:
        """Continue from a state."""
        self._at = from_names(self._at, state, "path.")
        if sorted(self._at.parameters.queue) != list(range(len(self._open))):
            raise FormatError("'path.parameters.queue' of the state is not an order of the tuned parameters")
        self._parameters.state = self._at.parameters
        self._rungs = saved_rungs(state, self._whole.source.shape)
        if self._at.phase is Phase.CLOSING:
            dtype = self._now.state.cores[0].dtype
            self._honest = tuple(
                saved_array(state, f"honest.{mode}", None, dtype) for mode in range(len(self._now.state.cores))
            )
        if "path.weights" in state:
            self._believe(saved_array(state, "path.weights", self._whole.source.shape, np.dtype("f4")))
        else:
            if self._at.phase is Phase.CLOSING:
                self._see_whole()
            algorithm = with_kernel(self._trials.algorithm, self._at.kernel)
            self._trials = replace(self._trials, algorithm=algorithm)
        best = {name[len("best.") :]: value for name, value in state.items() if name.startswith("best.")}
        self._best = self._resumed(self._best, best)
        self._now = self._resumed(self._now, state)
        self._size()

    def _resumed(self, like: Candidate, saved: RunState) -> Candidate:
        state: FitState = resumed_state(self._trials.algorithm, like.state, saved)
        return self._trials.candidate(state, like.report)
