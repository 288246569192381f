"""Sweeps tried from any state, and compared at held-out entries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from ringlet.results.records import SweepReport
from ringlet.ring.chain import Core
from ringlet.solvers.engine.scaled_step import Penalties
from ringlet.solvers.sawrtrd.algorithm import Algorithm, FitState
from ringlet.solvers.tuning.tuned_parameters import TunedParameters
from ringlet.solvers.tuning.validator import Array64, Validator, Verdict

__all__ = ["Candidate", "Trial", "Trials"]

_EXACT = 1e-3  # validation error, in data ranges, below which even the smallest ridge matters
_TRIALS = 1 << 20  # numbers of trial sweeps begin here; those of the rounds are consecutive


class Trial(IntEnum):
    """The purpose of a sweep outside of the rounds: each has its own draws. Several in a row count on from it."""

    ROUND = 0
    FEATURES = 1  # and 2: updates that find the features of a wider bond
    GROWN = 3  # with wider bonds, or narrower ones
    REFIT = 4  # narrower bonds of exact data; fresh starts of a given rank
    COUNTING = 16  # with other entries, or without a kernel, and the next ones


@dataclass(frozen=True)
class Candidate:
    """A state, the report of the sweep that led to it, and its residuals at the held-out entries."""

    state: FitState
    report: SweepReport
    residuals: Array64

    @property
    def parameters(self) -> int:
        """Numbers in the cores."""
        return sum(map(np.size, self.state.cores))


@dataclass(frozen=True)
class Trials:
    """Sweeps from any state, validated.

    Attributes
    ----------
    algorithm : Algorithm
        The algorithm, which does not use the entries of the validator.
    validator : Validator
        In data ranges.
    """

    algorithm: Algorithm
    validator: Validator

    def candidate(self, state: FitState, report: SweepReport) -> Candidate:
        """A state with its residuals at the held-out entries."""
        return Candidate(state, report, self.validator.residuals(state.cores))

    def with_cores(self, candidate: Candidate, cores: Sequence[Core]) -> Candidate:
        """The same with other cores, perhaps with other bonds."""
        return self.candidate(self.algorithm.with_cores(candidate.state, cores), candidate.report)

    def swept(self, state: FitState, number: int, trial: int = Trial.ROUND, sweeps: int = 1) -> Candidate:
        """The candidate after some sweeps from a state, by default one."""
        for one in range(trial, trial + sweeps):
            state, report = self.algorithm.sweep(state, number + one * _TRIALS)
        return self.candidate(state, report)

    def updated(self, state: FitState, number: int, trial: int, mode: int) -> FitState:
        """The candidate after the update of one core."""
        grams = self.algorithm.grams(state)
        return self.algorithm.update(state, grams, (number + trial * _TRIALS, mode))[0]

    def tuned(
        self, before: Candidate, number: int, tuned: TunedParameters, due: Mapping[int, int]
    ) -> tuple[Candidate, bool]:
        """The candidate after a sweep with two updates of each core, also with changed parameters; whether one helped.

        After each such update the held-out entries choose. Both share what an update sees of the data: a trial costs a
        solve and a line search. `due` names the parameter for every mode that has one.
        """
        algorithm, validator, state, helped, reports = self.algorithm, self.validator, before.state, False, []
        grams, exact = algorithm.grams(state), self.error(before) < _EXACT
        for mode in range(len(state.cores)):
            moment, then = (number, mode), (number, mode + 1) if mode + 1 < len(state.cores) else None
            given, penalties = state.penalties, None
            if mode in due:
                penalties = tuned.changed(due[mode], given, before.parameters, exact=exact)
            look = algorithm.look(state, grams, moment, then)
            best = algorithm.updated(state, grams, look, again=penalties is not None)
            if penalties is not None:
                changed = _with_penalties(state, penalties)
                if penalties.width != given.width:
                    look = algorithm.look(changed, grams, moment, then)
                other = algorithm.updated(changed, grams, look)
                verdict = validator.compare(*[validator.residuals(one[0].cores) for one in (other, best)])
                if tuned.answer(due[mode], given, penalties, verdict.certainty):
                    best, helped = other, True
            state, grams, report = best
            reports.append(report)
        return self.candidate(*algorithm.report(state, grams, reports)), helped

    def compare(self, new: Candidate, old: Candidate) -> Verdict:
        """How much better a candidate is at the held-out entries."""
        return self.validator.compare(new.residuals, old.residuals)

    def error(self, candidate: Candidate) -> float:
        """Robust root mean square at the held-out entries, in data ranges."""
        return self.validator.error(candidate.residuals)


def _with_penalties(state: FitState, penalties: Penalties) -> FitState:
    """The state with other penalties; a narrower kernel is narrower at once, to show its effect."""
    narrower = min(1.0, penalties.width / state.penalties.width)
    return replace(state, penalties=penalties, narrowest=state.narrowest * narrower)
