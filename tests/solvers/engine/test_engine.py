"""Fits of stored data: the bits of the same entries in memory, chunks read once, reading that goes ahead."""

import threading
from collections import Counter
from itertools import groupby, product

import dask.array
import numpy as np
import pytest
import zarr

from ringlet import AWRTRD, SAWRTRD, decompose
from ringlet.errors import ArgumentError, FormatError
from ringlet.sampling import ChunkDraw, Purpose
from ringlet.solvers.engine.engine import Engine
from ringlet.solvers.sawrtrd.algorithm import Algorithm
from ringlet.solvers.tuning.automatic import PathRun
from ringlet.sources import ChunkedSource
from ringlet.sources.chunked import regular_chunks
from stored_tensors import CHUNKS, RANK, SHAPE, Counting, cells_of, clean_tensor, damaged_tensor, stored


@pytest.fixture(scope="module")
def clean():
    return clean_tensor()


@pytest.fixture(scope="module")
def damaged():
    return damaged_tensor()


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
    "solver",
    [
        SAWRTRD(smooth=0.0, samples=400, sweeps=2),
        AWRTRD(smooth=0.0, sweeps=1),
        pytest.param(SAWRTRD(smooth=0.0, samples=400, sweeps=2, loss="l2"), marks=pytest.mark.long),
    ],
)
def test_a_store_gives_the_bits_of_the_same_indices_in_memory(tmp_path, damaged, solver):
    array = zarr.create_array(tmp_path / "x.zarr", shape=SHAPE, chunks=CHUNKS, dtype="f4")
    array[...] = damaged
    expected = bits(decompose(InMemory(damaged, regular_chunks(SHAPE, CHUNKS)), RANK, solver=solver, seed=3))
    assert bits(decompose(array, RANK, solver=solver, seed=3)) == expected
    assert bits(decompose(dask.array.from_zarr(array), RANK, solver=solver, seed=3)) == expected


def test_uniform_subtensors_of_a_store_give_the_bits_of_an_array(damaged):
    solver = SAWRTRD(smooth=0.0, samples=400, sweeps=3, sampling="uniform-subtensor", sigma_min=0.1)
    in_memory = decompose(damaged, RANK, solver=SAWRTRD(smooth=0.0, samples=400, sweeps=3, sigma_min=0.1), seed=3)
    # The scale of the data is measured on other entries, so the units differ by a factor; nothing else does.
    assert np.asarray(decompose(stored(damaged), RANK, solver=solver, seed=3).ring) == pytest.approx(
        np.asarray(in_memory.ring), abs=2.0
    )


@pytest.mark.parametrize(
    "solver", [SAWRTRD(smooth=0.0, samples=600, sweeps=40, tol=0), AWRTRD(smooth=0.0, sweeps=25, tol=0)]
)
def test_a_damaged_store_is_restored(clean, damaged, solver):
    error = np.asarray(decompose(stored(damaged), (4, 4, 3, 3), solver=solver).ring) - clean
    assert np.sqrt(np.mean(error**2)) < 6.0  # the damage itself: 30


def test_a_sketch_is_read_once_and_the_next_one_ahead(damaged):
    counting = Counting(damaged)
    source = ChunkedSource(counting, regular_chunks(SHAPE, CHUNKS))
    decompose(source, RANK, solver=SAWRTRD(smooth=0.0, samples=400, sweeps=2, tol=0), seed=1)
    expected = Counter([*np.ndindex(5, 6, 1, 4)] * 2)  # the survey, and the scale, which all of few entries tell
    for sweep in (1, 2):
        for mode in range(4):
            expected.update(cells(source.chunks, CHUNKS, (sweep, mode)))
    assert counting.reads == expected
    assert "ringlet-read" in counting.threads


@pytest.fixture
def moments(monkeypatch):
    """The sweep and mode of every core update, in their order."""
    found, real = [], Engine.sample

    def spy(self, cores, moment, **given):
        found.append(moment)
        return real(self, cores, moment, **given)

    monkeypatch.setattr(Engine, "sample", spy)
    return found


def cells(chunks, sizes, moment):
    """The chunks that an update looks at."""
    index = ChunkDraw.plan(chunks, 400, whole=moment[1]).indices(1, Purpose.SAMPLE, *moment)
    return set(product(*cells_of(index, sizes)))


@pytest.mark.parametrize("rank", ["auto", RANK])
def test_an_automatic_fit_reads_no_block_in_vain_also_where_it_tries_something(damaged, moments, monkeypatch, rank):
    counting, begin, updated, updates = Counting(damaged), PathRun.sweep, Algorithm.updated, []
    source = ChunkedSource(counting, regular_chunks(SHAPE, CHUNKS))

    def sweep(self, number):
        if number == 1:  # all that is read before: the first look, the scale, the held-out entries
            counting.restart()
        return begin(self, number)

    monkeypatch.setattr(PathRun, "sweep", sweep)
    monkeypatch.setattr(Algorithm, "updated", lambda *given, **more: updates.append(1) or updated(*given, **more))
    decompose(source, rank, solver=SAWRTRD(samples=400, sweeps=14, smooth="auto"), seed=1)
    assert len(updates) > 14 * 4  # something was tried
    expected = Counter()
    for moment, _ in groupby(moments):  # an update with another kernel width needs no other block
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


def test_row_sampling_of_a_store_is_refused(damaged):
    with pytest.raises(ArgumentError, match="needs data in memory"):
        decompose(stored(damaged), RANK, solver=SAWRTRD(smooth=0.0, sweeps=30, sampling="uniform-rows"))


def test_errors_of_the_store_come_out_of_the_fit(damaged):
    class Failing(Counting):
        def __getitem__(self, block):
            if threading.current_thread().name.startswith("ringlet-read"):
                raise OSError("the disk is gone")
            return super().__getitem__(block)

    source = ChunkedSource(Failing(damaged), regular_chunks(SHAPE, CHUNKS))
    with pytest.raises(FormatError, match="cannot be read: OSError: the disk is gone"):
        decompose(source, RANK, solver=SAWRTRD(smooth=0.0, sweeps=30, samples=400))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ringlet-read")]
