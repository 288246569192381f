"""Which entries a fit trusts: the ring and their neighbours judge all entries between two sweeps.

The sweeps that follow are least squares of the trusted entries.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import BudgetError, FormatError
from ringlet.local.judging import Judged, JudgingModel, judge_entries, judge_sample
from ringlet.local.stuck import without_stuck
from ringlet.local.window import Entries
from ringlet.results.local_entries import evaluated
from ringlet.results.records import RunState
from ringlet.results.saved_state import saved_array
from ringlet.ring import TensorRing
from ringlet.ring.arrays import Mapper
from ringlet.ring.chain import Core
from ringlet.solvers.base import Problem, first_look
from ringlet.solvers.sawrtrd.robust_ring import RobustRing
from ringlet.solvers.tuning.holdout import holdout_memory
from ringlet.solvers.tuning.judgements import Judgement, WholeJudgement
from ringlet.solvers.tuning.judging_rules import MOST_DOUBTED, JudgedPart, beside_ring, doubted_share
from ringlet.solvers.tuning.leverage import leverages
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.tiled_judging import TileSizes, judge_tiles, tiled_judging_memory
from ringlet.solvers.tuning.validator import HeldOut
from ringlet.sources import ArraySource, Source

__all__ = ["Judge", "can_judge", "judge_for", "judging_memory", "was_judged", "without_stuck_entries"]

_MOST_IN_MEMORY = 1 << 31  # of arrays: all of them are judged each time
_BYTES = 80  # for every entry during a judgement
_WHOLE_PART, _TILED_PART = 4, 2  # divisors of a memory budget: the most for judging, at once or by tiles
_FEWEST = 1500  # observed entries: fewer are too few to learn from


def judging_memory(settings: RobustRing, policy: TuningPolicy, shape: Sequence[int], *, stored: bool) -> int:
    """Bytes that judging takes in addition to the data; 0 if the settings exclude it."""
    entries, budget = prod(shape), settings.budget
    if not (settings.loss == "learned" and settings.tunes_width) or not (stored or entries <= _MOST_IN_MEMORY):
        return 0
    if _judges_whole(settings, policy, shape):
        return entries * _BYTES
    needed = tiled_judging_memory(shape, stored=stored)
    return needed if budget is None or _TILED_PART * needed <= budget else 0


def _judges_whole(settings: RobustRing, policy: TuningPolicy, shape: Sequence[int]) -> bool:
    """Whether all entries are judged at once."""
    entries, budget = prod(shape), settings.budget
    return entries <= policy.judged_at_once and (budget is None or _WHOLE_PART * entries * _BYTES <= budget)


def was_judged(state: RunState) -> bool:
    """Whether a saved state holds a judgement."""
    return "path.weights" in state or "path.judge.0" in state


def can_judge(settings: RobustRing, policy: TuningPolicy, problem: Problem) -> bool:
    """Whether entries can be judged: data that vary, enough of them, and room in the memory budget.

    A kernel of a given width gives weights instead. With `background` entries are not judged, because the pixels of a
    moving object agree with each other. Arrays in memory on a cluster are not judged either: every judgement would send
    all of the data again.
    """
    source, survey, choice = problem.source, problem.survey, problem.choice
    stored = source.chunks is not None
    if (problem.executor is not None and not stored) or (choice is not None and choice.still is not None):
        return False
    needed = judging_memory(settings, policy, source.shape, stored=stored)
    looked_at = 1.0 if _judges_whole(settings, policy, source.shape) else TileSizes.window / prod(source.shape)
    if not needed or survey.minimum == survey.maximum or min(looked_at, 1.0) * survey.observed < _FEWEST:
        return False
    try:
        settings.plan_of(problem, problem.rank, holdout_memory(source.shape, stored=stored) + needed)
    except BudgetError:
        return False
    return True


def without_stuck_entries(settings: RobustRing, policy: TuningPolicy, problem: Problem) -> Problem:
    """The problem without entries of stuck detectors and dead rows, which are found without a ring.

    Unchanged if entries are not judged, or not at once.
    """
    source = problem.source
    at_once = can_judge(settings, policy, problem) and _judges_whole(settings, policy, source.shape)
    if not (at_once and isinstance(source, ArraySource)):
        return problem
    values, observed = source.read((slice(None),) * len(source.shape))
    kept = without_stuck(values, observed)
    if kept is None or kept is observed:
        return problem
    source = replace(source, mask=kept)
    return replace(problem, source=source, survey=first_look(source, problem.executor))


def judge_for(settings: RobustRing, policy: TuningPolicy, held: HeldOut, data_range: float) -> "Judge | None":
    """The judge of the entries of a fit; None if they cannot be judged."""
    problem = held.whole
    if not can_judge(settings, policy, problem):
        return None
    return Judge(problem.source, data_range, at_once=_judges_whole(settings, policy, problem.source.shape))


@dataclass(frozen=True, eq=False)
class Judge:
    """Judges the entries of a tensor.

    Attributes
    ----------
    source : Source
    data_range : float
        The cores are a ring of the data divided by it.
    at_once : bool
        Whether all entries are judged at once; else tile by tile.
    sizes : TileSizes
    """

    source: Source
    data_range: float
    at_once: bool = True
    sizes: TileSizes = field(default_factory=TileSizes)

    def judge(self, cores: Sequence[Core], mapper: Mapper = map) -> Judgement:
        """Judge by a ring; `mapper` is used like `map`."""
        if self.at_once:
            return WholeJudgement(self.weights(cores, mapper))
        return judge_tiles(self.source, self.data_range, cores, self.sizes)

    def resumed(self, state: RunState, dtype: np.dtype[np.floating]) -> Judgement | None:
        """The judgement of a saved state, which has cores of this dtype; None if there was none."""
        shape = self.source.shape
        if "path.weights" in state:
            return WholeJudgement(saved_array(state, "path.weights", shape, np.dtype("f4")))
        if not was_judged(state):
            return None
        cores = [saved_array(state, f"path.judge.{mode}", None, dtype) for mode in range(len(shape))]
        fits = all(core.ndim == 3 for core in cores) and tuple(core.shape[1] for core in cores) == shape
        if not fits or any(core.shape[2] != cores[k - len(cores) + 1].shape[0] for k, core in enumerate(cores)):
            raise FormatError("'path.judge' of the state is no ring of the shape of the data")
        return judge_tiles(self.source, self.data_range, cores, self.sizes)

    def weights(self, cores: Sequence[Core], mapper: Mapper = map) -> NDArray[np.float32]:
        """Probability of being right for every entry, judged at once; see `JudgedPart.settled`."""
        entries = beside_ring(self.source, self._box, cores, self.data_range)
        model, (weights,) = judge_entries([entries], mapper=mapper)
        return self._settled(entries, weights, model)

    def judge_unseen(
        self, judgement: Judgement, cores: Sequence[Core], used: NDArray[np.bool_], mapper: Mapper = map
    ) -> Judgement:
        """A stricter judgement: an entry is doubted, too, if the ring would not say it without the entry itself.

        Parameters
        ----------
        judgement : Judgement
            By the same ring.
        cores : sequence of arrays
        used : bool array
            Entries that the ring was fitted to.
        mapper : callable
            Used like `map`.
        """
        entries = beside_ring(self.source, self._box, cores, self.data_range)
        own = leverages(cores, used)
        residuals = np.where(used, entries.values, entries.ring) - entries.ring
        unseen = replace(entries, ring=entries.ring - residuals * (own / (1.0 - own)))
        model, (weights,) = judge_entries([unseen], mapper=mapper)
        strict = self._settled(unseen, weights, model)
        return WholeJudgement(np.minimum(strict, judgement.weights(self._box)))

    def finally_by(self, ring: TensorRing, mapper: Mapper = map) -> tuple[Judgement, Judged]:
        """Judge all entries at once by a ring in the data's units, and keep what restoring the data needs.

        Stuck entries of a store are left out here; see `without_stuck_entries`.
        """
        values, observed = self.source.read(self._box)
        if not isinstance(self.source, ArraySource):
            observed = without_stuck(values, observed)
        entries = Entries(values, observed, evaluated(ring, self._box))
        judged = judge_sample([entries], mapper=mapper)
        weights = self._settled(entries, judged.weights[0], judged.model)
        return WholeJudgement(weights), judged.without_windows()

    def used_by(self, problem: Problem) -> NDArray[np.bool_]:
        """Entries that count in a problem of this tensor."""
        _, observed = problem.source.read(self._box)
        return np.ones(self.source.shape, np.bool_) if observed is None else observed

    @property
    def _box(self) -> tuple[slice, ...]:
        return tuple(slice(0, length) for length in self.source.shape)

    def _settled(self, entries: Entries, weights: NDArray[np.float32], model: JudgingModel) -> NDArray[np.float32]:
        part = JudgedPart.of(entries, weights, model.outliers)
        part = part.with_events(doubted_share([part]))
        if doubted_share([part]) > MOST_DOUBTED:  # too many for errors: the ring is still too small
            return part.known.astype(np.float32)
        return part.settled(self.data_range)
