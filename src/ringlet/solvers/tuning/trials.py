"""Sweeps tried from any state, and what held-out entries say of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from ringlet.results.records import SweepReport
from ringlet.ring.chain import Core
from ringlet.ring.ranks import parameters
from ringlet.solvers.sawrtrd.algorithm import Algorithm, FitState
from ringlet.solvers.sawrtrd.penalties import Penalties
from ringlet.solvers.tuning.tuned_parameters import TunedParameters
from ringlet.solvers.tuning.validator import Array64, Validator, Verdict

__all__ = ["Candidate", "Trial", "Trials"]

_EXACT = 1e-3  # validation error, in data ranges, below which the smallest ridge is no longer small
_TRIALS = 1 << 20  # sweeps that are only tried have numbers from here on; those of the rounds count on


class Trial(IntEnum):
    """What a sweep beside the rounds is for: each has random draws of its own. Several in a row count on from it."""

    ROUND = 0
    FEATURES = 1  # and 2: updates that find the features of a wider bond
    GROWN = 3  # with wider bonds, or narrower ones
    REFIT = 4  # narrower bonds of exact data; fresh starts of a given rank
    KERNEL = 16  # with and without a kernel, and the next ones


@dataclass(frozen=True)
class Candidate:
    """A state, the report of the sweep that led to it, and its residuals at the held-out entries."""

    state: FitState
    report: SweepReport
    residuals: Array64

    @property
    def parameters(self) -> int:
        """Numbers in the cores."""
        return parameters([core.shape[1] for core in self.state.cores], self.state.rank)


@dataclass(frozen=True)
class Trials:
    """Sweeps from any state, validated.

    Attributes
    ----------
    algorithm : Algorithm
        Does not see the entries of the validator.
    validator : Validator
        In data ranges.
    """

    algorithm: Algorithm
    validator: Validator

    def candidate(self, state: FitState, report: SweepReport) -> Candidate:
        """A state with its residuals at the held-out entries."""
        return Candidate(self.algorithm.released(state), report, self.validator.residuals(state.cores))

    def with_cores(self, candidate: Candidate, cores: Sequence[Core]) -> Candidate:
        """The same with other cores, of other bonds perhaps."""
        return self.candidate(self.algorithm.with_cores(candidate.state, cores), candidate.report)

    def swept(self, state: FitState, number: int, trial: int = Trial.ROUND) -> Candidate:
        """Where a sweep leads from a state."""
        return self.candidate(*self.algorithm.sweep(self.algorithm.released(state), number + trial * _TRIALS))

    def updated(self, state: FitState, number: int, trial: int, mode: int) -> FitState:
        """Where the update of one core leads from a state."""
        return self.algorithm.update(state, number + trial * _TRIALS, mode)[0]

    def tuned(
        self, before: Candidate, number: int, tuned: TunedParameters, due: Mapping[int, int]
    ) -> tuple[Candidate, bool]:
        """Where a sweep leads in which cores are updated twice, also with a parameter changed; whether a change helped.

        After each such update the held-out entries choose: a trial costs one core update, not a sweep. `due` names the
        parameter for every mode that has one.
        """
        state, size, helped, reports = self.algorithm.released(before.state), before.parameters, False, []
        exact = self.error(before) < _EXACT
        for mode in range(len(state.cores)):
            here, given = state, state.penalties
            then = (number, mode + 1) if mode + 1 < len(here.cores) else None
            state, report = self.algorithm.update(here, number, mode, then)
            penalties = tuned.changed(due[mode], given, size, exact=exact) if mode in due else None
            if penalties is not None:
                changed, other_report = self.algorithm.update(_with_penalties(here, penalties), number, mode, then)
                verdict = self.validator.compare(*map(self.validator.residuals, (changed.cores, state.cores)))
                if tuned.answer(due[mode], given, penalties, verdict.certainty):
                    state, report, helped = changed, other_report, True
            reports.append(report)
        return self.candidate(*self.algorithm.report(state, reports)), helped

    def compare(self, new: Candidate, old: Candidate) -> Verdict:
        """What the held-out entries say."""
        return self.validator.compare(new.residuals, old.residuals)

    def error(self, candidate: Candidate) -> float:
        """Robust root mean square at the held-out entries, in data ranges."""
        return self.validator.error(candidate.residuals)


def _with_penalties(state: FitState, penalties: Penalties) -> FitState:
    """The state with other penalties; a narrower kernel is narrower at once, to see what it does."""
    narrower = min(1.0, penalties.width / state.penalties.width)
    return replace(state, penalties=penalties, narrowest=state.narrowest * narrower)
