"""What a solver is asked to fit."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ringlet.execution import DaskExecutor, Placement
from ringlet.ring import TensorRing
from ringlet.solvers.rank_growth import RankChoice
from ringlet.sources import Source, Survey

__all__ = ["Problem"]


@dataclass(frozen=True)
class Problem:
    """Checked data and arguments of a fit.

    Attributes
    ----------
    source : Source
    survey : Survey
        What the first look at the source found.
    rank : tuple of int
        One bond before every mode; empty for methods without a ring.
    seed : int
    init : TensorRing or sequence of arrays, optional
        Where to start from.
    executor : DaskExecutor, optional
        The cluster that passes over the data run on.
    choice : RankChoice, optional
        The rank is to be found by the fit, and `rank` is what it starts with.
    """

    source: Source
    survey: Survey
    rank: tuple[int, ...]
    seed: int
    init: TensorRing | Sequence[NDArray[Any]] | None = None
    executor: DaskExecutor | None = None
    choice: RankChoice | None = None

    def place(self) -> AbstractContextManager[Placement | None]:
        """The source on the cluster, for as long as the context is open; None without a cluster."""
        return nullcontext() if self.executor is None else self.executor.place(self.source)
