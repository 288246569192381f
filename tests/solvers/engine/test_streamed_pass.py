"""A pass over a sketch: the contributions of all pieces put together, whatever threads and memory there are."""

import tracemalloc

import numpy as np
import pytest

from oracles import random_cores, subchain
from reference_awrtrd import WEIGHTS, core_rows, unfolding
from ringlet.execution import Threads
from ringlet.robust import LOSSES, Kernel
from ringlet.solvers.engine.core_plan import plan_core
from ringlet.solvers.engine.streamed_pass import Sketch, StreamedPass
from ringlet.solvers.engine.subchain import Resources
from ringlet.sources import ArraySource


def sketch_of(x, cores, mode=0, mask=None):
    return Sketch(ArraySource(x, mask), mode, tuple(map(np.arange, x.shape)), cores)


@pytest.mark.parametrize("mode", range(3))
def test_a_pass_agrees_with_explicit_subchains(mode):
    shape, rank = (4, 3, 5), (2, 3, 2)
    rng = np.random.default_rng(1)
    cores, x, mask = random_cores(shape, rank, seed=2), rng.standard_normal(shape), rng.random(shape) < 0.6
    S, A = subchain(cores, mode), core_rows(cores[mode])
    E = unfolding(x / 2.0, mode) - A @ S.T
    weight = WEIGHTS["cauchy"](E, 0.7) * unfolding(mask, mode)
    direction = rng.standard_normal(A.shape)
    streamed = StreamedPass(sketch_of(x, cores, mode, mask), 2.0, Resources())
    gradient, weights = streamed.gradient(Kernel(0.7, LOSSES["cauchy"]))
    np.testing.assert_allclose(gradient, (weight * E) @ S, rtol=1e-9, atol=1e-12)
    expected = np.sum(weight * (direction @ S.T) ** 2)
    assert streamed.curvature(direction, weights) == pytest.approx(expected, rel=1e-10)
    found = np.sort(streamed.residuals())
    np.testing.assert_allclose(found, np.sort(E[unfolding(mask, mode)]), rtol=1e-9, atol=1e-12)
    complete = StreamedPass(sketch_of(x, cores, mode), 2.0, Resources())
    np.testing.assert_allclose(complete.right_hand_side(), unfolding(x / 2.0, mode) @ S, rtol=1e-9, atol=1e-12)
    rows, square = complete.plain_gradient()
    np.testing.assert_allclose(rows, E @ S, rtol=1e-9, atol=1e-12)
    assert square == pytest.approx(np.sum(E**2))


def test_kept_and_recomputed_weights_give_the_same_bits():
    shape, rank = (6, 5, 4), (3, 2, 3)
    cores = random_cores(shape, rank, dtype=np.float32)
    x = np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8)
    direction = np.random.default_rng(1).standard_normal((6, 6)).astype(np.float32)
    results = []
    for room in (np.empty(x.size, np.float32), None):
        streamed = StreamedPass(sketch_of(x, cores), 2.0, Resources(), room)
        gradient, weights = streamed.gradient(Kernel(0.5, LOSSES["cauchy"]))
        assert weights.room is room
        results.append((gradient.tobytes(), streamed.curvature(direction, weights)))
    assert results[0] == results[1]


@pytest.mark.parametrize(("shape", "mode"), [((100, 100, 100), 0), ((2, 600, 500), 0)])  # four blocks; tiles
def test_threads_change_no_bit_of_a_pass(shape, mode):
    rank = (3, 4, 3)
    plan = plan_core(shape, rank, mode)
    assert len(plan.pieces) >= 4
    assert (plan.tile_mode is None) == (shape[0] == 100)
    rng = np.random.default_rng(0)
    cores = random_cores(shape, rank, dtype=np.float32)
    x, mask = rng.integers(0, 255, shape, np.uint8), rng.random(shape) < 0.7
    direction = rng.standard_normal((shape[mode], 12)).astype(np.float32)
    results = set()
    for count in (1, 2, 3):
        with Threads(count) as threads:
            streamed = StreamedPass(sketch_of(x, cores, mode, mask), 200.0, Resources(threads.run))
            gradient, weights = streamed.gradient(Kernel(0.5, LOSSES["correntropy"]))
            results.add((gradient.tobytes(), streamed.curvature(direction, weights)))
    assert len(results) == 1


def test_rows_of_a_tile_are_in_memory_once():
    """A plan counts four arrays of rows, of which A is one; a tile has rows of all slices."""
    shape, rank = (6000, 60, 60), (40, 40, 40)
    assert plan_core(shape, rank, 0).tile_mode is not None
    cores = random_cores(shape, rank, dtype=np.float32)
    streamed = StreamedPass(sketch_of(np.zeros(shape, np.uint8), cores), 1.0, Resources())
    tracemalloc.start()
    try:
        gradient, _ = streamed.gradient(Kernel(0.5, LOSSES["correntropy"]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3.5 * gradient.nbytes  # with the arrays of a block
