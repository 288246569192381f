"""Where on its path an automatic fit is."""

from dataclasses import dataclass
from enum import IntEnum
from math import inf

from ringlet.solvers.tuning.tuned_parameters import TuningState

__all__ = ["PathState", "Phase"]


class Phase(IntEnum):
    """Where on its path a fit is."""

    GROWING = 0  # from rung to rung
    POLISHING = 1  # at the best rung, or at a given rank, until the validation error falls no more
    CLOSING = 2  # with all entries


@dataclass(frozen=True)
class PathState:
    """What the next round depends on, beside the rings.

    Attributes
    ----------
    parameters : TuningState
    phase : Phase
    sweeps : int
        Of the present rung.
    gain : float
        Of the last sweep, in dB.
    idle : int
        Sweeps in a row that gained little.
    idle_rungs : int
        Rungs in a row that were not better than the best one.
    judged_at : float
        Validation error when entries were judged last, in data ranges; infinite if they have not been.
    tuned_at : float
        Validation error when all penalties were begun to be tried last, in data ranges.
    judgements : int
        How often entries have been judged at a given rank.
    kernel : bool
        Whether a kernel weighs the entries that are believed; else they count alike.
    restarted : bool
        Whether other starts of a given rank have been tried.
    """

    parameters: TuningState
    phase: Phase = Phase.GROWING
    sweeps: int = 0
    gain: float = inf
    idle: int = 0
    idle_rungs: int = 0
    judged_at: float = inf
    tuned_at: float = inf
    judgements: int = 0
    kernel: bool = True
    restarted: bool = False
