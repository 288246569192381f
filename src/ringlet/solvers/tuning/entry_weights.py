"""How entries count in an automatic fit: alike, weighed by a kernel, or as their neighbours judge them.

Each of the functions that a path may take as a step leads from it to another one, or back to the same.
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
from ringlet.solvers.sawrtrd.algorithm import FitState
from ringlet.solvers.tuning.judgements import Judgement
from ringlet.solvers.tuning.judging import Judge, was_judged
from ringlet.solvers.tuning.path_state import Path, Phase
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.trials import Trial, Trials
from ringlet.solvers.tuning.validator import HeldOut, Validator

__all__ = ["EntryWeights"]


@dataclass(frozen=True)
class EntryWeights:
    """Decides how entries count, by the error at held-out entries.

    Attributes
    ----------
    held : HeldOut
    unjudged : Validator
        Of all held-out entries, in data ranges.
    policy : TuningPolicy
    judge : Judge or None
        None: a kernel weighs entries.
    place : callable
        Puts the entries of a problem on the cluster, if there is one.
    """

    held: HeldOut
    unjudged: Validator
    policy: TuningPolicy
    judge: Judge | None
    place: Callable[[Problem], Placement | None] = lambda _: None

    def outdated(self, path: Path) -> bool:
        """Whether the present ring is much better than the one that entries were judged by last."""
        error, last = self.unjudged.error(path.now.residuals), path.at.judged_at
        if self.judge is None or not error > 0:
            return False
        return last == inf or 20 * log10(last / error) >= self.policy.rejudging_db

    def may_judge_last(self, path: Path) -> bool:
        """Whether entries are judged once more before the last sweeps."""
        whole, policy = self.held.whole, self.policy
        small = prod(whole.source.shape) <= policy.last_judging_entries
        most = policy.judgements if whole.choice is None else int(small)
        return self.judge is not None and path.at.judgements < most

    def may_judge_finally(self, path: Path) -> bool:
        """Whether the last ring judges entries before the last sweeps, and for those who look at neighbours then."""
        judge, whole = self.judge, self.held.whole
        if judge is None or not judge.at_once or whole.choice is None or self.held.guided:
            return False
        return path.judgement is not None and prod(whole.source.shape) > self.policy.last_judging_entries

    def in_time(self, path: Path, deadline: float) -> bool:
        """Whether judging, and the next sweep on what is judged for it, will end by a time of `perf_counter`."""
        if self.judge is None or self.judge.at_once:  # seconds
            return True
        source, sweep = self.held.whole.source, path.now.state.plan.bytes_read
        entries = prod(source.shape)
        if source.chunks is not None:
            entries = min(entries, sweep // source.dtype.itemsize)
        return perf_counter() + self.policy.judging_seconds * entries < deadline

    def judged(self, path: Path, _number: int) -> Path:
        """Go on with least squares of what is believed, all entries judged by the present ring."""
        assert self.judge is not None  # noqa: S101 - asked before
        judgement = self.judge.judge(path.now.state.cores, path.trials.algorithm.mapper)
        return self.believed(replace(path, judgement=judgement).moved(kernel=False, readmitted=False))

    def judged_finally(self, path: Path, _number: int) -> Path:
        """All entries judged by the present ring, which is the honest one; how they count stays as it is."""
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

    def believed(self, path: Path) -> Path:
        """Go on with the entries that the path believes."""
        at, judgement = path.at, path.judgement
        assert judgement is not None  # noqa: S101 - asked before
        problem = self.held.whole if at.phase is Phase.CLOSING else self.held.seen
        counted = judgement.counted(problem, doubted=at.readmitted)
        algorithm = path.trials.algorithm.on(counted, self.place(counted)).with_kernel(at.kernel)
        if not at.readmitted:
            validator = self.unjudged.judged(judgement.weights)
        elif at.kernel:  # wrong entries are among those that count
            validator = self.unjudged
        else:  # all alike that have any weight
            validator = self.unjudged.judged(lambda index: judgement.weights(index) > 0, sure=False)
        return replace(path, trials=Trials(algorithm, validator))

    def readmitted(self, path: Path, number: int, since: FitState | None = None) -> Path:
        """Let doubted entries count, too, if as many sweeps from the same start lead to a better ring.

        The error at all held-out entries decides, the doubted ones included. Wrong entries cannot be predicted: a ring
        that has learned some is worse at all others, and no better at those.

        Parameters
        ----------
        path : Path
        number : int
        since : FitState, optional
            Where `kernel_chosen` began: doubted entries may count if a kernel weighs all. By default all count alike.
        """
        judgement, policy, kernel = path.judgement, self.policy, since is not None
        if judgement is None or not judgement.doubts or path.at.readmitted or not policy.readmits:
            return path
        if not (kernel or self._hopeful(path.trials)):
            return path
        start = replace(since or path.now.state, narrowest=0.0)
        if since is None or path.now.state is since:
            path = replace(path, now=path.trials.swept(start, number, Trial.KERNEL, policy.kernel_sweeps))
        other = self.believed(path.moved(kernel=kernel, readmitted=True))
        counted = other.trials.swept(start, number, Trial.KERNEL, policy.kernel_sweeps)
        certainty = self.unjudged.certainty_with_doubted(counted.residuals, path.now.residuals, judgement.weights)
        if certainty > (policy.sure if kernel else -policy.no_worse):
            return replace(other, now=counted)
        other.trials.algorithm.engine.close()
        return path

    def kernel_chosen(self, path: Path, number: int) -> Path:
        """Least squares, or a kernel that doubts what lies far off: sweep with both, and go on with the better one.

        Entries that have been judged count alike unless a kernel is better, also by a validator for which only small
        residuals count. Others are weighed by a kernel unless least squares are much better: what is rare need not be
        wrong.
        """
        trials, policy = path.trials, self.policy
        chooses = policy.chooses_least_squares and trials.algorithm.settings.tunes_width
        if not (chooses and self._hopeful(trials)):
            return path
        both = [replace(trials, algorithm=trials.algorithm.with_kernel(kernel)) for kernel in (False, True)]
        start = replace(path.now.state, narrowest=0.0)
        by_squares = both[False].swept(start, number, Trial.KERNEL, policy.kernel_sweeps)
        by_kernel = both[True].swept(start, number, Trial.KERNEL, policy.kernel_sweeps)
        if path.judgement is not None:
            near = self.unjudged.judged(path.judgement.weights, sure=False)
            gain = near.compare(by_kernel.residuals, by_squares.residuals).gain
            kernel = gain > policy.kernel_gain_db and trials.compare(by_kernel, by_squares).gain > 0
        else:
            kernel = trials.compare(by_squares, by_kernel).gain < policy.least_squares_gain_db
        now = by_kernel if kernel else by_squares
        return replace(path, trials=both[kernel], now=now).moved(kernel=kernel)

    def _hopeful(self, trials: Trials) -> bool:
        """Whether least squares could describe all entries."""
        algorithm = trials.algorithm
        survey, far = algorithm.problem.survey, self.policy.hopeless_ranges * algorithm.scale.data_range
        return survey.maximum - survey.minimum < far
