"""Fits of stored data: the bits of the same entries in memory, chunks read once, reading that goes ahead, budgets."""

import threading
from collections import Counter
from itertools import groupby, product

import dask.array
import numpy as np
import pytest
import zarr

from ringlet import AWRTRD, SAWRTRD, decompose, plan
from ringlet.amounts import parse_bytes
from ringlet.errors import ArgumentError, BudgetError, FormatError
from ringlet.sampling import ChunkDraw, Purpose
from ringlet.solvers.engine import fit_plan as fit_plan
from ringlet.solvers.engine import regions as sketching
from ringlet.solvers.engine.prefetch import Ahead, hold
from ringlet.solvers.sawrtrd import algorithm as robust_run
from ringlet.solvers.sawrtrd.start import Scale
from ringlet.solvers.tuning.controller import AutomaticRun
from ringlet.sources import ArraySource, ChunkedSource
from ringlet.sources.chunked import regular_chunks

SHAPE, CHUNKS, RANK = (40, 36, 3, 20), (8, 6, 3, 5), (3, 3, 2, 2)


@pytest.fixture(scope="module")
def clean():
    i, j, c, t = np.meshgrid(*(np.linspace(0, 2, n) for n in SHAPE), indexing="ij")
    return (120 + 60 * np.sin(i + t) * np.cos(j - c) + 20 * np.cos(3 * j) * t).astype(np.float32)


@pytest.fixture(scope="module")
def damaged(clean):
    rng = np.random.default_rng(0)
    x = np.where(rng.random(SHAPE) < 0.1, 255, clean).astype(np.float32)
    x[rng.random(SHAPE) < 0.2] = np.nan
    return x


def stored(x):
    return ChunkedSource(x, regular_chunks(x.shape, CHUNKS))


def bits(fit):
    return [core.tobytes() for core in fit.ring.cores]


class InMemory(ChunkedSource):
    """The same chunks, but every entry is read at its place in memory by NumPy alone."""

    def read(self, block, order=None):
        axes = order or tuple(range(len(block)))
        indices = [np.arange(n)[chosen] for n, chosen in zip(self.shape, block, strict=True)]
        values = self.array[np.ix_(*indices)].transpose(axes)
        observed = ~np.isnan(values)
        return values, None if observed.all() else observed


@pytest.mark.parametrize(
    "solver", [SAWRTRD(samples=400, sweeps=3), AWRTRD(sweeps=2), SAWRTRD(samples=400, sweeps=2, loss="l2")]
)
def test_a_store_gives_the_bits_of_the_same_indices_in_memory(tmp_path, damaged, solver):
    array = zarr.create_array(tmp_path / "x.zarr", shape=SHAPE, chunks=CHUNKS, dtype="f4")
    array[...] = damaged
    expected = bits(decompose(InMemory(damaged, regular_chunks(SHAPE, CHUNKS)), RANK, solver=solver, seed=3))
    assert bits(decompose(array, RANK, solver=solver, seed=3)) == expected
    assert bits(decompose(dask.array.from_zarr(array), RANK, solver=solver, seed=3)) == expected


def test_uniform_subtensors_of_a_store_give_the_bits_of_an_array(damaged):
    solver = SAWRTRD(samples=400, sweeps=3, sampling="uniform-subtensor", sigma_min=0.1)
    in_memory = decompose(damaged, RANK, solver=SAWRTRD(samples=400, sweeps=3, sigma_min=0.1), seed=3)
    # The scale of the data is measured on other entries, so the units differ by a factor; nothing else does.
    assert np.asarray(decompose(stored(damaged), RANK, solver=solver, seed=3).ring) == pytest.approx(
        np.asarray(in_memory.ring), abs=2.0
    )


@pytest.mark.parametrize("solver", [SAWRTRD(samples=600, sweeps=40, tol=0), AWRTRD(sweeps=25, tol=0)])
def test_a_damaged_store_is_restored(clean, damaged, solver):
    error = np.asarray(decompose(stored(damaged), (4, 4, 3, 3), solver=solver).ring) - clean
    assert np.sqrt(np.mean(error**2)) < 6.0  # the damage itself: 30


class Counting:
    """An array that counts how often every chunk of it is read, by thread."""

    def __init__(self, array):
        self.array, self.dtype = array, array.dtype
        self.restart()

    def restart(self):
        self.reads, self.threads = Counter(), set()

    def __getitem__(self, block):
        for chunk in np.ndindex(*(-(-s.stop // c) - s.start // c for s, c in zip(block, CHUNKS, strict=True))):
            self.reads[tuple(k + s.start // c for k, s, c in zip(chunk, block, CHUNKS, strict=True))] += 1
        self.threads.add(threading.current_thread().name.split("_")[0])
        return self.array[block]


def test_a_sketch_is_read_once_and_the_next_one_ahead(damaged, monkeypatch):
    monkeypatch.setattr(robust_run, "measure", lambda *_: Scale(255.0, 0.5, 0.0))  # which reads a little, too
    counting = Counting(damaged)
    source = ChunkedSource(counting, regular_chunks(SHAPE, CHUNKS))
    decompose(source, RANK, solver=SAWRTRD(samples=400, sweeps=2, tol=0), seed=1)
    expected = Counter(np.ndindex(5, 6, 1, 4))  # the survey
    for sweep in (1, 2):
        for mode in range(4):
            index = ChunkDraw.plan(source.chunks, 400, whole=mode).indices(1, Purpose.SAMPLE, sweep, mode)
            cells = [np.unique(chosen // size) for chosen, size in zip(index, CHUNKS, strict=True)]
            expected.update((a, b, c, d) for a in cells[0] for b in cells[1] for c in cells[2] for d in cells[3])
    assert counting.reads == expected
    assert "ringlet-read" in counting.threads


@pytest.fixture
def moments(monkeypatch):
    """The sweep and mode of every core update, in their order."""
    found, real = [], robust_run.RobustRun._draw

    def spy(self, sweep, mode):
        found.append((sweep, mode))
        return real(self, sweep, mode)

    monkeypatch.setattr(robust_run.RobustRun, "_draw", spy)
    return found


def cells(chunks, sizes, moment):
    """The chunks that an update looks at."""
    index = ChunkDraw.plan(chunks, 400, whole=moment[1]).indices(1, Purpose.SAMPLE, *moment)
    return set(product(*(np.unique(chosen // size) for chosen, size in zip(index, sizes, strict=True))))


@pytest.mark.parametrize("rank", ["auto", RANK])
def test_an_automatic_fit_reads_no_block_in_vain_also_where_it_tries_something(damaged, moments, monkeypatch, rank):
    counting, begin = Counting(damaged), AutomaticRun.sweep
    source = ChunkedSource(counting, regular_chunks(SHAPE, CHUNKS))

    def sweep(self, number):
        if number == 1:  # all that is read before: the first look, the scale, the held-out entries
            counting.restart()
        return begin(self, number)

    monkeypatch.setattr(AutomaticRun, "sweep", sweep)
    decompose(source, rank, solver=SAWRTRD(samples=400, sweeps=14, smooth="auto"), seed=1)
    assert len(moments) > 14 * 4  # something was tried
    expected = Counter()
    for moment, _ in groupby(moments):  # an update that is tried once more needs no other block
        expected.update(cells(source.chunks, CHUNKS, moment))
    assert counting.reads == expected
    assert "ringlet-read" in counting.threads


def test_an_automatic_fit_visits_every_chunk(damaged, moments):
    sizes = (10, 9, 3, 20)
    source = ChunkedSource(damaged, regular_chunks(SHAPE, sizes))
    draw = ChunkDraw.plan(source.chunks, 400, whole=3)
    assert draw.groups == (2, 2, 1, 1)
    decompose(source, RANK, solver=SAWRTRD(samples=400, sweeps=draw.round, smooth="auto", tol=0), seed=1)
    seen = [cells(source.chunks, sizes, moment) for moment in moments if moment[1] == 3]
    assert set().union(*seen) == set(np.ndindex(4, 4, 1, 1))


def test_all_entries_stream_by_in_regions_of_whole_chunks(damaged, monkeypatch):
    whole = np.asarray(decompose(stored(damaged), RANK, solver=AWRTRD(sweeps=3)).ring)
    for module in (fit_plan, sketching):
        monkeypatch.setattr(module, "REGION_ENTRIES", 5000)
    counting = Counting(damaged)
    source = ChunkedSource(counting, regular_chunks(SHAPE, CHUNKS))
    cut = decompose(source, RANK, solver=AWRTRD(sweeps=3))
    np.testing.assert_allclose(np.asarray(cut.ring), whole, rtol=1e-3, atol=0.5)
    passes = 1 + 3 * 4 * 2  # the survey; gradient and line search of every core
    assert min(counting.reads.values()) >= passes
    assert sum(counting.reads.values()) <= 120 * passes * 1.5  # pilots come from a few chunks
    budget = plan(SHAPE, RANK, solver=AWRTRD(), dtype="f4", chunks=CHUNKS)
    assert max(core.plan.entries for core in budget.cores) == damaged.size


def test_the_budget_never_changes_the_bits(damaged):
    high = _smallest(SAWRTRD(samples=400, memory=1))
    low = high // 2
    while high - low > 1:  # the message names a rounded number
        middle = (low + high) // 2
        low, high = (low, middle) if _is_possible(SAWRTRD(samples=400, memory=middle)) else (middle, high)
    lean = SAWRTRD(samples=400, sweeps=3, memory=high)
    assert not lean.plan(SHAPE, RANK, np.dtype("f4"), stored(damaged).chunks).reads_ahead
    expected = bits(decompose(stored(damaged), RANK, solver=SAWRTRD(samples=400, sweeps=3)))
    assert bits(decompose(stored(damaged), RANK, solver=lean)) == expected


def _is_possible(solver):
    try:
        return plan(SHAPE, RANK, solver=solver, dtype="f4", chunks=CHUNKS) is not None
    except BudgetError:
        return False


def _smallest(solver):
    with pytest.raises(BudgetError, match="the smallest possible budget is") as caught:
        plan(SHAPE, RANK, solver=solver, dtype="f4", chunks=CHUNKS)
    return parse_bytes(str(caught.value).split("budget is ")[1].split(";")[0])


@pytest.mark.parametrize("threads", range(1, 9))
@pytest.mark.parametrize("kind", [SAWRTRD, AWRTRD])
def test_impossible_budgets_are_refused_with_the_smallest_possible_one(kind, threads):
    smallest = _smallest(kind(memory="1kB", threads=threads))
    assert _is_possible(kind(memory=smallest, threads=threads))
    assert not _is_possible(kind(memory=int(0.98 * smallest), threads=threads))


def test_an_impossible_budget_is_refused_before_anything_is_read(damaged):
    counting = Counting(damaged)
    with pytest.raises(BudgetError, match="smallest possible budget"):
        decompose(ChunkedSource(counting, regular_chunks(SHAPE, CHUNKS)), RANK, solver=AWRTRD(memory="1kB"))
    assert not counting.reads


def test_the_share_of_outliers_is_that_of_the_known_entries(damaged):
    fit = decompose(stored(damaged), RANK, solver=AWRTRD(sweeps=8))
    assert fit.missing_share == pytest.approx(np.isnan(damaged).mean())
    known = np.count_nonzero(~np.isnan(damaged))
    assert fit.outlier_share == pytest.approx(np.count_nonzero(fit.outliers()) / known)


def test_row_sampling_of_a_store_is_refused(damaged):
    with pytest.raises(ArgumentError, match="needs data in memory"):
        decompose(stored(damaged), RANK, solver=SAWRTRD(sampling="uniform-rows"))


@pytest.mark.parametrize("chunks", [(8, 6, 3), (8, 6, 3, 0), (8, 6, 3, 2.5)])
def test_chunks_of_a_plan_are_checked(chunks):
    with pytest.raises((ArgumentError, TypeError), match="chunks"):
        plan(SHAPE, RANK, chunks=chunks)


def test_errors_of_the_store_come_out_of_the_fit(damaged):
    class Failing(Counting):
        def __getitem__(self, block):
            if threading.current_thread().name.startswith("ringlet-read"):
                raise OSError("the disk is gone")
            return super().__getitem__(block)

    source = ChunkedSource(Failing(damaged), regular_chunks(SHAPE, CHUNKS))
    with pytest.raises(FormatError, match="cannot be read: OSError: the disk is gone"):
        decompose(source, RANK, solver=SAWRTRD(samples=400))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ringlet-read")]


def test_reading_ahead_gives_what_was_asked_for_even_out_of_order():
    asked = []

    def square(n):
        asked.append(n)
        return n * n

    squares = Ahead(square, lambda n: n + 1)
    assert [squares(n) for n in (1, 2, 2, 7, 7, 8)] == [1, 4, 4, 49, 49, 64]
    squares.close()
    assert asked[:2] == [1, 2]
    assert Counter(asked).most_common(1)[0][1] == 1


def test_what_is_held_lies_in_the_order_asked_for():
    x = np.arange(24.0).reshape(2, 3, 4)
    held = hold(ArraySource(x, x > 5), (np.arange(2), slice(0, 2), np.array([1, 3])), (2, 0, 1))
    np.testing.assert_array_equal(held.array, x[:, :2][:, :, [1, 3]])
    assert held.array.transpose(2, 0, 1).flags.c_contiguous
    np.testing.assert_array_equal(held.mask, (x > 5)[:, :2][:, :, [1, 3]])
