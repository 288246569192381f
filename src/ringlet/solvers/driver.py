"""The one loop that all solvers run in: sweeps, timing, history, callbacks, stopping, interruption."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ringlet.ring import TensorRing
from ringlet.robust import Kernel
from ringlet.solvers.progress import show_progress
from ringlet.solvers.status import Status

__all__ = ["Callback", "Run", "Snapshot", "State", "StopRule", "SweepRecord", "SweepReport", "drive", "relative_change"]


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
    """

    sweep: int
    seconds: float
    change: float
    loss: float
    sigma: float
    mean_weight: float


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
    """

    change: float
    loss: float
    sigma: float = inf
    mean_weight: float = 1.0
    stalled: bool = False
    settling: bool = False
    done: bool = False


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


@dataclass(frozen=True)
class State:
    """What a callback sees after a sweep. `ring` and `tensor` are made only when looked at."""

    sweep: int
    record: SweepRecord
    _snapshot: Snapshot = field(repr=False)

    @property
    def ring(self) -> TensorRing | None:
        """The ring after this sweep, in the data's units."""
        return self._snapshot.ring()

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
    """
    history: list[SweepRecord] = []
    quiet = 0
    with show_progress(rule.sweeps, progress) as shown:
        try:
            for number in range(1, rule.sweeps + 1):
                start = perf_counter()
                report = run.sweep(number)
                record = SweepRecord(
                    sweep=number,
                    seconds=perf_counter() - start,
                    change=report.change,
                    loss=report.loss,
                    sigma=report.sigma,
                    mean_weight=report.mean_weight,
                )
                history.append(record)
                shown(record.sweep, record.change)
                quiet = quiet + 1 if report.change < rule.tol and not report.settling else 0
                if callback is not None:
                    answer = callback(State(number, record, run.snapshot()))
                    if isinstance(answer, bool | np.bool_) and answer:
                        return Status.STOPPED, tuple(history)
                if report.done:
                    return Status.DONE, tuple(history)
                if report.stalled:
                    return Status.STALLED, tuple(history)
                if quiet >= rule.patience:
                    return Status.CONVERGED, tuple(history)
        except KeyboardInterrupt:
            return Status.INTERRUPTED, tuple(history)
    return Status.SWEEPS_USED, tuple(history)


def relative_change(new: NDArray[np.floating[Any]], old: NDArray[np.floating[Any]] | None) -> float:
    """``||new - old||_F / ||new||_F``; infinite without an old one, zero if both vanish."""
    if old is None:
        return float("inf")
    size = float(np.linalg.norm(new))
    difference = float(np.linalg.norm(new - old))
    return difference / size if size else (0.0 if difference == 0.0 else float("inf"))
