"""Judgements tile by tile: near to those of the whole, the same whoever asks for what, and when a fit is resumed."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from math import prod

import numpy as np
import pytest

from oracles import dense
from ringlet import SAWRTRD
from ringlet.errors import FormatError
from ringlet.solvers.base import Problem
from ringlet.solvers.tuning.judging import Judge, judging_memory
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.tiled_judging import TileSizes, tiled_judging_memory
from ringlet.sources import ChunkedSource, as_source, survey
from ringlet.sources.chunked import regular_chunks
from stored_tensors import Counting

SHAPE, CHUNKS = (120, 140, 6), (30, 28, 3)
SMALL = TileSizes(window=40_000, most=30_000, least=2000)


def smooth_cores(shape=SHAPE, rank=2, seed=0):
    """Cores that change slowly from slice to slice."""
    rng = np.random.default_rng(seed)
    return [
        np.cos(np.linspace(0, 1, n)[:, None] * rng.uniform(1, 5, (rank, 1, rank)) + rng.uniform(0, 6, (rank, 1, rank)))
        for n in shape
    ]


CORES = smooth_cores()
TRUTH = dense(CORES)
RANGE = float(np.ptp(TRUTH))


def damaged(seed=1, missing=0.2):
    """The tensor with salt and pepper, random errors and holes; and which of the entries are wrong."""
    rng = np.random.default_rng(seed)
    x = TRUTH + 0.01 * RANGE * rng.standard_normal(SHAPE)
    salt, moved = rng.random(SHAPE) < 0.1, rng.random(SHAPE) < 0.03
    x = np.where(moved, x + 0.5 * RANGE, np.where(salt, rng.choice([TRUTH.min(), TRUTH.max()], SHAPE), x))
    x[rng.random(SHAPE) < missing] = np.nan
    return x, salt | moved


X, WRONG = damaged()
SCALED = [core / RANGE ** (1 / 3) for core in CORES]


def in_chunks(x):
    return ChunkedSource(x, regular_chunks(x.shape, CHUNKS))


def judged(source, *, at_once=False, sizes=SMALL):
    return Judge(source, RANGE, at_once, sizes).judge(SCALED)


EVERYTHING = tuple(slice(0, length) for length in SHAPE)


@pytest.mark.parametrize("wrap", [as_source, in_chunks])
def test_tiles_are_judged_as_the_whole_is(wrap):
    whole, tiled = judged(as_source(X), at_once=True).weights(EVERYTHING), judged(wrap(X)).weights(EVERYTHING)
    known = ~np.isnan(X)
    far = known & WRONG & (np.abs(X - TRUTH) > 0.1 * RANGE)
    assert not tiled[~known].any()
    for weights in (whole, tiled):
        assert np.mean(weights[known & ~WRONG] >= 0.5) > 0.99
        assert np.mean(weights[far] < 0.5) > 0.99
    assert np.mean((tiled >= 0.5) == (whole >= 0.5)) > 0.998


def test_what_is_believed_does_not_depend_on_who_asks_first():
    """Blocks of a store, in another order, with the axes turned, and from two threads."""
    expected, other = judged(in_chunks(X)).weights(EVERYTHING), judged(in_chunks(X))
    rng = np.random.default_rng(0)
    blocks = [tuple(np.sort(rng.choice(n, n // 3 + 1, replace=False)) for n in SHAPE) for _ in range(6)]
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(other.weights, blocks))
    for block, weights in zip(blocks, found, strict=True):
        np.testing.assert_array_equal(weights, expected[np.ix_(*block)])
    problem = Problem(in_chunks(X), survey(in_chunks(X)), (2, 2, 2), seed=0)
    source = other.counted(problem, doubted=False).source
    values, observed = source.read((slice(3, 70), blocks[0][1], slice(None)), (2, 0, 1))
    block = np.ix_(np.arange(3, 70), blocks[0][1], np.arange(SHAPE[2]))
    np.testing.assert_array_equal(observed, (expected[block] >= 0.5).transpose(2, 0, 1))
    np.testing.assert_array_equal(values[observed], X[block].transpose(2, 0, 1)[observed])


def test_tiles_of_a_store_are_judged_when_they_are_read_and_once():
    counting = Counting(X, CHUNKS)
    judgement = judged(ChunkedSource(counting, regular_chunks(SHAPE, CHUNKS)))
    counting.restart()
    corner = (slice(0, 5), slice(0, 5), slice(0, 6))
    first = judgement.weights(corner)
    assert 0 < len(counting.reads) < prod(-(-n // c) for n, c in zip(SHAPE, CHUNKS, strict=True)) // 2
    counting.restart()
    np.testing.assert_array_equal(judgement.weights(corner), first)
    assert not counting.reads


@pytest.mark.parametrize("wrap", [as_source, in_chunks])
@pytest.mark.parametrize("doubted", [False, True])
def test_wrong_entries_do_not_count_and_those_that_do_are_about_counted(wrap, doubted):
    source = wrap(X)
    problem = Problem(source, survey(source), (2, 2, 2), seed=0)
    left = judged(source).counted(problem, doubted=doubted)
    _, observed = left.source.read(EVERYTHING)
    exact = survey(left.source)
    assert left.source.chunks == source.chunks
    assert np.mean(observed[WRONG & ~np.isnan(X)]) < (0.3 if doubted else 0.02)  # values that are moved are doubted
    assert left.survey.observed == pytest.approx(exact.observed, rel=0.02)
    assert (left.survey.minimum, left.survey.maximum) == pytest.approx((exact.minimum, exact.maximum), abs=0.2 * RANGE)
    assert left.survey.observed < 0.93 * problem.survey.observed


def test_four_ordered_modes_do_not_make_tiles_that_are_mostly_halo():
    cores = smooth_cores((18, 17, 16, 15))
    x = dense(cores)
    judge = Judge(as_source(x), float(np.ptp(x)), at_once=False, sizes=TileSizes(20_000, 20_000, 2000))
    judgement = judge.judge([core / np.ptp(x) ** 0.25 for core in cores])
    assert judgement.tiling.overhead <= 2
    assert judgement.tiling.count > 1
    assert np.mean(judgement.weights(tuple(slice(0, n) for n in x.shape)) >= 0.5) > 0.999


def test_a_judgement_is_the_same_after_it_was_saved():
    judge = Judge(in_chunks(X), RANGE, at_once=False, sizes=SMALL)
    first = judge.judge(SCALED)
    state = first.state()
    again = judge.resumed(state, np.dtype("f8"))
    assert sum(np.size(part) for part in state.values()) < 2000  # a ring, not what it says of every entry
    np.testing.assert_array_equal(again.weights(EVERYTHING), first.weights(EVERYTHING))
    assert judge.resumed({}, np.dtype("f8")) is None
    for mode, wrong in ((0, np.zeros((2, 3, 2))), (1, np.zeros((3, SHAPE[1], 2))), (2, np.zeros(4))):
        with pytest.raises(FormatError, match="no ring"):
            judge.resumed(state | {f"path.judge.{mode}": wrong}, np.dtype("f8"))


def test_where_so_many_entries_are_far_off_all_are_believed():
    """The ring knows too little: half of the data are not what it says, in patches of random size."""
    x = np.where(np.random.default_rng(0).random((12, 14, 6)).repeat(10, 0).repeat(10, 1) < 0.5, X, X + RANGE)
    x += 0.2 * RANGE * np.random.default_rng(1).standard_normal(SHAPE)
    weights = judged(in_chunks(x)).weights(EVERYTHING)
    assert np.mean(weights[~np.isnan(x)] > 0) > 0.999


@pytest.mark.parametrize(
    ("shape", "memory", "stored", "judged"),
    [
        ((100, 100, 10), None, False, True),
        ((100, 100, 10), "10MB", False, False),
        ((1000, 1000, 3), "400MB", False, True),  # by tiles
        ((1920, 1080, 3, 50), None, False, True),
        ((1920, 1080, 3, 50), "500MB", False, False),  # a byte for each of 311 million entries
        ((1920, 1080, 3, 50), "500MB", True, True),
        ((100_000, 100_000, 30), "1GB", True, True),
        ((100_000, 100_000, 30), "100MB", True, False),
    ],
)
def test_what_a_judgement_takes_is_known_before(shape, memory, stored, judged):
    needed = judging_memory(SAWRTRD(memory=memory), TuningPolicy(), shape, stored=stored)
    assert (needed > 0) == judged
    assert needed < 800e6
    assert judging_memory(SAWRTRD(memory=memory, loss="correntropy"), TuningPolicy(), shape, stored=stored) == 0


def test_judging_takes_no_more_memory_than_is_planned():
    x = np.tile(np.nan_to_num(X), (2, 1, 1))
    source, cores = in_chunks(x), [np.tile(SCALED[0], (1, 2, 1)), *SCALED[1:]]
    Judge(as_source(X), RANGE, at_once=False, sizes=SMALL).judge(SCALED)  # loads what it imports
    tracemalloc.start()
    judgement = Judge(source, RANGE, at_once=False).judge(cores)
    assert np.mean(judgement.weights(tuple(slice(0, n) for n in x.shape)) > 0.5) > 0.5
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < tiled_judging_memory(x.shape, stored=True)
