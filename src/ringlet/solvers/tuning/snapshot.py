"""The present model of an automatic fit, and its judgement of entries."""

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
        Whether neighbours judge the entries, not the kernel.
    judged_beside : Judged or None
        The judgement of all entries by the honest ring, if there is one.
    """

    path: tuple[Rung, ...] = field(kw_only=True)
    honest: RingSnapshot | None = field(kw_only=True)
    unseen: Unseen = field(kw_only=True)
    judged: bool = field(kw_only=True)
    judged_beside: Judged | None = field(kw_only=True)
