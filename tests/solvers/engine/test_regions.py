"""Passes over all entries of a store, a region of whole chunks at a time."""

import numpy as np
import pytest

from oracles import random_cores
from ringlet import AWRTRD, decompose, plan
from ringlet.robust import LOSSES, Kernel
from ringlet.solvers.engine.regions import RegionPass, Regions
from ringlet.solvers.engine.streamed_pass import Sketch, StreamedPass
from ringlet.solvers.engine.subchain import Resources
from ringlet.sources import ArraySource, ChunkedSource
from ringlet.sources.chunked import regular_chunks
from stored_tensors import CHUNKS, RANK, SHAPE, Counting, damaged_tensor


@pytest.mark.parametrize("ahead", [True, False])
@pytest.mark.parametrize("mode", range(4))
def test_regions_add_up_to_a_pass_over_all_entries_and_read_every_chunk_once(mode, ahead):
    x, counting = damaged_tensor(), Counting(damaged_tensor())
    regions = Regions(ChunkedSource(counting, regular_chunks(SHAPE, CHUNKS)), ahead=ahead, entries=5000)
    assert len(regions.blocks) > 10
    cores = random_cores(SHAPE, RANK)
    kernel, direction = Kernel(0.5, LOSSES["correntropy"]), cores[mode].transpose(1, 0, 2).reshape(SHAPE[mode], -1)

    def over(number, parts):
        held = regions.held(number)
        return StreamedPass(Sketch(held, mode, tuple(map(np.arange, held.shape)), parts), 255.0, Resources())

    cut = RegionPass(regions.blocks, cores, mode, over)
    gradient, weights = cut.gradient(kernel)
    curvature = cut.curvature(direction, weights)
    regions.close()
    whole = StreamedPass(Sketch(ArraySource(x), mode, tuple(map(np.arange, SHAPE)), cores), 255.0, Resources())
    expected, kept = whole.gradient(kernel)
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    assert curvature == pytest.approx(whole.curvature(direction, kept), rel=1e-9)
    assert set(counting.reads) == set(np.ndindex(5, 6, 1, 4))
    again = max(counting.reads.values()) - 2  # the first region, read ahead for a third pass
    assert min(counting.reads.values()) == 2
    assert again <= int(ahead)  # unless it was called off before it began
    assert ("ringlet-read" in counting.threads) == ahead


def test_a_single_region_stays_in_memory():
    counting = Counting(damaged_tensor())
    regions = Regions(ChunkedSource(counting, regular_chunks(SHAPE, CHUNKS)), ahead=True)
    assert len(regions.blocks) == 1
    assert regions.held(0) is regions.held(0)
    regions.close()
    assert set(counting.reads.values()) == {1}


def test_a_fit_of_a_store_of_several_regions_is_that_of_an_array():
    shape, chunks = (256, 256, 140), (64, 64, 70)
    x = np.random.default_rng(0).integers(0, 255, shape, np.uint8)
    solver, init = AWRTRD(smooth=0.0, sweeps=1, loss="l2", ridge=0), random_cores(shape, (2, 2, 2))
    cost = plan(shape, 2, solver=solver, dtype="u1", chunks=chunks)
    assert np.prod(cost.cores[0].grid) > 1
    counting = Counting(x, chunks)
    fits = [
        decompose(data, 2, solver=solver, init=init)
        for data in (ChunkedSource(counting, regular_chunks(shape, chunks)), x)
    ]
    np.testing.assert_allclose(np.asarray(fits[0].ring), np.asarray(fits[1].ring), rtol=1e-3, atol=0.05)
    passes = 1 + 3 * 2  # the first look; gradient and line search of every core
    assert min(counting.reads.values()) >= passes
    assert sum(counting.reads.values()) <= 32 * passes * 1.5  # pilots come from a few chunks
