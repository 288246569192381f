"""Sizes and draws."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import random_cores
from ringlet.sampling import (
    Purpose,
    draw_rows,
    draw_subtensor,
    leverage_distribution,
    merge_rows,
    sample_sizes,
    stream,
    subset,
)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=7), st.integers(1, 10**6))
@settings(max_examples=300, deadline=None)
def test_sizes_come_close_to_the_budget_and_respect_the_modes(shape, samples):
    sizes = sample_sizes(tuple(shape), samples)
    assert all(1 <= size <= length for size, length in zip(sizes, shape, strict=True))
    if samples >= prod(shape):
        assert sizes == tuple(shape)
    else:  # off by less than one index more or less of a mode that has some to spare, or of any if all are whole
        spare = [size for size, length in zip(sizes, shape, strict=True) if size < length]
        assert abs(np.log(prod(sizes) / samples)) <= np.log(1 + 1 / min(spare or sizes))


@pytest.mark.parametrize(
    ("shape", "samples", "sizes"),
    [
        ((1080, 3, 50), 40_000, (267, 3, 50)),
        ((2040, 3), 30_000, (2040, 3)),
        ((1356, 2040), 30_000, (173, 173)),
    ],
)
def test_small_modes_are_taken_whole(shape, samples, sizes):
    assert sample_sizes(shape, samples) == sizes


def test_draws_are_sorted_without_replacement_and_seeded():
    index = draw_subtensor((50, 400, 3), 200, stream(1, Purpose.SAMPLE, 2, 0), whole=0)
    assert len(index[0]) == 50
    for drawn, length in zip(index, (50, 400, 3), strict=True):
        assert (np.diff(drawn) > 0).all()
        assert drawn.min() >= 0
        assert drawn.max() < length
    again = draw_subtensor((50, 400, 3), 200, stream(1, Purpose.SAMPLE, 2, 0), whole=0)
    later = draw_subtensor((50, 400, 3), 200, stream(1, Purpose.SAMPLE, 3, 0), whole=0)
    assert all(np.array_equal(a, b) for a, b in zip(index, again, strict=True))
    assert not np.array_equal(index[1], later[1])


def test_every_index_is_drawn_equally_often():
    counts = np.zeros(20)
    for sweep in range(2000):
        counts[subset(20, 5, stream(0, Purpose.SAMPLE, sweep))] += 1
    assert np.abs(counts - 500).max() < 5 * np.sqrt(500)


def test_leverage_scores_agree_with_a_projection_matrix():
    core = random_cores((30, 4), (2, 3))[0]
    A = core.transpose(1, 0, 2).reshape(30, 6)
    hat = A @ np.linalg.pinv(A)
    np.testing.assert_allclose(leverage_distribution(core), np.diag(hat) / 6, atol=1e-12)


def test_leverage_scores_are_uniform_when_a_core_has_more_columns_than_slices():
    core = random_cores((5, 4), (3, 2))[0]
    np.testing.assert_allclose(leverage_distribution(core), np.full(5, 0.2), atol=1e-12)
    assert leverage_distribution(np.zeros((2, 4, 2))).sum() == pytest.approx(1.0)


def test_indices_of_rows_are_drawn_independently_by_their_probabilities():
    first, second = np.array([0.5, 0.0, 0.2, 0.3]), np.array([0.1, 0.9, 0.0])
    (i, j), weights = draw_rows([first, second], 100_000, np.random.default_rng(0))
    counts = np.zeros((4, 3))
    np.add.at(counts, (i, j), 1)
    expected = 100_000 * np.outer(first, second)
    assert np.abs(counts - expected).max() < 5 * np.sqrt(100_000 / 4)
    assert counts[expected == 0].sum() == 0
    np.testing.assert_allclose(weights, 1 / expected[i, j])


@pytest.mark.parametrize("shape", [(5, 4), (100, 90)])  # fewer rows in all than are drawn, and many more
def test_merged_rows_are_distinct_and_keep_the_sums_of_weights(shape):
    rng = np.random.default_rng(0)
    rows = tuple(rng.integers(0, min(length, 12), 300) for length in shape)
    weights = rng.random(300)
    sums: dict[tuple[int, int], float] = {}
    for i, j, weight in zip(*rows, weights, strict=True):
        sums[int(i), int(j)] = sums.get((int(i), int(j)), 0.0) + weight
    merged, found = merge_rows(rows, weights, shape)
    got = dict(zip(zip(*(index.tolist() for index in merged), strict=True), found, strict=True))
    assert len(got) == len(found) == len(sums)
    assert got == pytest.approx(sums)
