"""What a solver is asked to fit."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ringlet.execution import DaskExecutor, Placement
from ringlet.ring import TensorRing
from ringlet.solvers.rank_choice import RankChoice
from ringlet.sources import Source, Survey, survey

__all__ = ["Problem", "first_look"]


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


def first_look(source: Source, executor: DaskExecutor | None) -> Survey:
    """Look at all entries once; at those of a store on the cluster, if there is one."""
    if executor is None or source.chunks is None:
        return survey(source)
    with executor.place(source) as placement:
        return survey(source, placement.map)
