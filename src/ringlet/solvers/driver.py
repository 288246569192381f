"""The one loop that all solvers run in: sweeps, timing, history, callbacks, checkpoints, stopping, interruption."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, nan
from time import perf_counter
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError, FormatError
from ringlet.ring import TensorRing
from ringlet.robust import Kernel
from ringlet.solvers.progress import show_progress
from ringlet.solvers.status import Status

__all__ = [
    "Callback",
    "Checkpoint",
    "ResumableRun",
    "Run",
    "RunState",
    "Saved",
    "Snapshot",
    "State",
    "StopRule",
    "SweepRecord",
    "SweepReport",
    "drive",
]

# All that a fit under way knows and could not compute again: arrays and numbers by name.
RunState: TypeAlias = Mapping[str, NDArray[Any] | float]


@dataclass(frozen=True)
class SweepRecord:
    """What one sweep did.

    Attributes
    ----------
    sweep : int
        Counted from 1.
    seconds : float
        Wall time of this sweep.
    change : float
        Relative change of the model in this sweep; the stop rule looks at it. Infinite in the first sweep.
    loss : float
        Mean loss of the observed entries looked at, in the data's units squared. An estimate: it is taken on a random
        part of the data, before each core's update.
    sigma : float
        Kernel width at the end of the sweep, in the data's units; infinite for methods without a kernel.
    mean_weight : float
        Mean robust weight of the same entries: the share of them that is trusted, roughly; 1 without weights.
    held_out : float
        Robust root mean square error on entries that the fit does not see, in the data's units; NaN where none are
        held out.
    """

    sweep: int
    seconds: float
    change: float
    loss: float
    sigma: float
    mean_weight: float
    held_out: float = field(default=nan, compare=False)  # NaN is not equal to itself


@dataclass(frozen=True)
class SweepReport:
    """What a solver tells the driver of a sweep: the numbers of its record, and whether it may stop.

    Attributes
    ----------
    stalled : bool
        Nothing moved: further sweeps are of no use.
    settling : bool
        The objective itself is still changing: a small change does not mean convergence yet.
    done : bool
        The method needs no further sweep.
    converged : bool
        The method itself has seen that the estimate does not change any more.
    """

    change: float
    loss: float
    sigma: float = inf
    mean_weight: float = 1.0
    held_out: float = nan
    stalled: bool = False
    settling: bool = False
    done: bool = False
    converged: bool = False


class Snapshot(Protocol):
    """A model as it was at some moment; it stays so while the fit goes on."""

    def ring(self) -> TensorRing | None:
        """The ring, in the data's units; None for methods without one."""
        ...

    def tensor(self) -> NDArray[Any]:
        """The estimate, dense."""
        ...


class Run(Protocol):
    """A fit that is under way."""

    @property
    def kernel(self) -> Kernel:
        """By which the present model judges entries, in the data's units."""
        ...

    def sweep(self, number: int) -> SweepReport:
        """Do one sweep, numbered from 1. If it raises, the model is that of the last finished update."""
        ...

    def snapshot(self) -> Snapshot:
        """The present model."""
        ...


@runtime_checkable
class ResumableRun(Run, Protocol):
    """A fit that can be set aside between two sweeps and taken up by another process."""

    def state(self) -> RunState:
        """What a fresh run of the same problem lacks to go on from here; to be stored before the next sweep."""
        ...

    def resume(self, state: RunState) -> None:
        """Go on from a state, of which the arrays have the values, dtypes and memory layout they had.

        The next sweep must do to the bit what it would have done in the run that the state is of. A FormatError if the
        state is not of such a run.
        """
        ...


@dataclass(frozen=True)
class Saved:
    """A fit between two sweeps.

    Attributes
    ----------
    history : tuple of SweepRecord
        Of the sweeps done.
    quiet : int
        How many sweeps running the change has been small.
    ended : Status or None
        How the fit has ended by itself; None if further sweeps would go on with it.
    state : mapping
        Of the run.
    """

    history: tuple[SweepRecord, ...]
    quiet: int
    ended: Status | None
    state: RunState


class Checkpoint(Protocol):
    """Where a fit is set aside while it runs."""

    @property
    def name(self) -> str:
        """For messages."""
        ...

    @property
    def every(self) -> int:
        """After so many sweeps each."""
        ...

    def load(self) -> Saved | None:
        """What was saved last; None if nothing was."""
        ...

    def save(self, saved: Saved) -> None:
        """Keep this, whatever happens later."""
        ...


@dataclass(frozen=True)
class State:
    """What a callback sees after a sweep. `ring` and `tensor` are made only when looked at."""

    sweep: int
    record: SweepRecord
    _snapshot: Snapshot = field(repr=False)
    _names: tuple[str, ...] | None = field(default=None, repr=False)
    _units: str | None = field(default=None, repr=False)

    @property
    def ring(self) -> TensorRing | None:
        """The ring after this sweep, in the data's units, with their names."""
        ring = self._snapshot.ring()
        return None if ring is None else TensorRing(ring.cores, names=self._names, units=self._units)

    @property
    def tensor(self) -> NDArray[Any]:
        """The dense estimate after this sweep."""
        return self._snapshot.tensor()


Callback = Callable[[State], object]


@dataclass(frozen=True)
class StopRule:
    """At most `sweeps`; fewer when the relative change stays below `tol` (0: never) for `patience` sweeps."""

    sweeps: int
    tol: float
    patience: int = 1


def drive(
    run: Run,
    rule: StopRule,
    *,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
) -> tuple[Status, tuple[SweepRecord, ...]]:
    """Sweep until the model settles, the sweeps are used up, or somebody asks to stop.

    Parameters
    ----------
    run : Run
    rule : StopRule
    callback : callable, optional
        Called with a `State` after every sweep; returning True stops.
    progress : bool
        Show a progress line.
    checkpoint : Checkpoint, optional
        For a `ResumableRun`: go on from what it holds, and keep it current. A fit that has ended is not swept again;
        one that was interrupted, stopped by its callback, or has used its sweeps goes on if there are sweeps left.
    """
    history, quiet, ended = _resumed(run, rule, checkpoint)
    if ended is not None:
        return ended, tuple(history)
    with show_progress(rule.sweeps, progress, done=len(history)) as shown:
        try:
            for number in range(len(history) + 1, rule.sweeps + 1):
                start = perf_counter()
                report = run.sweep(number)
                record = SweepRecord(
                    sweep=number,
                    seconds=perf_counter() - start,
                    change=report.change,
                    loss=report.loss,
                    sigma=report.sigma,
                    mean_weight=report.mean_weight,
                    held_out=report.held_out,
                )
                history.append(record)
                shown(record.sweep, record.change)
                quiet = quiet + 1 if report.change < rule.tol and not report.settling else 0
                stopped = callback is not None and _says_stop(callback(State(number, record, run.snapshot())))
                ended = _judge(report, quiet, rule)
                last = stopped or ended is not None or number == rule.sweeps
                if checkpoint is not None and (last or number % checkpoint.every == 0):
                    checkpoint.save(Saved(tuple(history), quiet, ended, _resumable(run).state()))
                if stopped:
                    return Status.STOPPED, tuple(history)
                if ended is not None:
                    return ended, tuple(history)
        except KeyboardInterrupt:
            return Status.INTERRUPTED, tuple(history)
    return Status.SWEEPS_USED, tuple(history)


def _says_stop(answer: object) -> bool:
    return isinstance(answer, bool | np.bool_) and bool(answer)


def _judge(report: SweepReport, quiet: int, rule: StopRule) -> Status | None:
    """How the fit has ended by itself; None if it has not."""
    if report.done:
        return Status.DONE
    if report.stalled:
        return Status.STALLED
    return Status.CONVERGED if report.converged or quiet >= rule.patience else None


def _resumed(run: Run, rule: StopRule, checkpoint: Checkpoint | None) -> tuple[list[SweepRecord], int, Status | None]:
    """History, quiet sweeps and end of a fit that goes on from its checkpoint, or begins."""
    if checkpoint is None or (saved := checkpoint.load()) is None:
        return [], 0, None
    done = len(saved.history)
    if done > rule.sweeps:
        raise ArgumentError(
            f"sweeps={rule.sweeps} is not allowed: the checkpoint is of sweep {done}; give at least as many sweeps, "
            "or another checkpoint"
        )
    try:
        _resumable(run).resume(saved.state)
    except FormatError as error:
        raise FormatError(f"checkpoint {checkpoint.name}: {error}") from error
    return list(saved.history), saved.quiet, saved.ended


def _resumable(run: Run) -> ResumableRun:
    if not isinstance(run, ResumableRun):
        raise TypeError(f"{type(run).__name__} cannot be resumed")
    return run
