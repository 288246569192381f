"""How entries count: steps from one path to another, which leave the first as it was."""

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
import pytest

from oracles import dense, random_cores
from ringlet import AWRTRD
from ringlet.errors import FormatError
from ringlet.execution import Threads
from ringlet.solvers.base import Problem
from ringlet.solvers.engine.subchain import Resources
from ringlet.solvers.rank_choice import RankChoice
from ringlet.solvers.sawrtrd.algorithm import Algorithm
from ringlet.solvers.tuning.entry_weights import EntryWeights
from ringlet.solvers.tuning.judgements import WholeJudgement
from ringlet.solvers.tuning.judging import Judge
from ringlet.solvers.tuning.path_state import Counting, Path, PathState, Phase
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.trials import Trials
from ringlet.solvers.tuning.tuned_parameters import TunedParameters
from ringlet.solvers.tuning.validator import hold_out
from ringlet.sources import as_source, survey

TRUTH = dense(random_cores((20, 18, 16), (2, 2, 2), seed=1))
WRONG = np.random.default_rng(0).random(TRUTH.shape) < 0.05
WHOLE = (slice(None),) * 3


@pytest.fixture(scope="module")
def begun():
    """How entries count, and a path after five sweeps of a ring of the true rank."""
    rng = np.random.default_rng(1)
    x = TRUTH + np.where(WRONG, rng.choice([-6.0, 6.0], TRUTH.shape) * TRUTH.std(), 0)
    source, policy, solver = as_source(x), TuningPolicy(), AWRTRD()
    problem = Problem(source, survey(source), (2, 2, 2), seed=0)
    held = hold_out(problem, policy)
    with Threads(1) as threads:
        algorithm = Algorithm.of(solver, held.seen, Resources(threads.run), tuned=True)
        scale = algorithm.scale
        trials = Trials(algorithm, held.validator.scaled(scale.data_range, scale.level, np.dtype("f8")))
        now = trials.swept(algorithm.init(), 1, sweeps=5)
        path = Path(PathState(TunedParameters([]).state, Phase.POLISHING), trials, now, now)
        yield EntryWeights(held, trials.validator, policy, Judge(source, scale.data_range)), path


def test_wrong_entries_are_not_believed_and_the_first_path_still_believes_them(begun):
    entries, path = begun
    judged = entries.judged(path, 6)
    assert path.judgement is None
    assert path.trials.algorithm.width_rule.rule is not None  # a kernel weighs entries
    assert judged.trials.algorithm.width_rule.fixed == np.inf  # least squares of what is believed
    assert np.mean(judged.judgement.all_weights[WRONG] < 0.5) > 0.9
    assert np.mean(judged.judgement.all_weights[~WRONG] > 0.5) > 0.99
    seen = path.trials.algorithm.problem.survey.observed
    assert judged.trials.algorithm.problem.survey.observed < seen
    assert path.trials.algorithm.problem.survey.observed == seen


def test_a_judgement_is_outdated_until_the_ring_has_been_judged_by(begun):
    entries, path = begun
    assert entries.outdated(path)
    assert not entries.outdated(entries.judged(path, 6))
    error = entries.unjudged.error(path.now.residuals)
    assert not entries.outdated(path.moved(judged_at=error))
    assert entries.outdated(path.moved(judged_at=2 * error))
    assert not replace(entries, judge=None).outdated(path)


@dataclass(frozen=True)
class Says:
    """A judge that always says the same."""

    all_weights: np.ndarray

    def judge(self, *_):
        return WholeJudgement(self.all_weights)


def test_where_nothing_is_doubted_nothing_is_tried(begun):
    entries, path = begun
    sure = replace(entries, judge=Says(np.ones(TRUTH.shape, np.float32))).judged(path, 6)
    assert sure.now is path.now
    doubting = Says(np.where(WRONG, np.float32(1e-6), np.float32(1)))
    idle = replace(entries, judge=doubting, policy=TuningPolicy(readmits=False)).judged(path, 6)
    assert idle.now is path.now
    assert idle.at.counting is Counting.BELIEVED


@pytest.mark.parametrize("missing_by", ["mask", "nan"])
def test_all_entries_count_where_hardly_any_would_be_left(missing_by):
    known = np.random.default_rng(2).random(TRUTH.shape) < 0.5
    source = as_source(TRUTH, known) if missing_by == "mask" else as_source(np.where(known, TRUTH, np.nan))
    problem = Problem(source, survey(source), (2, 2, 2), seed=0)
    few = WholeJudgement((known & (np.random.default_rng(3).random(TRUTH.shape) < 0.1)).astype(np.float32))
    assert few.counted(problem, doubted=False) is problem


def test_gross_errors_are_not_tried_for_longer_than_they_might_help(begun, monkeypatch):
    entries, path = begun
    swept, sweeps = Trials.swept, []
    monkeypatch.setattr(Trials, "swept", lambda self, *given, **more: sweeps.append(1) or swept(self, *given, **more))
    entries.judged(path, 6)
    assert len(sweeps) == 4  # one of them with those that are doubted


def test_gross_errors_stay_out(begun):
    entries, path = begun
    judged = replace(entries, judge=Says(np.where(WRONG, np.float32(1e-6), np.float32(1)))).judged(path, 6)
    assert judged.at.counting is Counting.BELIEVED
    assert judged.now is not path.now  # it was swept without them
    seen = path.trials.algorithm.problem.survey.observed
    assert judged.trials.algorithm.problem.survey.observed < 0.97 * seen
    assert entries.recounted(judged, 7, Counting.WEIGHED).at.counting is Counting.BELIEVED


def test_a_kernel_is_kept_against_gross_errors_that_nobody_has_judged(begun):
    entries, path = begun
    unjudging = replace(entries, judge=None)
    chosen = unjudging.recounted(path, 6, Counting.ALIKE)
    assert chosen.at.counting is Counting.WEIGHED
    assert chosen.now is not path.now  # it was swept by the kernel
    never = replace(unjudging, policy=TuningPolicy(chooses_least_squares=False))
    assert never.recounted(path, 6, Counting.ALIKE) is path


def test_right_entries_that_are_doubted_count_again(begun):
    entries, path = begun
    right = ~WRONG & (np.random.default_rng(4).random(TRUTH.shape) < 0.1)
    weights = np.where(right, np.float32(1e-6), np.float32(1)) * ~WRONG
    judged = replace(entries, judge=Says(weights)).judged(path, 6)
    assert judged.at.counting is Counting.ALIKE
    observed = judged.trials.algorithm.problem.survey.observed
    assert observed == np.count_nonzero(weights[entries.held.mask.drawn(WHOLE, range(3)) == 0])


def test_tiles_are_not_judged_when_there_is_no_time(begun):
    entries, path = begun
    late, early = ({"deadline": perf_counter() + seconds} for seconds in (-1, 3600))
    assert replace(entries, **late).outdated(path)  # all at once: that takes no time to speak of
    tiled = replace(entries, judge=replace(entries.judge, at_once=False))
    assert replace(tiled, **early).outdated(path)
    assert not replace(tiled, **late).outdated(path)


def test_a_fit_that_judges_is_not_resumed_where_nothing_is_judged(begun):
    entries, path = begun
    state = entries.judged(path, 6).judgement.state()
    np.testing.assert_array_equal(entries.resumed(state, np.dtype("f8")).state()["path.weights"], state["path.weights"])
    unjudging = replace(entries, judge=None)
    assert unjudging.resumed({}, np.dtype("f8")) is None
    with pytest.raises(FormatError, match="memory budget leaves no room"):
        unjudging.resumed(state, np.dtype("f8"))


def test_a_second_path_needs_small_data_that_leave_it_free_and_time(begun):
    entries, path = begun
    judged, now = entries.judged(path, 6), perf_counter()

    def may(path=judged, choice=None, **changes):
        free = replace(entries.held, whole=replace(entries.held.whole, choice=choice or RankChoice()))
        return replace(entries, held=free, **changes).may_begin_again(path, now - 10)

    assert may()
    assert not may(path)  # nothing has been judged
    assert not may(choice=RankChoice(psnr=40))
    assert not may(policy=TuningPolicy(last_judging_entries=TRUTH.size - 1))
    assert not may(policy=TuningPolicy(begins_again=False))
    assert not may(policy=TuningPolicy(least_doubted=0.06))  # 5 % are
    assert not may(deadline=now + 5)  # half as long as the first path took
    assert not entries.may_begin_again(judged, now)  # a given rank


def test_an_entry_that_only_itself_explains_is_doubted_though_the_ring_says_it(begun):
    entries, path = begun
    judge, data_range = entries.judge, path.trials.algorithm.scale.data_range
    truth = random_cores((20, 18, 16), (2, 2, 2), seed=1)
    cores, place = [np.zeros((3, length, 3)) for length in TRUTH.shape], tuple(np.argwhere(~WRONG)[1000])
    for core, own, index in zip(cores, truth, place, strict=True):
        core[:2, :, :2], core[2, index, 2] = own, (4 * TRUTH.std()) ** (1 / 3)
    noise = 0.01 * TRUTH.std()
    values = dense(cores) + noise * np.random.default_rng(2).standard_normal(TRUTH.shape)
    values[place] = dense(cores)[place] + 12 * noise  # an error that a feature of its own nearly describes
    judge = replace(judge, source=as_source(values))
    scaled = [core / data_range ** (1 / 3) for core in cores]
    usual = judge.judge(scaled)
    strict = judge.judge_unseen(usual, scaled, np.ones(TRUTH.shape, bool))
    assert usual.all_weights[place] > 0.9
    assert strict.all_weights[place] < 0.1
    assert np.mean(strict.all_weights > 0.5) > 0.99
