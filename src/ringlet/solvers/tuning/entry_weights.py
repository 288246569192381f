"""Weights of entries in an automatic fit: first from a kernel, then from the judgement by their neighbours.

A judgement makes a new path and leaves the old one unchanged.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, log10, prod
from time import perf_counter
from typing import Any

import numpy as np

from ringlet.errors import FormatError
from ringlet.execution import Placement
from ringlet.results.records import RunState
from ringlet.results.ring_snapshot import RingSnapshot
from ringlet.solvers.base import Problem
from ringlet.solvers.tuning.judgements import TRUSTED, Judgement
from ringlet.solvers.tuning.judging import Judge, was_judged
from ringlet.solvers.tuning.path_state import Counting, Path, Phase
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.trials import Trial, Trials
from ringlet.solvers.tuning.validator import HeldOut, Validator

__all__ = ["EntryWeights"]

_HOPELESS = 1e3  # data ranges: an entry so far from others dominates least squares, which are then not tried


@dataclass(frozen=True)
class EntryWeights:
    """Decides which entries count, and how, by the error at held-out entries.

    Attributes
    ----------
    held : HeldOut
    unjudged : Validator
        Of all held-out entries, in data ranges.
    policy : TuningPolicy
    judge : Judge or None
        None: a kernel gives the weights to the end.
    place : callable
        Puts the entries of a problem on the cluster, if there is one.
    deadline : float
        Time of `perf_counter` by which the fit should end.
    """

    held: HeldOut
    unjudged: Validator
    policy: TuningPolicy
    judge: Judge | None
    place: Callable[[Problem], Placement | None] = lambda _: None
    deadline: float = inf

    def outdated(self, path: Path) -> bool:
        """Whether the ring is much better than at the last judgement, and there is time for another one."""
        error, last = self.unjudged.error(path.now.residuals), path.at.judged_at
        if self.judge is None or not error > 0:
            return False
        return (last == inf or 20 * log10(last / error) >= self.policy.rejudging_db) and self._in_time(path)

    @property
    def large(self) -> bool:
        """Whether the entries are so numerous that a last ring is not swept on for long."""
        return prod(self.held.whole.source.shape) > self.policy.last_judging_entries

    def may_judge_last(self, path: Path) -> bool:
        """Whether entries are judged once more before the last sweeps."""
        whole, policy = self.held.whole, self.policy
        most = policy.judgements if whole.choice is None else int(not self.large)
        return self.judge is not None and path.at.judgements < most and self._in_time(path)

    def may_judge_finally(self, path: Path) -> bool:
        """Whether the last ring judges entries before the last sweeps; restored entries use this judgement, too."""
        judge, whole = self.judge, self.held.whole
        if judge is None or not judge.at_once or whole.choice is None or self.held.guided:
            return False
        return path.judgement is not None and self.large

    def may_begin_again(self, path: Path, began: float) -> bool:
        """Whether another path is tried: small data in which entries are doubted, and time for as long a fit again."""
        judge, judgement = self.judge, path.judgement
        if judge is None or judgement is None or not (judge.at_once and self.policy.begins_again):
            return False
        whole, choice, now = self.held.whole, self.held.whole.choice, perf_counter()
        small = prod(whole.source.shape) <= self.policy.last_judging_entries
        free = choice is not None and choice.psnr is None and whole.init is None
        if not (small and free and 2 * now - began < self.deadline):
            return False
        weights = judgement.weights(tuple([slice(None)] * len(whole.source.shape)))
        doubted = int(np.count_nonzero((weights > 0) & (weights < TRUSTED)))
        return doubted > self.policy.least_doubted * whole.survey.observed

    def strictly_judged(self, path: Path) -> Path:
        """Go on with what would be believed by the present ring if this had not seen it."""
        assert self.judge is not None  # noqa: S101 - asked before
        assert path.judgement is not None  # noqa: S101
        algorithm = path.trials.algorithm
        used = self.judge.used_by(algorithm.problem)
        judgement = self.judge.judge_unseen(path.judgement, path.now.state.cores, used, algorithm.mapper)
        return self.counted(replace(path, judgement=judgement), Counting.BELIEVED)

    def _in_time(self, path: Path) -> bool:
        """Whether a judgement and the next sweep will end by the deadline."""
        if self.judge is None or self.judge.at_once:  # seconds
            return True
        source, sweep = self.held.whole.source, path.now.state.plan.bytes_read
        entries = prod(source.shape)
        if source.chunks is not None:
            entries = min(entries, sweep // source.dtype.itemsize)
        return perf_counter() + self.policy.judging_seconds * entries < self.deadline

    def judged(self, path: Path, number: int) -> Path:
        """Judge all entries by the present ring. Trusted ones count, and doubted ones if they do no harm.

        Entries that a small ring cannot fit look wrong, and a larger ring could not learn them if they were left out.
        """
        assert self.judge is not None  # noqa: S101 - asked before
        judgement = self.judge.judge(path.now.state.cores, path.trials.algorithm.mapper)
        path = self.counted(replace(path, judgement=judgement), Counting.BELIEVED)
        path = self.recounted(path, number, Counting.ALIKE)
        return path.moved(judged_at=self.unjudged.error(path.now.residuals))

    def recounted(self, path: Path, number: int, counting: Counting) -> Path:
        """Count entries in another way, if some sweeps with it give a better ring than as many without it.

        If entries are judged, doubted ones may count again: by least squares, or with the weights of a kernel as all
        others. If they are not judged, least squares may replace the kernel: rare entries may be right.
        """
        policy, judgement = self.policy, path.judgement
        if judgement is None:
            chooses = policy.chooses_least_squares and path.trials.algorithm.settings.tunes_width
            may_change = chooses and path.at.counting is Counting.WEIGHED
        else:
            may_change = policy.readmits and path.at.counting is Counting.BELIEVED and judgement.doubts
        if not may_change:
            return path
        changed = self.counted(path, counting)
        algorithm = changed.trials.algorithm
        survey, far = algorithm.problem.survey, _HOPELESS * algorithm.scale.data_range
        if counting is Counting.ALIKE and survey.maximum - survey.minimum >= far:
            return path
        start = replace(path.now, state=replace(path.now.state, narrowest=0.0))
        usual, other = replace(path, now=start), replace(changed, now=start)
        lead = self._lead(other, usual)
        for trial in range(Trial.COUNTING, Trial.COUNTING + policy.counting_sweeps):
            usual = replace(usual, now=usual.trials.swept(usual.now.state, number, trial))
            if judgement is None or lead >= -policy.sure:  # else more sweeps do not change that
                other = replace(other, now=other.trials.swept(other.now.state, number, trial))
                lead = self._lead(other, usual)
        for one in (usual, other):
            one.trials.algorithm.engine.close()
        return other if lead > 0 else usual

    def _lead(self, other: Path, usual: Path) -> float:
        """By how much another way to count entries is better than the usual one, less what a path that takes it asks.

        The error at all held-out entries decides, the doubted ones included: wrong entries cannot be predicted, and a
        ring that has learned some is worse at all others. In dB before a judgement, in standard errors after it.
        """
        policy, judgement = self.policy, usual.judgement
        if judgement is None:
            return usual.trials.compare(other.now, usual.now).gain - policy.least_squares_gain_db
        residuals = other.now.residuals, usual.now.residuals
        certainty = self.unjudged.certainty_with_doubted(*residuals, judgement.weights)
        return certainty - (policy.sure if other.at.counting is Counting.WEIGHED else -policy.no_worse)

    def counted(self, path: Path, counting: Counting) -> Path:
        """Continue with the entries that count; in the last sweeps held-out entries count, too."""
        closing, validator, algorithm = path.at.phase is Phase.CLOSING, self.unjudged, path.trials.algorithm
        problem = self.held.whole if closing else self.held.seen
        if path.judgement is not None:
            weights = path.judgement.weights
            problem = path.judgement.counted(problem, doubted=counting is not Counting.BELIEVED)
            if counting is Counting.BELIEVED:
                validator = validator.judged(weights)
            elif counting is Counting.ALIKE:  # they include no wrong entries, or few
                validator = validator.judged(lambda index: weights(index) > 0, sure=False)
        if closing or path.judgement is not None:
            algorithm = algorithm.on(problem, self.place(problem))
        algorithm = algorithm.with_kernel(counting is Counting.WEIGHED)
        return replace(path, trials=Trials(algorithm, validator)).moved(counting=counting)

    def judged_finally(self, path: Path) -> Path:
        """Judge all entries by the present ring, which has not seen the held-out ones; their use does not change."""
        assert self.judge is not None  # noqa: S101 - asked before
        algorithm = path.trials.algorithm
        last = RingSnapshot(path.now.state.cores, algorithm.scale.data_range, self.held.whole.survey.empty)
        judgement, judged = self.judge.finally_by(last.ring(), algorithm.mapper)
        return replace(path, judgement=judgement, judged=judged)

    def resumed(self, state: RunState, dtype: np.dtype[Any]) -> Judgement | None:
        """The judgement of a saved state, which has cores of this dtype; None if there was none."""
        if self.judge is not None:
            return self.judge.resumed(state, dtype)
        if was_judged(state):
            raise FormatError("the state is of a fit that judges entries, for which the memory budget leaves no room")
        return None
