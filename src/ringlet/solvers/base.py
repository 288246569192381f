"""The contract of all methods: frozen hyper-parameters, what a method supports, what it needs, and how it starts."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import DTypeLike

from ringlet.amounts import format_bytes, parse_bytes
from ringlet.arrays import Device, Place
from ringlet.checks import check_number, plain_number
from ringlet.errors import ArgumentError, ArgumentTypeError, BudgetError
from ringlet.execution import DaskExecutor, Placement
from ringlet.execution.memory import machine_memory
from ringlet.results.records import RunState, Snapshot, SweepReport
from ringlet.ring import TensorRing
from ringlet.ring.ranks import normalise_rank
from ringlet.solvers.rank_choice import RankChoice
from ringlet.sources import Source, Survey, survey

__all__ = [
    "IterativeSolver",
    "Plan",
    "Problem",
    "ResumableRun",
    "Run",
    "Solver",
    "StopRule",
    "TimedRun",
    "check_fits_machine",
    "first_look",
    "working_dtype",
]


class Plan(Protocol):
    """The cost of a fit, known before it starts; printed, it is a table.

    Examples
    --------
    >>> import ringlet
    >>> plan = ringlet.plan((100, 80, 60), rank=5)
    >>> plan.memory > 0, plan.operations > 0, plan.notes
    (True, True, ())
    """

    @property
    def operations(self) -> int:
        """Floating-point operations of a sweep."""
        ...

    @property
    def memory(self) -> int:
        """Peak working memory in bytes, beside the data."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the rank and the settings, for the user."""
        ...


@dataclass(frozen=True)
class Problem:
    """Checked data and arguments of a fit.

    Attributes
    ----------
    source : Source
    survey : Survey
        Range and counts of the source.
    rank : tuple of int
        One bond before every mode; empty for methods without a ring.
    seed : int
    init : TensorRing, optional
        Where to start from.
    executor : DaskExecutor, optional
        The cluster on which passes over the data run.
    choice : RankChoice, optional
        The fit has to find the rank, and starts with `rank`.
    device : Place, optional
        The device on which passes over the data run.
    """

    source: Source
    survey: Survey
    rank: tuple[int, ...]
    seed: int
    init: TensorRing | None = None
    executor: DaskExecutor | None = None
    choice: RankChoice | None = None
    device: Place | None = None

    def place(self) -> AbstractContextManager[Placement | None]:
        """The source on the cluster, for as long as the context is open; None without a cluster."""
        return nullcontext() if self.executor is None else self.executor.place(self.source)

    def open_device(self) -> AbstractContextManager[Device | None]:
        """The device, for as long as the context is open; None without one."""
        return nullcontext() if self.device is None else Device.opened(self.device)


def first_look(source: Source, executor: DaskExecutor | None) -> Survey:
    """Read all entries once; those of a store on the cluster, if there is one."""
    if executor is None or source.chunks is None:
        return survey(source)
    with executor.place(source) as placement:
        return survey(source, placement.map)


class Run(Protocol):
    """A running fit."""

    def sweep(self, number: int) -> SweepReport:
        """Do one sweep, numbered from 1. If it raises, the model stays one that can be used."""
        ...

    def snapshot(self) -> Snapshot:
        """The present model."""
        ...


@runtime_checkable
class TimedRun(Run, Protocol):
    """A running fit that uses a limit of time."""

    def prepare(self, deadline: float) -> None:
        """Before the first sweep, unless the fit is resumed; it should end by `deadline`, a time of `perf_counter`."""
        ...

    def hurry(self) -> None:
        """End in a few sweeps, because the time is nearly used up."""
        ...


@runtime_checkable
class ResumableRun(Run, Protocol):
    """A fit that can be saved between two sweeps and continued by another process."""

    def state(self) -> RunState:
        """What a new run of the same problem needs to continue from here; stored before the next sweep."""
        ...

    def resume(self, state: RunState) -> None:
        """Continue from a state whose arrays have the values, dtypes and memory layout of the saved ones.

        The next sweep must give the same bits as in the run that was saved. A FormatError if the state is not from such
        a run.
        """
        ...


@dataclass(frozen=True)
class StopRule:
    """At most `sweeps`; fewer when the relative change stays below `tol` (0: never) for `patience` sweeps."""

    sweeps: int
    tol: float
    patience: int = 1


@dataclass(frozen=True, kw_only=True)
class Solver(ABC):
    """A method and its hyper-parameters.

    Attributes
    ----------
    handles_missing : bool
        Works with incomplete data.
    robust : bool
        Withstands gross outliers.
    fits_ring : bool
        Gives a tensor ring, and needs a rank; otherwise gives a dense tensor.
    finds_rank : bool
        Can find the rank and penalties by held-out entries.
    takes_init : bool
        Can start from given cores.
    resumable : bool
        Can be saved in a checkpoint: its runs are `ResumableRun`.
    neutral : frozenset of str
        Hyper-parameters that change how a sweep is computed, or the number of sweeps, but no bit of its result.
    distributes : bool
        Can work on a cluster.

    Examples
    --------
    >>> import ringlet
    >>> isinstance(ringlet.SAWRTRD(), ringlet.Solver), ringlet.SAWRTRD.robust, ringlet.baselines.TRALS.robust
    (True, True, False)
    """

    handles_missing: ClassVar[bool]
    robust: ClassVar[bool]
    fits_ring: ClassVar[bool] = True
    finds_rank: ClassVar[bool] = False
    takes_init: ClassVar[bool] = True
    resumable: ClassVar[bool] = False
    neutral: ClassVar[frozenset[str]] = frozenset({"memory", "threads"})
    distributes: ClassVar[bool] = False

    dtype: DTypeLike | None = None
    memory: int | str | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, plain_number(getattr(self, field.name)))
        if self.dtype is not None:
            object.__setattr__(self, "dtype", _working_precision(self.dtype))
        if self.memory is not None:
            parse_bytes(self.memory)
        if self.threads is not None:
            check_number("threads", self.threads, at_least=1, whole=True)

    @property
    def budget(self) -> int | None:
        """`memory` in bytes."""
        return None if self.memory is None else parse_bytes(self.memory)

    def bonds(self, rank: int | Sequence[int] | None, order: int) -> tuple[int, ...]:
        """The rank as one bond before every mode; empty for methods without a ring."""
        name = type(self).__name__
        if not self.fits_ring:
            if rank is not None:
                raise ArgumentError(f"rank={rank!r} is not allowed with {name}, which has no ranks; leave rank out")
            return ()
        if rank is None:
            raise ArgumentError(f"rank=None is not allowed with {name}, which fits a ring; give e.g. rank=5")
        return normalise_rank(rank, order)

    def stop_rule(self) -> StopRule:
        """When to stop; by default after one sweep, for methods that take a single pass."""
        return StopRule(sweeps=1, tol=0.0)

    def tunes(self, choice: RankChoice | None) -> bool:
        """Whether held-out entries choose something: the rank, if there is a `choice`, or a penalty."""
        return choice is not None

    def by_passes(self) -> bool:
        """Whether all that it computes from the data are passes over blocks of them, which devices can do."""
        return False

    @abstractmethod
    def plan(self, shape: tuple[int, ...], rank: tuple[int, ...], dtype: np.dtype[Any]) -> Plan:
        """What a fit of data of this shape and dtype needs; a BudgetError if it is more than `memory`."""

    @abstractmethod
    def start(self, problem: Problem) -> AbstractContextManager[Run]:
        """Begin a fit; the driver sweeps it."""


@dataclass(frozen=True, kw_only=True)
class IterativeSolver(Solver):
    """A method that sweeps until the model settles."""

    patience: ClassVar[int] = 1
    neutral: ClassVar[frozenset[str]] = Solver.neutral | {"sweeps"}

    sweeps: int = 30
    tol: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("sweeps", self.sweeps, at_least=1, whole=True)
        check_number("tol", self.tol, at_least=0)

    def stop_rule(self) -> StopRule:
        """Small changes, `patience` times running, or `sweeps` used up."""
        return StopRule(self.sweeps, self.tol, self.patience)


def working_dtype(data: np.dtype[Any], asked: DTypeLike | None) -> np.dtype[Any]:
    """The working precision: the given one, or float32 for data that it holds exactly and float64 for all others."""
    if asked is not None:
        return np.dtype(asked)
    return np.dtype("f4" if np.can_cast(data, np.float32) else "f8")


def check_fits_machine(plan: Plan, what: str, advice: str) -> None:
    """Refuse a fit that needs more memory than the machine has, before it takes any."""
    machine = machine_memory()
    if machine is not None and plan.memory > machine:
        raise BudgetError(
            f"{what} needs {format_bytes(plan.memory)} of memory, more than the {format_bytes(machine)} of this "
            f"machine; {advice}"
        )


def _working_precision(dtype: DTypeLike) -> np.dtype[Any]:
    """The dtype, as one object for all its names."""
    try:
        given: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):
        given = np.dtype(object)
    if given not in (np.dtype("f4"), np.dtype("f8")):
        raise ArgumentTypeError(f"dtype={dtype!r} is not supported; allowed are 'float32' and 'float64'")
    return given
