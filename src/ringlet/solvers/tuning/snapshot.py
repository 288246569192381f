"""The present model of an automatic fit, and what it knows of its entries."""

from dataclasses import dataclass, field

from ringlet.local.judging import Judged
from ringlet.results.records import Rung
from ringlet.results.ring_snapshot import RingSnapshot, Unseen
from ringlet.solvers.sawrtrd.run import RobustSnapshot

__all__ = ["AutomaticSnapshot"]


@dataclass(frozen=True)
class AutomaticSnapshot(RobustSnapshot):
    """A ring at some moment of an automatic fit.

    Attributes
    ----------
    path : tuple of Rung
    honest : RingSnapshot or None
        The ring before it saw the held-out entries; None if there are none.
    unseen : Unseen
        Which these are.
    judged : bool
        Whether entries are judged by their neighbours, not by the kernel.
    judged_beside : Judged or None
        The judgement of all entries beside the honest ring, if they were judged by it.
    """

    path: tuple[Rung, ...] = field(kw_only=True)
    honest: RingSnapshot | None = field(kw_only=True)
    unseen: Unseen = field(kw_only=True)
    judged: bool = field(kw_only=True)
    judged_beside: Judged | None = field(kw_only=True)
