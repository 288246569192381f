"""The one loop that all solvers run in: sweeps, timing, history, callbacks, checkpoints, stopping, interruption."""

from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Protocol

import numpy as np

from ringlet.errors import ArgumentError, FormatError
from ringlet.results.progress import ProgressLine
from ringlet.results.records import LARGEST_LOSS, Callback, Saved, State, Status, SweepRecord, SweepReport
from ringlet.solvers.base import ResumableRun, Run, StopRule, TimedRun

__all__ = ["Checkpoint", "RunOptions", "drive"]

_RECENT = 5  # last sweeps: their mean time predicts the next one, their least time a short one
_CLOSING = 2.0  # short sweeps at the end of a run; the time left after the next sweep must suffice for them


class Checkpoint(Protocol):
    """Where a fit is saved while it runs."""

    @property
    def name(self) -> str:
        """For messages."""
        ...

    @property
    def every(self) -> int:
        """Sweeps from one save to the next."""
        ...

    def load(self) -> Saved | None:
        """What was saved last; None if nothing was."""
        ...

    def save(self, saved: Saved) -> None:
        """Save this."""
        ...


@dataclass(frozen=True)
class RunOptions:
    """Observers of a running fit.

    Attributes
    ----------
    callback : callable or None
        Called with a `State` after every sweep; returning True stops the fit.
    progress : ProgressLine or None
    checkpoint : Checkpoint or None
        For a `ResumableRun`: continue from it, and keep it up to date. A fit that has ended is not swept again;
        one that was interrupted, stopped by its callback, or has used its sweeps continues if there are sweeps left.
    deadline : float
        Time of `perf_counter` by which the last sweep should end.
    """

    callback: Callback | None = None
    progress: ProgressLine | None = None
    checkpoint: Checkpoint | None = None
    deadline: float = inf


def drive(run: Run, rule: StopRule, options: RunOptions | None = None) -> tuple[Status, tuple[SweepRecord, ...]]:
    """Sweep until the model settles, the sweeps are used up, or the user stops the fit."""
    options = options or RunOptions()
    checkpoint, callback = options.checkpoint, options.callback
    history, quiet, ended = _resumed(run, rule, checkpoint)
    if ended is not None:
        return ended, tuple(history)
    try:
        if not history and isinstance(run, TimedRun):
            if options.progress is not None:
                options.progress.phase("looking for a start")
            run.prepare(options.deadline)
        for number in range(len(history) + 1, rule.sweeps + 1):
            start = perf_counter()
            report = run.sweep(number)
            record = SweepRecord(
                sweep=number,
                seconds=perf_counter() - start,
                change=report.change,
                loss=min(report.loss, LARGEST_LOSS),
                sigma=report.sigma,
                mean_weight=report.mean_weight,
                held_out=report.held_out,
            )
            history.append(record)
            if options.progress is not None:
                limit = options.deadline - perf_counter()
                options.progress.sweep(number, rule.sweeps, record.seconds, report, limit=limit)
            quiet = quiet + 1 if report.change < rule.tol and not report.settling else 0
            stopped = callback is not None and _says_stop(callback(State(number, record, run.snapshot())))
            ended = _ended(report, quiet, rule)
            seconds = [one.seconds for one in history[-_RECENT:]]
            left = options.deadline - perf_counter()
            late = left < min(seconds)  # there is no time for another short sweep
            last = stopped or late or ended is not None or number == rule.sweeps
            if checkpoint is not None and (last or number % checkpoint.every == 0):
                checkpoint.save(Saved(tuple(history), quiet, ended, _resumable(run).state()))
            if stopped:
                return Status.STOPPED, tuple(history)
            if ended is not None:
                return ended, tuple(history)
            if late:
                return Status.TIME_USED, tuple(history)
            if left < sum(seconds) / len(seconds) + _CLOSING * min(seconds) and isinstance(run, TimedRun):
                run.hurry()
    except KeyboardInterrupt:
        return Status.INTERRUPTED, tuple(history)
    return Status.SWEEPS_USED, tuple(history)


def _says_stop(answer: object) -> bool:
    return isinstance(answer, bool | np.bool_) and bool(answer)


def _ended(report: SweepReport, quiet: int, rule: StopRule) -> Status | None:
    """How the fit has ended; None if it has not."""
    if report.done:
        return Status.DONE
    if not (report.stalled or report.converged or quiet >= rule.patience):
        return None
    if report.distrusts:
        return Status.DISTRUSTED
    return Status.STALLED if report.stalled else Status.CONVERGED


def _resumed(run: Run, rule: StopRule, checkpoint: Checkpoint | None) -> tuple[list[SweepRecord], int, Status | None]:
    """History, quiet sweeps and end of a fit that continues from its checkpoint, or begins."""
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
