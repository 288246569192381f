"""How entries count: steps from one path to another, which leave the first as it was."""

from dataclasses import replace
from time import perf_counter

import numpy as np
import pytest

from oracles import dense, random_cores
from ringlet import AWRTRD
from ringlet.errors import FormatError
from ringlet.execution import Threads
from ringlet.solvers.base import Problem
from ringlet.solvers.engine.subchain import Resources
from ringlet.solvers.sawrtrd.algorithm import Algorithm
from ringlet.solvers.tuning.entry_weights import EntryWeights
from ringlet.solvers.tuning.judgements import WholeJudgement
from ringlet.solvers.tuning.judging import Judge
from ringlet.solvers.tuning.path_state import Path, PathState, Phase
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.trials import Trials
from ringlet.solvers.tuning.tuned_parameters import TunedParameters
from ringlet.solvers.tuning.validator import hold_out
from ringlet.sources import as_source, survey

TRUTH = dense(random_cores((20, 18, 16), (2, 2, 2), seed=1))
WRONG = np.random.default_rng(0).random(TRUTH.shape) < 0.05


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


def with_weights(path, weights):
    """The path after a judgement that gave these weights."""
    return replace(path, judgement=WholeJudgement(weights))


def test_wrong_entries_are_not_believed_and_the_first_path_still_believes_them(begun):
    entries, path = begun
    judged = entries.judged(path, 6)
    assert path.judgement is None
    assert path.at.kernel
    assert not judged.at.kernel
    assert np.mean(judged.judgement.all_weights[WRONG] < 0.5) > 0.9
    assert np.mean(judged.judgement.all_weights[~WRONG] > 0.5) > 0.99
    seen = path.trials.algorithm.problem.survey.observed
    assert judged.trials.algorithm.problem.survey.observed < seen
    assert path.trials.algorithm.problem.survey.observed == seen


def test_a_judgement_is_outdated_until_the_ring_has_been_judged_by(begun):
    entries, path = begun
    assert entries.outdated(path)
    error = entries.unjudged.error(path.now.residuals)
    assert not entries.outdated(path.moved(judged_at=error))
    assert entries.outdated(path.moved(judged_at=2 * error))
    assert not replace(entries, judge=None).outdated(path)


def test_where_nothing_is_doubted_nothing_is_tried(begun):
    entries, path = begun
    assert entries.readmitted(path, 6) is path  # nothing has been judged
    judged = with_weights(path, np.ones(TRUTH.shape, np.float32))
    assert entries.readmitted(judged, 6) is judged
    idle = replace(entries, policy=TuningPolicy(readmits=False, chooses_least_squares=False))
    doubted = with_weights(path, np.where(WRONG, np.float32(1e-6), np.float32(1)))
    assert idle.readmitted(doubted, 6) is doubted
    assert idle.readmitted(doubted, 6, since=path.now.state) is doubted
    assert idle.kernel_chosen(path, 6) is path


@pytest.mark.parametrize("missing_by", ["mask", "nan"])
def test_all_entries_count_where_hardly_any_would_be_left(missing_by):
    known = np.random.default_rng(2).random(TRUTH.shape) < 0.5
    source = as_source(TRUTH, known) if missing_by == "mask" else as_source(np.where(known, TRUTH, np.nan))
    problem = Problem(source, survey(source), (2, 2, 2), seed=0)
    few = WholeJudgement((known & (np.random.default_rng(3).random(TRUTH.shape) < 0.1)).astype(np.float32))
    assert few.counted(problem, doubted=False) is problem


def test_gross_errors_stay_out_and_a_kernel_is_kept_against_them(begun):
    entries, path = begun
    judged = entries.judged(path, 6)
    doubted = np.where(WRONG, np.float32(1e-6), np.float32(1))
    readmitted = entries.readmitted(entries.believed(with_weights(judged, doubted)), 6)
    assert not readmitted.at.readmitted
    assert readmitted.now is not path.now  # it was swept without them
    assert entries.kernel_chosen(path, 6).at.kernel
    chosen = entries.kernel_chosen(readmitted, 7)
    assert chosen.now is not readmitted.now
    assert entries.readmitted(chosen, 7, since=readmitted.now.state).now is chosen.now  # the same sweeps serve both


def test_tiles_are_not_judged_when_there_is_no_time(begun):
    entries, path = begun
    assert entries.in_time(path, perf_counter() - 1)  # all at once: that takes no time to speak of
    tiled = replace(entries, judge=replace(entries.judge, at_once=False))
    assert tiled.in_time(path, perf_counter() + 3600)
    assert not tiled.in_time(path, perf_counter() - 1)


def test_a_fit_that_judges_is_not_resumed_where_nothing_is_judged(begun):
    entries, path = begun
    state = entries.judged(path, 6).judgement.state()
    np.testing.assert_array_equal(entries.resumed(state, np.dtype("f8")).state()["path.weights"], state["path.weights"])
    unjudging = replace(entries, judge=None)
    assert unjudging.resumed({}, np.dtype("f8")) is None
    with pytest.raises(FormatError, match="memory budget leaves no room"):
        unjudging.resumed(state, np.dtype("f8"))
