"""A fit that chooses its ranks, penalties and kernel width by entries that it does not see.

Every round is a sweep that goes on from where the last one ended. In it cores are updated twice, as they would be
anyway and with a penalty turned up or down; after it wider bonds are tried. What the held-out entries prefer is kept;
nothing is fitted twice.
"""

from collections.abc import Callable
from dataclasses import replace
from math import inf, isnan, prod
from typing import TYPE_CHECKING

import numpy as np

from ringlet.errors import DataWarning, FormatError, warn
from ringlet.execution import Placement, Profile
from ringlet.robust import Kernel
from ringlet.solvers.driver import RunState, SweepReport
from ringlet.solvers.problem import Problem, first_look
from ringlet.solvers.ring_snapshot import RingSnapshot
from ringlet.solvers.saved_state import name_cores, recall_array, recall_number
from ringlet.solvers.sawrtrd.algorithm import Position, RobustRun
from ringlet.solvers.sawrtrd.start import given_start
from ringlet.solvers.tuning.bond_growth import BondGrowth
from ringlet.solvers.tuning.holdout import Judge, hide
from ringlet.solvers.tuning.hole_guides import guide_holes
from ringlet.solvers.tuning.restarts import Restarts
from ringlet.solvers.tuning.trials import Stand, Trials
from ringlet.solvers.tuning.tuned_parameters import Knobs, Penalties, Tuning, open_knobs

if TYPE_CHECKING:
    from ringlet.solvers.sawrtrd.settings import RobustRing
    from ringlet.solvers.tuning.coarse_start import CoarseStart

__all__ = ["AutomaticRun", "hold_out"]

_FIRST_RIDGE = 0.01
_FAST = 0.7  # dB a sweep: above, it is too early to tell what helps
_PROGRESS = 0.1  # dB that have to be gained in
_PATIENCE = 3  # rounds, or else the fit ends
_SURE = 2.0  # standard errors by which a ring to begin with has to be better
_LAST_SWEEPS = 2  # with all entries, at the end
_ALL_TRUSTED = 1e3  # factor of the kernel width
_TRUSTING_SWEEPS, _TRUSTING_GAIN = 4, 0.5  # of least squares, and what they have to gain in dB
_HOPELESS = -2.0  # dB after any of them: there are outliers
_FIRST_TRUSTING = 16  # number of the first of them among a round's trials
_RELAXING = 20  # and that of the sweep with a wider kernel


def hold_out(problem: Problem, budget: int | None = None) -> tuple[Problem, Problem, Judge]:
    """The problem with guides in large holes, the same without a few entries, and the judge that knows them."""
    whole, observed = problem.source, problem.survey.observed
    judge, lot = Judge.of(whole, observed, problem.seed)
    seen = hide(whole, lot)
    if observed < prod(whole.shape):
        whole = guide_holes(whole, seen, problem.seed, budget)
        seen = hide(whole, lot)
    return (
        replace(problem, source=whole),
        replace(problem, source=seen, survey=first_look(seen, problem.executor)),
        judge,
    )


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
    start : callable, optional
        Gives a ring to begin with instead of that of `run`, and penalties; or None.
    """

    def __init__(
        self,
        solver: "RobustRing",
        problem: Problem,
        run: RobustRun,
        judge: Judge,
        place: Callable[[], Placement | None],
        start: Callable[[], "CoarseStart | None"] = lambda: None,
    ) -> None:
        self._problem = problem
        self._run = run
        self._ends = solver.tol > 0  # tol=0 asks for all sweeps
        self._place = place
        self._start = start
        if isinstance(solver.ridge, str):
            run.penalties = replace(run.penalties, ridge=_FIRST_RIDGE)
        self._trials = Trials(run, judge.scaled(run.size, run.level, run.position.cores[0].dtype))
        self._stand = self._trials.here()
        self._open_knobs = open_knobs(solver, problem.source.shape)
        self._knobs = Knobs(self._open_knobs)
        most = 0
        if problem.choice is not None:
            itemsize = self._stand.position.cores[0].dtype.itemsize
            most = problem.choice.most_parameters(problem.source.shape, itemsize)
        self._restarts = Restarts(self._trials, run, problem.seed, run.penalties)
        self._restarts.done = problem.choice is not None or problem.init is not None  # growing bonds need none
        self._growth = BondGrowth(self._trials, problem, most)
        self._growth.ended = problem.choice is None
        self._size()
        self._last_gain = inf  # of a sweep, in dB
        self._gained, self._rounds_idle = 0.0, 0  # dB since progress was seen last, and rounds
        self._trusting = False  # whether least squares have been tried
        self._closing = 0  # sweeps with all entries

    @property
    def profile(self) -> Profile:
        """Where the time went."""
        return self._run.profile

    @property
    def size(self) -> float:
        """The data are divided by it."""
        return self._run.size

    @property
    def penalty_unit(self) -> float:
        """What penalties are relative to, in mean diagonals of the Gram matrix."""
        return self._run.penalty_unit

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
        if number == 1:
            self._begin()
        if self._closing or (self._idle() and not self._begins_again(number) and not self._trusts_all(number)):
            return self._close(number)
        before = self._stand
        self._stand, tuning = self._swept(number)
        self._last_gain = self._trials.compare(self._stand, before).gain
        if self._growth.ended:
            self._note_progress()
        else:
            self._grow(number, tuning)
        error = self._trials.error(self._stand) * self._run.size
        return replace(self._stand.report, settling=True, stalled=False, held_out=error)

    def _begin(self) -> None:
        """Go to the ring that the fit is to begin with, if there is one that is better."""
        start = self._start()
        if start is None:
            return
        there, dtype = self._stand.position, self._stand.position.cores[0].dtype
        cores = given_start(start.ring, start.ring.shape, start.ring.rank, self._run.size, dtype)
        self._run.go_to(replace(there, cores=tuple(cores), penalties=start.penalties))
        stand = self._trials.here()
        if self._trials.compare(stand, self._stand).certainty > _SURE:
            self._stand = stand
            self._size()

    def _swept(self, number: int) -> tuple[Stand, Tuning]:
        """Where a sweep leads in which knobs are turned, and what became of them."""
        due = self._knobs.due(self._stand.parameters, self._waiting())
        if not due:
            return self._trials.swept(self._stand.position, number), Tuning.DONE
        if self._last_gain > _FAST:  # too early to tell what helps
            return self._trials.swept(self._stand.position, number), Tuning.EARLY
        stand, helped = self._trials.forked(self._stand, number, self._knobs, due)
        return stand, Tuning.HELPED if helped else Tuning.IN_VAIN

    def _waiting(self) -> tuple[str, ...]:
        """Knobs that are not turned yet.

        A model of too small a rank would take for wrong what it cannot reach: the width waits until wider bonds bring
        nothing, and smoothness while they bring much. The ridge does not: bonds must not make up for one that is too
        large.
        """
        if self._growth.ended or self._growth.failed:
            return ()
        return ("width", "smooth") if self._growth.eager else ("width",)

    def _grow(self, number: int, tuning: Tuning) -> None:
        before = self._stand
        self._stand = self._growth.grown(before, self._last_gain, number, tuning)
        if self._stand.parameters > before.parameters:
            self._stand = self._relaxed(self._stand, number)
        if self._growth.ended:
            self._stand = self._growth.trimmed(self._stand, number)
            self._gained, self._rounds_idle = 0.0, 0
        self._size()

    def _relaxed(self, stand: Stand, number: int) -> Stand:
        """A sweep with the rule's kernel width again, if that is better for a ring that has grown since narrowing it.

        What a small ring had to take for wrong may be what a larger one is to describe.
        """
        position = stand.position
        if position.penalties.width >= 1.0 or not self._knobs.awake("width", stand.parameters):
            return stand
        wide = replace(position, penalties=replace(position.penalties, width=1.0))
        relaxed, narrow = (self._trials.swept(start, number, _RELAXING) for start in (wide, position))
        return relaxed if self._trials.compare(relaxed, narrow).gain > 0 else narrow

    def _size(self) -> None:
        """While bonds grow, look at what the next larger ring needs, so that this one and that one see the same."""
        self._trials.size_for(None if self._growth.ended else self._growth.next_rank(self._stand))

    def _begins_again(self, number: int) -> bool:
        """Begin anew, once, if a fit of a given rank stands still although the rank could do better."""
        elsewhere = None if self._restarts.done else self._restarts.elsewhere(self._stand, number)
        if elsewhere is None:
            return False
        self._stand = elsewhere
        self._knobs = Knobs(self._open_knobs)
        self._rounds_idle = 0
        return True

    def _trusts_all(self, number: int) -> bool:
        """Go on with least squares, once, if these come nearer to entries that have been taken for wrong."""
        if self._trusting or all(knob.name != "width" for knob in self._open_knobs):
            return False
        self._trusting = True
        stand = self._stand
        position = replace(stand.position, penalties=replace(stand.position.penalties, width=_ALL_TRUSTED))
        for step in range(_FIRST_TRUSTING, _FIRST_TRUSTING + _TRUSTING_SWEEPS):
            stand = self._trials.swept(position, number, step)
            position = stand.position
            gained = self._trials.compare(stand, self._stand).gain
            if gained < _HOPELESS:
                return False
        if gained < _TRUSTING_GAIN:
            return False
        self._stand = stand
        if self._problem.choice is not None:
            self._growth.begin_again()
        self._knobs = Knobs(self._open_knobs)
        self._rounds_idle = 0
        self._size()
        return True

    def _idle(self) -> bool:
        resting = not self._knobs.due(self._stand.parameters)
        return self._ends and self._rounds_idle >= _PATIENCE - resting

    def _note_progress(self) -> None:
        """Count rounds since the last gain that is worth going on for."""
        self._gained += self._last_gain
        if self._gained > _PROGRESS:
            self._gained, self._rounds_idle = 0.0, 0
        elif not self._stand.report.settling:
            self._rounds_idle += 1

    def warn_if_missed(self) -> None:
        """Say so if the target was not reached."""
        choice = self._problem.choice
        if choice is None or choice.psnr is None or self._growth.reached(self._stand):
            return
        psnr = self._growth.psnr(self._stand)
        why = "too few entries to hold some out" if isnan(psnr) else f"{psnr:.1f} dB on held-out entries"
        warn(f"target(psnr={choice.psnr}) was not reached: {why}, with rank {self._stand.rank}", DataWarning)

    def _close(self, number: int) -> SweepReport:
        """A sweep with all entries; the last ones."""
        if not self._closing:
            self._see_all()
        self._closing += 1
        self._stand = self._trials.swept(self._stand.position, number)
        return replace(self._stand.report, settling=True, converged=self._closing >= _LAST_SWEEPS)

    def _see_all(self) -> None:
        self._run.look_at(self._problem, self._place())

    def state(self) -> RunState:
        """The present position, and what the next round's choice depends on."""
        position = self._stand.position
        penalties = position.penalties
        numbers = [
            min(self._last_gain, 1e9),
            self._gained,
            self._rounds_idle,
            self._closing,
            self._restarts.done,
            self._trusting,
        ]
        return {
            **name_cores(position.cores),
            "sigma": position.sigma,
            "narrowest": position.narrowest,
            "penalties": np.array([-1.0 if penalties.ridge is None else penalties.ridge, penalties.width]),
            "smooth": np.array(penalties.smooth),
            "numbers": np.array(numbers, np.float64),
            "growth": np.array(self._growth.state(), np.float64),
            "knobs": np.array(self._knobs.state(), np.float64),
        }

    def resume(self, state: RunState) -> None:
        """Go on from a state."""
        shapes = [np.shape(state.get(f"core.{mode}", 0)) for mode in range(len(self._problem.source.shape))]
        closes = all(
            len(shape) == 3 and shape[2] == shapes[mode - len(shapes) + 1][0] for mode, shape in enumerate(shapes)
        )
        if not closes or tuple(shape[1] for shape in shapes) != self._problem.source.shape:
            raise FormatError(f"the cores of the state have shapes {shapes}, which make no ring of this tensor")
        dtype = self._stand.position.cores[0].dtype
        cores = tuple(recall_array(state, f"core.{mode}", shape, dtype) for mode, shape in enumerate(shapes))
        now = self.state()

        def numbers(name: str) -> list[float]:
            return [float(number) for number in recall_array(state, name, np.shape(now[name]), np.dtype("f8"))]

        ridge, width = numbers("penalties")
        penalties = Penalties(None if ridge < 0 else ridge, tuple(numbers("smooth")), width)
        self._last_gain, self._gained, *counters = numbers("numbers")
        self._rounds_idle, self._closing, restarted, trusting = map(int, counters)
        self._restarts.done, self._trusting = bool(restarted), bool(trusting)
        self._growth.resume(numbers("growth"))
        self._knobs.resume(numbers("knobs"))
        if self._closing:
            self._see_all()
        sigma, narrowest = recall_number(state, "sigma"), recall_number(state, "narrowest")
        self._run.go_to(Position(cores, sigma, narrowest, None, penalties))
        self._run.recall_change()
        self._stand = self._trials.here()
        self._size()
