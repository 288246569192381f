"""A fit that chooses its ranks, penalties and kernel width by entries that it does not see.

Every round goes on from where the last one ended and tries one change beside what would be done anyway: a penalty
turned up or down for a sweep, or wider bonds. What the held-out entries prefer is kept; nothing is fitted twice.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, log, log10, nan
from typing import TYPE_CHECKING

import numpy as np

from ringlet.errors import BudgetError, DataWarning, FormatError
from ringlet.execution import Placement, Profile
from ringlet.ring.chain import Core
from ringlet.robust import Kernel
from ringlet.sampling import Purpose, stream
from ringlet.solvers.driver import RunState, SweepReport
from ringlet.solvers.heldout import Array64, Judge, hide
from ringlet.solvers.penalties import Knob, Knobs, Penalties
from ringlet.solvers.problem import Problem, first_look
from ringlet.solvers.rank_growth import parameters, widen, wider_rank
from ringlet.solvers.recall import name_cores, recall_array, recall_number
from ringlet.solvers.ring_snapshot import RingSnapshot
from ringlet.solvers.robust_run import Position, RobustRun

if TYPE_CHECKING:
    from ringlet.solvers.robust_ring import RobustRing

__all__ = ["AutomaticRun", "hold_out"]

_TRIALS = 1 << 20  # sweeps that are tried in a round have numbers from here on; those of the rounds count on
_FIRST_RIDGE = 0.01
_ORDERED = 8  # modes of fewer slices are not smoothed
_PROGRESS = 0.1  # dB that a turn of all knobs has to gain
_SETTLED = 0.1  # dB a sweep: below, a rank has shown what it can do
_SETTLING_ROUNDS = 3
_FAST = 0.7  # dB a sweep: above, bonds do not grow yet
_LARGE = 0.3  # dB: a growth that gains more is followed by the next at once
_SIMILAR = 0.7  # bonds that promise this part of what the best one does grow together with it
_WORTH = 0.03  # dB that wider bonds have to gain
_SURE, _LIKELY = 2.0, 1.0  # standard errors
_WEAK = 0.1  # smoothness of all modes together that is given up unless it helps
_FAILURES = 2  # so many growths in a row that did not pay end it
_LAST_SWEEPS = 2  # with all entries, at the end


@dataclass(frozen=True)
class Stand:
    """A position, what the sweep that led to it reports, and its residuals at the held-out entries."""

    position: Position
    report: SweepReport
    residuals: Array64


def hold_out(problem: Problem) -> tuple[Problem, Judge]:
    """The problem without a few entries, and the judge that knows them."""
    judge, lot = Judge.of(problem.source, problem.survey.observed, problem.seed)
    hidden = hide(problem.source, lot)
    return replace(problem, source=hidden, survey=first_look(hidden, problem.executor)), judge


class AutomaticRun:
    """A fit that chooses.

    Parameters
    ----------
    solver : RobustRing
    problem : Problem
        With all entries.
    run : RobustRun
        Of the problem that `hold_out` gives.
    judge : Judge
        Of the entries that `run` does not see.
    place : callable
        Puts all entries on the cluster, if there is one, when they are needed.
    """

    def __init__(
        self,
        solver: "RobustRing",
        problem: Problem,
        run: RobustRun,
        judge: Judge,
        place: Callable[[], Placement | None],
    ) -> None:
        self._solver = solver
        self._problem = problem
        self._run = run
        self._place = place
        self._judge = judge.scaled(run.size)
        if isinstance(solver.ridge, str):
            self._run.penalties = replace(self._run.penalties, ridge=_FIRST_RIDGE / self._run.level)
        self._stand = self._standing(SweepReport(change=inf, loss=nan))
        self._knobs = Knobs(_open_knobs(solver, problem.source.shape))
        self._most = 0  # parameters
        if problem.choice is not None:
            itemsize = self._stand.position.cores[0].dtype.itemsize
            self._most = problem.choice.most_parameters(problem.source.shape, itemsize)
        self._growing = self._run.thrifty = problem.choice is not None
        self._failures = 0  # growths in a row that did not pay
        self._rounds_here = 0  # since the last growth
        self._last_gain = 0.0  # of a sweep, in dB
        self._quiet = 0  # rounds in a row without a change
        self._closing = 0  # sweeps with all entries
        self._mark, self._rounds_idle = 1e9, 0  # the error when progress was seen last, and rounds since then
        self._turns = 0  # turns of knobs that helped since growth ended
        self._regrown = False

    @property
    def profile(self) -> Profile:
        """Where the time went."""
        return self._run.profile

    @property
    def size(self) -> float:
        """The data are divided by it."""
        return self._run.size

    @property
    def level(self) -> float:
        """How far the data lie from zero, in units of their size; at least 1."""
        return self._run.level

    @property
    def kernel(self) -> Kernel:
        """Loss and width, in the data's units."""
        return replace(self._run.kernel, width=self._stand.position.sigma)

    @property
    def penalties(self) -> Penalties:
        """Those of the present model."""
        return self._stand.position.penalties

    def snapshot(self) -> RingSnapshot:
        """The present model: never one that is only tried."""
        return RingSnapshot(self._stand.position.cores, self._run.size, self._problem.survey.empty)

    def sweep(self, number: int) -> SweepReport:
        """One round."""
        if self._closing or (self._quiet >= self._solver.patience and not self._grows_again()):
            return self._close(number)
        if self._growing and (self._failures >= _FAILURES or not self._wider_ranks()):
            self._growing = self._run.thrifty = False
            self._turns = 0
        if self._growing and (self._last_gain < _SETTLED or self._rounds_here >= _SETTLING_ROUNDS):
            self._grow(number)
        else:
            self._improve(number)
        error = self._judge.error(self._stand.residuals) * self._run.size
        return replace(self._stand.report, settling=True, stalled=False, held_out=error)

    def _grows_again(self) -> bool:
        """Begin to grow anew, once, if penalties or width have changed since growth ended: other bonds may pay now."""
        if self._regrown or not self._turns or not self._wider_ranks():
            return False
        self._growing = self._regrown = True
        self._failures = self._quiet = 0
        return True

    def _improve(self, number: int) -> None:
        """A sweep with the present penalties, and one with a knob turned."""
        before = self._stand
        plain = self._swept(before.position, number)
        self._last_gain = self._judge.compare(plain.residuals, before.residuals).gain
        turned = self._turned(before, plain, number)
        self._stand = turned or plain
        self._rounds_here += 1
        idle = not self._growing and self._idle()
        small = plain.report.change < self._solver.tol and not plain.report.settling
        self._quiet = self._quiet + 1 if idle and small else 0

    def _idle(self) -> bool:
        """Whether nothing was gained since every knob was turned, or none is left to turn."""
        error = self._judge.error(self._stand.residuals)
        if error < self._mark * 10 ** (-_PROGRESS / 20):
            self._mark, self._rounds_idle = error, 0
        else:
            self._rounds_idle += 1
        return self._rounds_idle > len(self._knobs) or self._knobs.all_rest(self._parameters())

    def _turned(self, before: Stand, plain: Stand, number: int) -> Stand | None:
        """The sweep with a knob turned, if it is better than the plain one."""
        if not self._growing and self._last_gain > _FAST:  # it is too early to tell what helps
            return None
        # A model of too small a rank would take for wrong what it cannot reach yet: the width waits.
        without = ("width",) if self._growing else ()
        penalties = self._knobs.turned(before.position.penalties, self._parameters(), without)
        if penalties is None:
            return None
        narrower = min(1.0, penalties.width / before.position.penalties.width)  # at once, to see what it does
        position = replace(before.position, penalties=penalties, narrowest=before.position.narrowest * narrower)
        turned = self._swept(position, number)
        verdict = self._judge.compare(turned.residuals, plain.residuals)
        weaker = _WEAK >= sum(before.position.penalties.smooth) > sum(penalties.smooth)
        helped = verdict.certainty > (-_LIKELY if weaker else _LIKELY)
        self._knobs.answer(helped=helped)
        self._turns += helped
        return turned if helped else None

    def _grow(self, number: int) -> None:
        """A sweep, then wider bonds where they promise most, kept if they pay."""
        plain = self._swept(self._stand.position, number)
        self._last_gain = self._judge.compare(plain.residuals, self._stand.residuals).gain
        self._stand = plain
        options = self._wider_ranks()
        if not options:  # that sweep has reached the target
            return
        if self._last_gain > _FAST and self._rounds_here < _SETTLING_ROUNDS:  # it is too early to tell what bonds bring
            self._rounds_here += 1
            self._last_gain = 0.0
            return
        try:
            rank = self._promising_rank(plain, options, number)
            wider = self._swept(self._widened(plain, rank, number), number, 1)
            verdict = self._judge.compare(wider.residuals, plain.residuals)
            if verdict.gain < _LARGE:
                wider = self._swept(wider.position, number, 2)
                verdict = self._judge.compare(wider.residuals, plain.residuals)
        except BudgetError:  # no room for a larger ring
            self._most = self._parameters()
            return
        paid = verdict.certainty > _SURE and verdict.gain > _WORTH + max(0.0, self._last_gain) / 2
        if paid:
            self._stand = wider
        self._failures = 0 if paid else self._failures + 1
        self._rounds_here = 0
        self._last_gain = 0.0 if paid and verdict.gain > _LARGE else inf

    def _promising_rank(self, plain: Stand, options: dict[int, tuple[int, ...]], number: int) -> tuple[int, ...]:
        """The rank with those bonds wider that gain most for their size when the two cores beside them are updated."""
        shape, size = self._problem.source.shape, self._parameters()
        if len(options) == 1:
            return next(iter(options.values()))
        promises = {}
        for bond, rank in options.items():
            modes = sorted({(bond - 1) % len(shape), bond})
            tried = self._swept(self._widened(plain, rank, number), number, 1, modes)
            gain = self._judge.compare(tried.residuals, plain.residuals).gain
            gain -= max(0.0, self._last_gain) * len(modes) / len(shape)  # what the updates bring without it
            promises[bond] = gain / log(parameters(shape, rank) / size)
        ranking = sorted(options, key=lambda bond: -promises[bond])
        chosen = list(options[ranking[0]])
        for bond in ranking[1:]:
            together = [*chosen[:bond], options[bond][bond], *chosen[bond + 1 :]]
            similar = promises[bond] >= _SIMILAR * promises[ranking[0]] > 0
            if similar and parameters(shape, together) <= self._most:
                chosen = together
        return tuple(chosen)

    def _widened(self, stand: Stand, rank: Sequence[int], number: int) -> Position:
        cores: Sequence[Core] = stand.position.cores
        for bond, width in enumerate(rank):
            if width > cores[bond].shape[0]:
                cores = widen(cores, bond, width, stream(self._problem.seed, Purpose.GROWTH, number, bond))
        return replace(stand.position, cores=tuple(cores))

    def _wider_ranks(self) -> dict[int, tuple[int, ...]]:
        """For every bond that may grow, the rank that this would give."""
        if self._problem.choice is None or self._reached():
            return {}
        shape, rank = self._problem.source.shape, self._rank()
        options = {bond: wider_rank(shape, rank, bond, self._most) for bond in range(len(shape))}
        return {bond: wider for bond, wider in options.items() if wider is not None}

    def _reached(self) -> bool:
        psnr = None if self._problem.choice is None else self._problem.choice.psnr
        return psnr is not None and self._psnr() >= psnr

    def warn_if_missed(self) -> None:
        """Say so if the target was not reached."""
        choice = self._problem.choice
        if choice is not None and choice.psnr is not None and not self._reached():
            warnings.warn(
                f"target(psnr={choice.psnr}) was not reached: {self._psnr():.1f} dB on held-out entries with rank "
                f"{self._rank()}",
                DataWarning,
                stacklevel=2,
            )

    def _psnr(self) -> float:
        """Of the held-out entries; the peak is the data's range."""
        return -20 * log10(self._judge.error(self._stand.residuals))

    def _close(self, number: int) -> SweepReport:
        """A sweep with all entries; the last ones."""
        if not self._closing:
            self._see_all()
        self._closing += 1
        self._stand = self._swept(self._stand.position, number)
        return replace(self._stand.report, settling=True, converged=self._closing >= _LAST_SWEEPS)

    def _see_all(self) -> None:
        self._run.look_at(self._problem, self._place())

    def _swept(self, position: Position, number: int, step: int = 0, modes: Sequence[int] | None = None) -> Stand:
        """Where a sweep leads from a position."""
        self._run.go_to(position)
        return self._standing(self._run.sweep(number + step * _TRIALS, modes))

    def _standing(self, report: SweepReport) -> Stand:
        position = self._run.position
        return Stand(position, report, self._judge.residuals(position.cores))

    def _rank(self) -> tuple[int, ...]:
        return tuple(core.shape[0] for core in self._stand.position.cores)

    def _parameters(self) -> int:
        return parameters(self._problem.source.shape, self._rank())

    def state(self) -> RunState:
        """The present position, and what the next round's choice depends on."""
        position = self._stand.position
        penalties = position.penalties
        counters: list[float] = [
            self._most,
            self._growing,
            self._failures,
            self._rounds_here,
            self._quiet,
            self._closing,
        ]
        counters += [self._regrown, self._turns, self._mark, self._rounds_idle]
        gain = min(self._last_gain, 1e9)
        return {
            **name_cores(position.cores),
            "sigma": position.sigma,
            "narrowest": position.narrowest,
            "penalties": np.array([-1.0 if penalties.ridge is None else penalties.ridge, penalties.width]),
            "smooth": np.array(penalties.smooth),
            "counters": np.array([gain, *counters, *self._knobs.state()], np.float64),
        }

    def resume(self, state: RunState) -> None:
        """Go on from a state."""
        shapes = [np.shape(state.get(f"core.{mode}", 0)) for mode in range(len(self._rank()))]
        closes = all(
            len(shape) == 3 and shape[2] == shapes[mode - len(shapes) + 1][0] for mode, shape in enumerate(shapes)
        )
        if not closes or tuple(shape[1] for shape in shapes) != self._problem.source.shape:
            raise FormatError(f"the cores of the state have shapes {shapes}, which make no ring of this tensor")
        dtype = self._stand.position.cores[0].dtype
        cores = tuple(recall_array(state, f"core.{mode}", shape, dtype) for mode, shape in enumerate(shapes))
        now = self.state()
        ridge, width = recall_array(state, "penalties", (2,), np.dtype("f8"))
        smooth = recall_array(state, "smooth", (len(cores),), np.dtype("f8"))
        counters = recall_array(state, "counters", np.shape(now["counters"]), np.dtype("f8"))
        penalties = Penalties(None if ridge < 0 else float(ridge), tuple(map(float, smooth)), float(width))
        sigma, narrowest = recall_number(state, "sigma"), recall_number(state, "narrowest")
        self._last_gain = float(counters[0])
        self._most, growing, self._failures, self._rounds_here, self._quiet, self._closing = map(int, counters[1:7])
        self._regrown, self._turns = bool(counters[7]), int(counters[8])
        self._mark, self._rounds_idle = float(counters[9]), int(counters[10])
        self._growing = self._run.thrifty = bool(growing)
        self._knobs.resume(counters[11:].tolist())
        if self._closing:
            self._see_all()
        self._run.go_to(Position(cores, sigma, narrowest, None, penalties))
        self._run.recall_change()
        self._stand = self._standing(self._stand.report)


def _open_knobs(solver: "RobustRing", shape: tuple[int, ...]) -> list[Knob]:
    """What the solver leaves open: smoothness of all ordered modes together, the others, smoothness of single modes."""
    ordered = tuple(mode for mode, length in enumerate(shape) if length >= _ORDERED)
    smooth = isinstance(solver.smooth, str)
    knobs = [Knob("smooth", ordered)] if smooth and ordered else []
    if isinstance(solver.ridge, str):
        knobs.append(Knob("ridge"))
    if isinstance(solver.sigma, str) and solver.sigma_factor is None and solver.loss != "l2":
        knobs.append(Knob("width"))
    if smooth and len(ordered) > 1:
        knobs += [Knob("smooth", (mode,)) for mode in ordered]
    return knobs
