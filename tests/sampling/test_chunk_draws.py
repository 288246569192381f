"""Draws from chunks: few of them, all of them over the sweeps, as many entries as a uniform draw, always the same."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringlet.sampling import ChunkDraw, Purpose, draw_entries, draw_subtensor, stream
from ringlet.sources import ArraySource, ChunkedSource
from ringlet.sources.chunked import regular_chunks

STORES = {  # 4-D, 240 chunks and more
    "video": ((480, 854, 3, 50), (64, 64, 3, 10), 10_000),
    "cubes": ((64, 64, 64, 64), (16, 16, 16, 16), 30_000),
    "small": ((64, 64, 16, 16), (16, 16, 4, 4), 1_000),
    "large": ((4000, 4000, 3, 500), (128, 128, 3, 16), 30_000),
}


def cells(index, sizes):
    """The chunks, as numbers along every mode, that hold these indices."""
    return [np.unique(chosen // size) for chosen, size in zip(index, sizes, strict=True)]


def count(index, sizes):
    return prod(len(numbers) for numbers in cells(index, sizes))


@pytest.mark.parametrize("name", STORES)
def test_the_same_samples_come_from_at_least_five_times_fewer_chunks_than_uniform_ones(name):
    shape, sizes, samples = STORES[name]
    read = {"chunks": 0, "uniform": 0, "entries": 0, "uniform entries": 0}
    for mode in range(4):
        draw = ChunkDraw.plan(regular_chunks(shape, sizes), samples, whole=mode)
        for sweep in range(1, 9):
            index = draw.indices(3, Purpose.SAMPLE, sweep, mode)
            uniform = draw_subtensor(shape, samples, stream(3, Purpose.SAMPLE, sweep, mode), whole=mode)
            read["chunks"] += count(index, sizes)
            read["uniform"] += count(uniform, sizes)
            read["entries"] += prod(map(len, index)) // shape[mode]
            read["uniform entries"] += prod(map(len, uniform)) // shape[mode]
    assert read["uniform"] >= 5 * read["chunks"]
    assert read["entries"] == pytest.approx(read["uniform entries"], rel=0.1)


@st.composite
def stored(draw):
    order = draw(st.integers(2, 4))
    shape = tuple(draw(st.integers(1, 40)) for _ in range(order))
    sizes = tuple(draw(st.integers(1, 15)) for _ in range(order))
    return shape, sizes, draw(st.integers(1, 3000)), draw(st.integers(-1, order - 1))


@given(stored(), st.integers(0, 10), st.integers(1, 50))
@settings(max_examples=150, deadline=None)
def test_indices_are_sorted_distinct_in_range_and_no_more_than_planned(case, seed, sweep):
    shape, sizes, samples, whole = case
    draw = ChunkDraw.plan(regular_chunks(shape, sizes), samples, whole if whole >= 0 else None)
    index = draw.indices(seed, Purpose.SAMPLE, sweep, max(whole, 0))
    for mode, chosen in enumerate(index):
        assert (np.diff(chosen) > 0).all()
        assert chosen[0] >= 0
        assert chosen[-1] < shape[mode]
        assert 1 <= len(chosen) <= draw.sizes[mode] <= shape[mode]
        if mode == whole:
            assert len(chosen) == shape[mode]
    again = draw.indices(seed, Purpose.SAMPLE, sweep, max(whole, 0))
    assert all(np.array_equal(one, other) for one, other in zip(index, again, strict=True))


@pytest.mark.parametrize(
    ("shape", "sizes", "samples"),
    [((60, 50, 40), (10, 10, 10), 100), ((64, 64, 16, 16), (16, 16, 4, 4), 200), ((31, 22, 9), (5, 7, 2), 30)],
)
def test_every_chunk_is_visited_in_one_round_of_sweeps_and_in_the_next(shape, sizes, samples):
    grid = tuple(-(-length // size) for length, size in zip(shape, sizes, strict=True))
    draw = ChunkDraw.plan(regular_chunks(shape, sizes), samples, whole=0)
    reach = ChunkDraw(draw.starts, draw.groups, shape)  # as many indices as there are: all chosen chunks are seen
    for turn in range(2):
        seen = np.zeros(grid, int)
        for sweep in range(1 + turn * draw.round, 1 + (turn + 1) * draw.round):
            seen[np.ix_(*cells(reach.indices(5, Purpose.SAMPLE, sweep, 0), sizes))] += 1
        assert (seen == 1).all()


def test_every_index_is_drawn_equally_often():
    shape = (6, 60, 40)
    draw = ChunkDraw.plan(regular_chunks(shape, (3, 10, 8)), 120, whole=0)
    drawn = np.zeros(60)
    for sweep in range(1, 1201):
        drawn[draw.indices(0, Purpose.SAMPLE, sweep, 0)[1]] += 1
    assert drawn.min() > 0.75 * drawn.mean()
    assert drawn.max() < 1.25 * drawn.mean()


def test_a_short_last_chunk_never_stands_alone():
    draw = ChunkDraw.plan(regular_chunks((5, 101), (5, 20)), 10, whole=0)
    for sweep in range(1, 20):
        assert len(draw.indices(0, Purpose.SAMPLE, sweep, 0)[1]) == 10


def test_one_chunk_is_drawn_from_as_uniformly_as_an_array():
    draw = ChunkDraw.plan(((40,), (30,), (20,)), 60, whole=2)
    assert (draw.groups, draw.sizes) == ((1, 1, 1), (8, 8, 20))


def test_other_draws_keep_to_chunks_only_where_there_are_any():
    x = np.zeros((64, 64, 64))
    plain = draw_entries(ArraySource(x), 1000, 0, Purpose.PILOT, 2, 1)
    expected = draw_subtensor(x.shape, 1000, stream(0, Purpose.PILOT, 2, 1))
    assert all(np.array_equal(one, other) for one, other in zip(plain, expected, strict=True))
    stored_entries = draw_entries(ChunkedSource(x, regular_chunks(x.shape, (8, 8, 8))), 1000, 0, Purpose.PILOT, 2, 1)
    assert count(stored_entries, (8, 8, 8)) <= 64 < count(plain, (8, 8, 8))
