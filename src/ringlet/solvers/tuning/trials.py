"""Sweeps of a fit, tried beside each other, and what entries that the fit does not see say of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, nan

from ringlet.ring.chain import Core
from ringlet.solvers.driver import SweepReport
from ringlet.solvers.rank_choice import parameters
from ringlet.solvers.sawrtrd.algorithm import Position, RobustRun
from ringlet.solvers.tuning.holdout import Array64, Judge, Verdict
from ringlet.solvers.tuning.tuned_parameters import Knobs, Penalties

__all__ = ["Stand", "Trials"]

_EXACT = 1e-3  # held-out error, in data ranges, below which the smallest ridge is no longer small
_TRIALS = 1 << 20  # sweeps that are only tried have numbers from here on; those of the rounds count on


@dataclass(frozen=True)
class Stand:
    """A position, what the sweep that led to it reports, and its residuals at the held-out entries."""

    position: Position
    report: SweepReport
    residuals: Array64

    @property
    def rank(self) -> tuple[int, ...]:
        """The bond before every mode."""
        return tuple(core.shape[0] for core in self.position.cores)

    @property
    def parameters(self) -> int:
        """Numbers in the cores."""
        return parameters([core.shape[1] for core in self.position.cores], self.rank)


class Trials:
    """Sweeps from any position, judged.

    Parameters
    ----------
    run : RobustRun
        It does the sweeps, and does not see the entries of the judge.
    judge : Judge
        In units of the data's size.
    """

    def __init__(self, run: RobustRun, judge: Judge) -> None:
        self._run = run
        self._judge = judge

    def size_for(self, rank: tuple[int, ...] | None) -> None:
        """Let updates look at no more entries than a ring of this rank needs; None: at all."""
        self._run.sized_for = rank

    def here(self) -> Stand:
        """Where the run stands, before any sweep."""
        return self._stand(SweepReport(change=inf, loss=nan))

    def at(self, stand: Stand, cores: Sequence[Core]) -> Stand:
        """The same with other cores, of other bonds perhaps."""
        position = replace(stand.position, cores=tuple(cores))
        return Stand(position, stand.report, self._judge.residuals(position.cores))

    def swept(self, position: Position, number: int, step: int = 0) -> Stand:
        """Where a sweep leads from a position; a `step` above 0 has draws of its own."""
        self._run.go_to(position)
        return self._stand(self._run.sweep(number + step * _TRIALS))

    def updated(self, position: Position, number: int, step: int, mode: int) -> Position:
        """Where the update of one core leads from a position, without asking the held-out entries."""
        self._run.go_to(position)
        self._run.update_alone(number + step * _TRIALS, mode)
        return self._run.position

    def forked(self, before: Stand, number: int, knobs: Knobs, due: Mapping[int, int]) -> tuple[Stand, bool]:
        """Where a sweep leads in which cores are updated twice, also with a knob turned; and whether a turn helped.

        After each such update the held-out entries choose: a turn costs one core update, not a sweep. `due` names the
        knob for every mode that has one.
        """
        run, size, helped = self._run, before.parameters, False
        exact = self.error(before) < _EXACT
        run.go_to(before.position)
        steps = []
        for mode in range(len(before.position.cores)):
            here = run.position
            steps.append(run.update(number, mode))
            penalties = knobs.turned(due[mode], here.penalties, size, exact=exact) if mode in due else None
            if penalties is None:
                continue
            plain = run.position
            run.go_to(_turned(here, penalties))
            step = run.update(number, mode)
            verdict = self._judge.compare(*(self._judge.residuals(one.cores) for one in (run.position, plain)))
            if knobs.answer(due[mode], here.penalties, penalties, verdict.certainty):
                steps[-1] = step
                helped = True
            else:
                run.go_to(plain)
        return self._stand(run.report(steps)), helped

    def compare(self, new: Stand, old: Stand) -> Verdict:
        """What the held-out entries say."""
        return self._judge.compare(new.residuals, old.residuals)

    def error(self, stand: Stand) -> float:
        """Robust root mean square at the held-out entries, in units of the data's size."""
        return self._judge.error(stand.residuals)

    def _stand(self, report: SweepReport) -> Stand:
        position = self._run.position
        return Stand(position, report, self._judge.residuals(position.cores))


def _turned(position: Position, penalties: Penalties) -> Position:
    narrower = min(1.0, penalties.width / position.penalties.width)  # at once, to see what it does
    return replace(position, penalties=penalties, narrowest=position.narrowest * narrower)
