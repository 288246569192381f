"""The state of an automatic fit on its path."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from math import inf
from typing import Any

import numpy as np

from ringlet.local.judging import Judged
from ringlet.results.records import Rung, RunState
from ringlet.results.saved_state import saved_array
from ringlet.ring.chain import Core
from ringlet.ring.ranks import parameters
from ringlet.solvers.tuning.judgements import Judgement
from ringlet.solvers.tuning.trials import Candidate, Trials
from ringlet.solvers.tuning.tuned_parameters import Tuning, TuningState

__all__ = ["Counting", "Path", "PathState", "Phase", "rungs_by_name", "saved_rungs"]


class Counting(IntEnum):
    """Which entries count, and how. After a judgement none counts that has one of the few values of wrong ones."""

    WEIGHED = 0  # all, with weights of a kernel
    ALIKE = 1  # all, by least squares
    BELIEVED = 2  # only trusted ones, by least squares


class Phase(IntEnum):
    """The part of the path."""

    GROWING = 0  # from rung to rung
    POLISHING = 1  # at the best rung, or at a given rank, until the validation error stops falling
    CLOSING = 2  # with all entries


@dataclass(frozen=True)
class PathState:
    """What the next round depends on, except for the rings.

    Attributes
    ----------
    parameters : TuningState
    phase : Phase
    sweeps : int
        Of the present rung.
    gain : float
        Of the last sweep, in dB.
    tuning : Tuning
        What it did about the tuned parameters.
    idle : int
        Sweeps in a row that gained little.
    idle_rungs : int
        Rungs in a row that were not better than the best one.
    judged_at : float
        Robust validation error when entries were judged last, in data ranges; infinite if they have not been.
    tuned_at : float
        Validation error when the last round of all penalties began, in data ranges.
    judgements : int
        Number of judgements at a given rank.
    counting : Counting
    restarted : bool
        Whether other starts of a given rank have been tried.
    """

    parameters: TuningState
    phase: Phase = Phase.GROWING
    sweeps: int = 0
    gain: float = inf
    tuning: Tuning = Tuning.EARLY
    idle: int = 0
    idle_rungs: int = 0
    judged_at: float = inf
    tuned_at: float = inf
    judgements: int = 0
    counting: Counting = Counting.WEIGHED
    restarted: bool = False


@dataclass(frozen=True, eq=False)
class Path:
    """An automatic fit at some moment.

    Attributes
    ----------
    at : PathState
    trials : Trials
        Sweeps of the entries that count, and the validator of those that are held out.
    now : Candidate
        The present ring.
    best : Candidate
        That of the best rung so far.
    judgement : Judgement or None
        The last one.
    rungs : tuple of Rung
    honest : tuple of arrays
        The cores before the sweeps with all entries; empty until then.
    judged : Judged or None
        The judgement of all entries by the honest ring, for restored entries after the fit.
    """

    at: PathState
    trials: Trials
    now: Candidate
    best: Candidate
    judgement: Judgement | None = None
    rungs: tuple[Rung, ...] = ()
    honest: tuple[Core, ...] = ()
    judged: Judged | None = None

    def moved(self, **changes: Any) -> "Path":
        """The same with other values of `at`."""
        return replace(self, at=replace(self.at, **changes))


def rungs_by_name(rungs: Sequence[Rung], order: int) -> RunState:
    """The rungs of a ring with this number of modes, as arrays of a state."""
    return {
        "path.ranks": np.array([rung.rank for rung in rungs], np.float64).reshape(-1, order),
        "path.errors": np.array([(rung.validation, rung.seconds) for rung in rungs]).reshape(-1, 2),
    }


def saved_rungs(state: RunState, shape: tuple[int, ...]) -> tuple[Rung, ...]:
    """The inverse of `rungs_by_name`."""
    ranks = saved_array(state, "path.ranks", None, np.dtype("f8")).reshape(-1, len(shape))
    errors = saved_array(state, "path.errors", (len(ranks), 2), np.dtype("f8"), finite=False)
    rungs = []
    for rank, (validation, seconds) in zip(ranks.tolist(), errors.tolist(), strict=True):
        bonds = tuple(int(bond) for bond in rank)
        rungs.append(Rung(bonds, parameters(shape, bonds), validation, seconds))
    return tuple(rungs)
