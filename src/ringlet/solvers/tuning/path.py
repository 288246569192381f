"""The path of an automatic fit: larger and larger rings, of which held-out entries choose the best.

The ring grows from rung to rung, in the bonds that gain most for their size. On the way penalties are tuned and entries
are judged again. The path ends where the ring may not be larger, or when two rungs in a row were no better than the
best one, which is then swept on until it settles, and a last time or two with all entries.

Every round of the driver is one sweep that continues from the last: nothing is fitted twice.
"""

from dataclasses import dataclass, replace
from math import inf, log10
from time import perf_counter

from ringlet.results.records import Rung
from ringlet.solvers.base import Problem
from ringlet.solvers.engine.scaled_step import Penalties
from ringlet.solvers.tuning.bond_growth import BondGrowth
from ringlet.solvers.tuning.entry_weights import EntryWeights
from ringlet.solvers.tuning.path_state import Counting, Path, PathState, Phase
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.restarts import begun_anew
from ringlet.solvers.tuning.trials import Candidate
from ringlet.solvers.tuning.tuned_parameters import TunedParameter, TunedParameters, Tuning

__all__ = ["PathRules"]

_SWEEPS = 80  # of another path, at most


@dataclass(frozen=True)
class PathRules:
    """The steps of a path. Each method returns a new path, and does not change the old one.

    Attributes
    ----------
    whole : Problem
        With all entries.
    policy : TuningPolicy
    entries : EntryWeights
    growth : BondGrowth
    parameters : tuple of TunedParameter
        What is tuned.
    first_penalties : Penalties
        Those that the fit begins with.
    data_range : float
    ends : bool
        Whether the fit ends by itself, before its sweeps are used up.
    began : float
        Time of `perf_counter`.
    """

    whole: Problem
    policy: TuningPolicy
    entries: EntryWeights
    growth: BondGrowth
    parameters: tuple[TunedParameter, ...]
    first_penalties: Penalties
    data_range: float
    ends: bool
    began: float

    def swept(self, path: Path, number: int) -> Path:
        """One sweep, in which parameters are tuned if they are due and the ring does not improve fast anyway."""
        policy, before, at, trials = self.policy, path.now, path.at, path.trials
        parameters = TunedParameters(self.parameters, at.parameters)
        # A ring that is too small takes what it cannot fit for wrong: widths wait until a larger one is no better.
        narrows = at.counting is Counting.WEIGHED and (at.phase is Phase.POLISHING or at.idle_rungs > 0)
        due = parameters.due(before.parameters, () if narrows else ("width",))
        if due and at.gain <= policy.too_fast_db:
            now, helped = trials.tuned(before, number, parameters, due)
            tuning = Tuning.HELPED if helped else Tuning.IN_VAIN
        else:
            now, tuning = trials.swept(before.state, number), Tuning.EARLY if due else Tuning.DONE
        gain = trials.compare(now, before).gain
        little = gain < policy.chance_db and not now.report.settling
        return replace(path, now=now).moved(
            gain=gain,
            sweeps=at.sweeps + 1,
            idle=at.idle + 1 if little else 0,
            tuning=tuning,
            parameters=parameters.state,
        )

    def climbed(self, path: Path, number: int) -> Path:
        """When a rung ends: judge entries, and go on to a larger ring; or to the best one, if the path ends."""
        if not self._rung_ends(path):
            return path
        path = self._with_rung(path)
        if self.entries.outdated(path):
            path = self.entries.judged(path, number)
        larger = path
        if path.at.idle_rungs < self.policy.patience and not self._enough(path):
            larger = self.growth.grown(path, number)
        if larger is not path:
            return self.sized(larger.moved(sweeps=0, gain=0.0))
        best = replace(path, now=path.best).moved(phase=Phase.POLISHING, sweeps=0, gain=0.0, idle=0)
        if self.entries.large:  # sweeps are dear: what is to be tried again is tried in the first ones
            best = self._untuned(best).moved(tuned_at=path.trials.error(best.now))
        other = Counting.ALIKE if path.judgement is None else Counting.WEIGHED
        return self.sized(self.entries.recounted(best, number, other))

    def polished(self, path: Path, number: int) -> Path:
        """When the ring gets no better: begin anew, judge a last time, trim bonds, take all entries."""
        path, ended = self._polishing(path, number)
        if not ended:
            return path
        path = self._best_of_several(path, number)
        if self.policy.trims_bonds and self.whole.choice is not None:
            path = self.growth.trimmed(path, number)
        if self.entries.may_judge_finally(path):
            path = self.entries.judged_finally(path)
        return self.closing(path)

    def _polishing(self, path: Path, number: int) -> tuple[Path, bool]:
        """The path after what a sweep of the last ring calls for, and whether nothing is left to be done for it."""
        given_rank = self.whole.choice is None
        if given_rank and path.at.sweeps == self.policy.first_sweeps:
            return self.entries.recounted(path, number, Counting.ALIKE), False  # before penalties suppress rare entries
        if not self._settled(path):
            return path, False
        error = path.trials.error(path.now)
        if error >= self.policy.exact and 20 * log10(path.at.tuned_at / error) > self.policy.retuning_db:
            return self._untuned(path).moved(tuned_at=error), False  # it may need other penalties
        if not self.ends:
            return path, False
        if not path.at.restarted:
            path = path.moved(restarted=True)
            anew = begun_anew(path, number, self.first_penalties)
            if anew is not path:
                return self._untuned(anew), False
        if self.entries.may_judge_last(path):
            path = self.entries.judged(path, number)  # a better ring trusts more
            path = self.entries.recounted(path, number, Counting.WEIGHED)
            path = path.moved(judgements=path.at.judgements + 1, idle=0)
            return self._untuned(path) if given_rank else path, False  # swept on with what it trusts
        return path, True

    def _best_of_several(self, path: Path, number: int) -> Path:
        """The path, or another one without the entries that it would not say unseen, if that is better.

        The first small ring may have learned some of the wrong entries, which then look right to it and to larger ones.
        All held-out entries decide, under the kernel that fits the ring before. What was much better is not the last.
        """
        for first in range(number + _SWEEPS, number + self.policy.paths * _SWEEPS, _SWEEPS):
            if not self.entries.may_begin_again(path, self.began):
                break
            other = self._another(path, first)
            verdict = self.entries.unjudged.compare(other.now.residuals, path.now.residuals)
            if verdict.gain <= self.policy.chance_db or verdict.certainty <= self.policy.likely:
                return self.entries.counted(path, path.at.counting)
            path = other
            if verdict.gain < self.policy.another_path_db:
                break
        return path

    def _another(self, path: Path, first: int) -> Path:
        """Another path, at its last ring; it begins with the believed entries alone, by least squares.

        If its sweeps or the time of the fit are used up while it grows, it ends at its best ring.
        """
        path = self.entries.strictly_judged(path)
        state = replace(path.trials.algorithm.init(), penalties=self.first_penalties, narrowest=0.0)
        start = path.trials.candidate(state, path.now.report)
        tuning, at, ended = TunedParameters(self.parameters).state, path.at, False
        at = PathState(tuning, judged_at=at.judged_at, counting=at.counting, restarted=True)
        path = self.sized(replace(path, at=at, now=start, best=start, rungs=()))
        for sweep in range(first, first + _SWEEPS):
            path = self.swept(path, sweep)
            if path.at.phase is Phase.GROWING:
                path = self.climbed(path, sweep)
            else:
                path, ended = self._polishing(path, sweep)
            if ended or perf_counter() >= self.entries.deadline:
                break
        if path.at.phase is Phase.GROWING:
            path = self.sized(replace(path, now=self.better(path)).moved(phase=Phase.POLISHING))
        return path

    def closing(self, path: Path) -> Path:
        """Change to the last sweeps, which use the held-out entries, too."""
        path = replace(path, honest=path.now.state.cores).moved(phase=Phase.CLOSING, sweeps=0)
        return self.entries.counted(path, path.at.counting)

    def better(self, path: Path) -> Candidate:
        """The present ring, or the best one if that is no worse."""
        return path.now if path.trials.compare(path.now, path.best).gain > 0 else path.best

    def sized(self, path: Path) -> Path:
        """While bonds grow, use the entries that the next larger ring needs, so that both rings use the same."""
        now = path.now
        rank = self.growth.next_rank(now.state.plan.rank) if path.at.phase is Phase.GROWING else None
        return replace(path, now=replace(now, state=replace(now.state, enough_for=rank)))

    def _rung_ends(self, path: Path) -> bool:
        """Whether the rung has ended."""
        policy, gain, sweeps, tuning = self.policy, path.at.gain, path.at.sweeps, path.at.tuning
        if sweeps >= policy.fast_rung_sweeps:
            return True
        if gain > policy.rung_goes_on_db or tuning is Tuning.EARLY:  # bonds cannot replace sweeps or penalties
            return False
        cheap = not path.rungs or policy.cheap_part * path.now.parameters < self.growth.most
        if sweeps >= (policy.cheap_rung_sweeps if cheap else policy.rung_sweeps):
            return True
        settled = policy.chance_db if cheap else policy.rung_settled_db
        behind = bool(path.rungs) and self.better(path) is path.best
        return not (behind or path.now.report.settling) and gain < settled and tuning >= Tuning.IN_VAIN

    def _with_rung(self, path: Path) -> Path:
        """The path with the present ring as another rung, and as the best one if it is better."""
        error, seconds = path.trials.error(path.now) * self.data_range, perf_counter() - self.began
        rungs = (*path.rungs, Rung(path.now.state.plan.rank, path.now.parameters, error, seconds))
        if not path.rungs or path.trials.compare(path.now, path.best).gain > self.policy.chance_db:
            return replace(path, rungs=rungs, best=path.now).moved(idle_rungs=0)
        return replace(path, rungs=rungs).moved(idle_rungs=path.at.idle_rungs + 1)

    def _enough(self, path: Path) -> bool:
        """Whether the ring is as good as the target, or describes the data exactly."""
        choice, trials, now = self.whole.choice, path.trials, path.now
        if choice is not None and choice.psnr is not None:
            return trials.validator.psnr(now.state.cores, choice) >= choice.psnr
        return trials.error(now) < self.policy.exact

    def _settled(self, path: Path) -> bool:
        """Whether the last ring gets no better, or is exact."""
        at, policy = path.at, self.policy
        exact = path.trials.error(path.now) < policy.exact and at.gain < policy.rung_goes_on_db
        return exact or at.idle >= policy.patience + (at.tuning is not Tuning.DONE)

    def _untuned(self, path: Path) -> Path:
        """Start to try all parameters again."""
        return path.moved(parameters=TunedParameters(self.parameters).state, tuned_at=inf, idle=0)
