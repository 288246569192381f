"""Which entries a fit believes: all are judged by the ring and their neighbours, between two sweeps.

After that the sweeps are least squares of what is believed. Data in a store are not judged: a kernel weighs them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.local.judging import judge_entries
from ringlet.local.stuck import without_stuck
from ringlet.local.window import Entries
from ringlet.ring.arrays import Mapper
from ringlet.ring.chain import Core
from ringlet.ring.evaluate import dense_block
from ringlet.solvers.base import Problem, first_look
from ringlet.solvers.sawrtrd.robust_ring import RobustRing
from ringlet.solvers.tuning.validator import HeldOut
from ringlet.sources import ArraySource

__all__ = ["TRUSTED", "Judge", "can_judge", "judge_for", "judging_memory", "without_stuck_entries"]

_MOST_ENTRIES = 1 << 23
_BYTES = 80  # for every entry while all are judged
_BUDGET_PART = 4  # judging may take this part of a memory budget at most
_CLOSE = 0.005  # of the data's range: an entry that the ring comes so near does no harm, wrong or right
_WHOLE = 0.6  # share of the entries of a fibre that are doubted if it is unlike all others as a whole
_CHANCE = 0.01  # greatest expected number of such fibres if entries were doubted at random
_DEAD = 0.1  # of what the ring varies by along a fibre: one that varies less is dead, and no event
_MOST_DOUBTED = 0.25  # share of the entries that may be wrong without taking one of few values
_FEWEST = 1500  # observed entries: of fewer too little can be learned
_LEAST_BELIEVED = 0.2  # share of the observed entries
TRUSTED = 0.5  # least probability of being right
_DOUBTFUL = np.float32(1e-6)  # the same of an entry that may be right all the same


def judging_memory(shape: Sequence[int]) -> int:
    """Bytes that judging takes while it runs, beside the data."""
    return prod(shape) * _BYTES


def can_judge(settings: RobustRing, problem: Problem) -> bool:
    """Whether entries can be judged: data in memory that vary, enough of them, and room in the memory budget.

    A kernel whose width is given weighs them instead. Before a still camera they are not judged: the pixels of what
    passes by agree with each other.
    """
    source, survey, choice = problem.source, problem.survey, problem.choice
    asked = settings.loss == "learned" and settings.tunes_width
    if not asked or (choice is not None and choice.still is not None):
        return False
    room = settings.budget is None or _BUDGET_PART * judging_memory(source.shape) <= settings.budget
    enough = survey.minimum < survey.maximum and survey.observed >= _FEWEST and prod(source.shape) <= _MOST_ENTRIES
    return isinstance(source, ArraySource) and problem.executor is None and room and enough


def without_stuck_entries(problem: Problem) -> Problem:
    """The problem without entries of stuck detectors and dead rows; they need no ring to be found."""
    source = problem.source
    assert isinstance(source, ArraySource)  # noqa: S101 - only such are judged
    values, observed = source.read((slice(None),) * len(source.shape))
    kept = without_stuck(values, observed)
    return problem if kept is None or kept is observed else _of_these(problem, kept)


def judge_for(settings: RobustRing, held: HeldOut, data_range: float) -> "Judge | None":
    """Who judges the entries of a fit; None if they cannot be judged."""
    problem = held.whole
    if not (can_judge(settings, problem) and isinstance(problem.source, ArraySource)):
        return None
    order = len(problem.source.shape)
    return Judge(problem.source, data_range, held.mask.drawn((slice(None),) * order, range(order)))


@dataclass(frozen=True, eq=False)
class Judge:
    """Judges the entries of a tensor in memory.

    Attributes
    ----------
    source : ArraySource
    data_range : float
        Of which the cores are a ring's divided by it.
    unseen : bool array or None
        Entries that are kept from the ring.
    """

    source: ArraySource
    data_range: float
    unseen: NDArray[np.bool_] | None = None

    def believed(self, problem: Problem, weights: NDArray[np.float32]) -> Problem:
        """The problem without the entries that are probably wrong; as it was, if hardly any would be left.

        What was added to the data, to guide the ring in holes, has not been judged and stays.
        """
        _, observed = self.source.read((slice(None),) * weights.ndim)
        source, trusted = problem.source, weights >= TRUSTED
        if observed is not None:
            trusted |= ~observed
        assert isinstance(source, ArraySource)  # noqa: S101 - only such are judged
        kept = trusted if source.mask is None else trusted & source.mask
        if np.count_nonzero(kept) < _LEAST_BELIEVED * problem.survey.observed:
            return problem
        return _of_these(problem, kept)

    def weights(self, cores: Sequence[Core], mapper: Mapper = map) -> NDArray[np.float32]:
        """Probability of being right for every entry; `mapper` is used like `map`.

        It is 0 where nothing is observed, and where an entry takes one of the few values of wrong ones and is not
        trusted. Others that are not trusted may be right all the same, far from what the ring can describe yet: they
        have at least a tiny weight.
        """
        values, observed = self.source.read((slice(None),) * len(cores))
        ring: NDArray[Any] = dense_block(cores) * cores[0].dtype.type(self.data_range)
        model, (weights,) = judge_entries([Entries(values, observed, ring, self.unseen)], mapper=mapper)
        known = np.ones(values.shape, np.bool_) if observed is None else observed
        atoms = model.outliers.atoms[model.outliers.cell(np.where(known, values, 0))]
        weights = _with_events(weights, known, atoms, np.where(known, values, 0), ring)
        if np.count_nonzero(known & ~atoms & (weights < TRUSTED)) > _MOST_DOUBTED * np.count_nonzero(known):
            return known.astype(np.float32)  # so many errors of any size are none: the ring knows too little yet
        weights = np.where(atoms, weights * (weights >= TRUSTED), np.maximum(weights, known * _DOUBTFUL))
        close = known & (np.abs(np.where(known, values, 0) - ring) <= _CLOSE * self.data_range)
        return np.where(close, np.float32(1), weights)


def _of_these(problem: Problem, kept: NDArray[np.bool_]) -> Problem:
    """The problem with some of its entries."""
    assert isinstance(problem.source, ArraySource)  # noqa: S101 - only such are judged
    source = replace(problem.source, mask=kept)
    return replace(problem, source=source, survey=first_look(source, problem.executor))


def _with_events(
    weights: NDArray[np.float32],
    observed: NDArray[np.bool_],
    atoms: NDArray[np.bool_],
    values: NDArray[Any],
    ring: NDArray[Any],
) -> NDArray[np.float32]:
    """The weights, of which those of fibres that are wrong as a whole are one.

    A day on which everything is unlike all other days is no error: more of its entries are doubted than chance would
    have it. Entries that take one of the few values of wrong ones stay wrong, and so do those that hardly vary where
    the ring does: a detector is dead.
    """
    from scipy.special import bdtrc  # here, because importing it takes a fifth of a second

    doubted, event = observed & (weights < TRUSTED) & ~atoms, np.zeros_like(observed)
    share = float(doubted.sum()) / max(float(observed.sum()), 1.0)
    for mode in range(weights.ndim):
        count = np.count_nonzero(observed, axis=mode, keepdims=True)
        wrong = np.count_nonzero(doubted, axis=mode, keepdims=True)
        chance = bdtrc(np.maximum(wrong - 1.0, 0.0), np.maximum(count, 1), share)  # of so many wrong ones, or more
        dead = _deviation(values, doubted, mode) < _DEAD * _deviation(ring, doubted, mode)
        event |= (wrong > _WHOLE * count) & (wrong > 1) & (chance * count.size < _CHANCE) & ~dead
    return np.where(event & doubted, np.float32(1), weights)


def _deviation(values: NDArray[Any], where: NDArray[np.bool_], mode: int) -> NDArray[np.float64]:
    """Standard deviation of some entries along a mode."""
    number = np.maximum(np.count_nonzero(where, axis=mode, keepdims=True), 1)
    mean = np.sum(values, axis=mode, keepdims=True, where=where, dtype=np.float64) / number
    return np.asarray(np.sqrt(np.sum((values - mean) ** 2, axis=mode, keepdims=True, where=where) / number))
