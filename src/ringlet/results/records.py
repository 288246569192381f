"""Records of a fit: the report of a sweep, the history, the state that callbacks get, and how it ended."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import inf, nan
from sys import float_info
from typing import Any, Protocol, TypeAlias

from numpy.typing import NDArray

from ringlet.arrays import Place
from ringlet.ring import TensorRing

__all__ = [
    "LARGEST_LOSS",
    "Callback",
    "RunState",
    "Rung",
    "Saved",
    "Snapshot",
    "State",
    "Status",
    "SweepRecord",
    "SweepReport",
]

LARGEST_LOSS = float_info.max  # a loss has squared units of the data: for data of 1e300 beyond floats

# What a running fit cannot compute again: arrays and numbers by name.
RunState: TypeAlias = Mapping[str, NDArray[Any] | float]


class Status(Enum):
    """How a fit ended; ``str(status)`` is advice. The page "How to read a result" lists all of them.

    Examples
    --------
    >>> str(Status.CONVERGED)
    'The estimate stopped changing: the fit is done.'
    """

    CONVERGED = "The estimate stopped changing: the fit is done."
    DONE = "The method takes a fixed number of passes, and has made them: the fit is done."
    SWEEPS_USED = (
        "All sweeps were used while the estimate was still changing: the result is usable; give more sweeps, "
        "or a larger tol, if it should settle."
    )
    DISTRUSTED = (
        "The estimate stopped changing, but less than half of the observed entries are trusted. Either the kernel is "
        "too narrow for what this rank can describe (give a larger sigma or a larger rank), or most entries "
        "are wrong."
    )
    TIME_USED = (
        "The time given was used while the estimate was still changing: the result is the best so far; give more time "
        "if it should settle."
    )
    STALLED = (
        "No core could be improved any further: the data are fitted exactly, or nothing of them is trusted. "
        "If the fit is poor, try another seed, a wider kernel (sigma_factor, sigma_min) or loss='huber'."
    )
    STOPPED = "The callback asked to stop: the estimate is that of the last sweep."
    INTERRUPTED = (
        "The fit was interrupted: the estimate is the best so far. Pass a ring as init= to continue from there; with a "
        "checkpoint, the same call continues."
    )

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class SweepRecord:
    """Measurements of one sweep.

    Attributes
    ----------
    sweep : int
        Number of the sweep, from 1.
    seconds : float
        Wall time of this sweep.
    change : float
        Relative change of the ring in this sweep, which is compared with `tol`. Infinite in the first sweep.
    loss : float
        Mean loss of a random sample of the observed entries, taken before each core's update, in the data's units
        squared; at most the largest float.
    sigma : float
        Kernel width at the end of the sweep, in the data's units; infinite for methods without a kernel.
    mean_weight : float
        Mean weight of the same sample: about the share of the entries that is trusted; 1 without weights.
    held_out : float
        Validation error: robust root mean square error at entries that the fit does not use, in the data's units. NaN
        if none are held out.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> fit = ringlet.decompose(np.outer(np.arange(9.0), np.arange(8.0)), rank=1)
    >>> [record.sweep for record in fit.history][:3]
    [1, 2, 3]
    """

    sweep: int
    seconds: float
    change: float
    loss: float
    sigma: float
    mean_weight: float
    held_out: float = field(default=nan, compare=False)  # NaN is not equal to itself


@dataclass(frozen=True)
class Rung:
    """One ring on the path of an automatic fit.

    Attributes
    ----------
    rank : tuple of int
    parameters : int
        Numbers in its cores.
    validation : float
        Estimated root mean square error at entries that were not used, in the data's units.
    seconds : float
        Wall time from the beginning of the fit.
    """

    rank: tuple[int, ...]
    parameters: int
    validation: float
    seconds: float


@dataclass(frozen=True)
class SweepReport:
    """What a solver reports of a sweep: the numbers of its record, and whether the fit may stop.

    Attributes
    ----------
    stalled : bool
        No core moved: further sweeps are useless.
    distrusts : bool
        Less than half of the observed entries are trusted.
    settling : bool
        The objective is still changing: a small change of the ring is no convergence yet.
    done : bool
        The method needs no further sweep.
    converged : bool
        The method has found that the estimate no longer changes.
    stage : str
        The phase of the fit in words; empty: the change is shown.
    growing : bool
        The ring is still growing: later sweeps will take longer.
    """

    change: float
    loss: float
    sigma: float = inf
    mean_weight: float = 1.0
    held_out: float = nan
    stalled: bool = False
    distrusts: bool = False
    settling: bool = False
    done: bool = False
    converged: bool = False
    stage: str = ""
    growing: bool = False


class Snapshot(Protocol):
    """A model at some moment; it does not change while the fit continues."""

    def ring(self) -> TensorRing | None:
        """The ring, in the data's units; None for methods without one."""
        ...

    def tensor(self) -> NDArray[Any]:
        """The dense estimate."""
        ...


@dataclass(frozen=True)
class State:
    """What a callback sees after a sweep. `ring` and `tensor` are made only when they are used."""

    sweep: int
    record: SweepRecord
    _snapshot: Snapshot = field(repr=False)
    _names: tuple[str, ...] | None = field(default=None, repr=False)
    _units: str | None = field(default=None, repr=False)
    _place: Place | None = field(default=None, repr=False)

    @property
    def ring(self) -> TensorRing | None:
        """The ring after this sweep, in the data's units, with their names, on their device."""
        ring = self._snapshot.ring()
        return None if ring is None else TensorRing(ring.cores, names=self._names, units=self._units).at(self._place)

    @property
    def tensor(self) -> Any:
        """The dense estimate after this sweep, an array of the library of the data."""
        dense = self._snapshot.tensor()
        return dense if self._place is None else self._place.give(dense)


Callback: TypeAlias = Callable[[State], object]


@dataclass(frozen=True)
class Saved:
    """A fit between two sweeps, as a checkpoint keeps it.

    Attributes
    ----------
    history : tuple of SweepRecord
        Of the sweeps done.
    quiet : int
        Number of sweeps in a row with a small change.
    ended : Status or None
        How the fit has ended; None if further sweeps would continue it.
    state : mapping
        Of the run.
    """

    history: tuple[SweepRecord, ...]
    quiet: int
    ended: Status | None
    state: RunState
