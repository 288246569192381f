"""The line search of a large update looks at some slices only."""

import math
from dataclasses import replace

import numpy as np
import pytest

import ringlet
from oracles import dense, random_cores, subchain, unfolding
from ringlet.execution import Threads
from ringlet.ring import GramChain
from ringlet.robust import LOSSES, Kernel
from ringlet.solvers.engine.scaled_step import Descent, PartialSearch, scaled_step, solver_of
from ringlet.solvers.engine.streamed_pass import Sketch, StreamedPass
from ringlet.solvers.engine.subchain import Resources
from ringlet.sources import ArraySource

SHAPE, RANK = (40, 30, 20), (3, 4, 2)
FIELDS = {"tol": 0.0, "smooth": 0.0, "loss": "correntropy"}


def data_of(cores, x, mode, mask=None):
    return StreamedPass(Sketch(ArraySource(x, mask), mode, tuple(map(np.arange, x.shape)), cores), 1.0, Resources())


def descent(data, kernel):
    return Descent(data, *data.gradient(kernel))


def test_without_weights_and_ridge_the_step_is_still_the_update_of_als():
    """The curvature of every slice is then what is expected of it, so that few of them tell that of all."""
    x = dense(random_cores(SHAPE, RANK, seed=1)) + 0.1 * np.random.default_rng(0).standard_normal(SHAPE)
    cores, kernel = random_cores(SHAPE, RANK, seed=4), Kernel(math.inf, LOSSES["correntropy"])
    for k in range(3):
        solve = solver_of(GramChain(cores).without(k), 0.0, 0.0)
        search = PartialSearch(5, np.ones((SHAPE[k], 1)))
        rows = scaled_step(descent(data_of(cores, x, k), kernel), solve=solve, search=search)
        expected = np.linalg.lstsq(subchain(cores, k), unfolding(x, k).T, rcond=None)[0].T
        np.testing.assert_allclose(rows, expected, rtol=1e-6, atol=1e-7)


def test_slices_of_which_less_is_observed_count_by_their_shares():
    """The slices looked at have fewer entries than the others: their own curvature alone would make a step too long."""
    rng, ones = np.random.default_rng(2), np.ones((SHAPE[0], 1))
    direction, _ = PartialSearch(4, ones).of(ones, ones)
    mask = rng.random(SHAPE) < np.where(direction == 1.0, 0.65, 0.9)[:, :, None]
    x = dense(random_cores(SHAPE, RANK, seed=1)) + 0.1 * rng.standard_normal(SHAPE)
    cores, shares = random_cores(SHAPE, RANK, seed=4), mask.mean(axis=(1, 2))[:, None]
    kernel, solve = Kernel(math.inf, LOSSES["correntropy"]), solver_of(GramChain(cores).without(0), 0.0, 0.0)
    before = data_of(cores, x, 0, mask).rows
    whole, part, blind = (
        float(
            np.linalg.norm(
                scaled_step(descent(data_of(cores, x, 0, mask), kernel), solve=solve, search=search) - before
            )
        )
        for search in (None, PartialSearch(4, shares), PartialSearch(4, ones))
    )
    assert part == pytest.approx(whole, rel=0.03)
    assert blind > 1.2 * whole


def test_all_slices_are_searched_where_one_of_them_outweighs_the_rest():
    d, search = np.ones((40, 3)), PartialSearch(4, np.ones((40, 1)))
    direction, factor = search.of(d, d)
    chosen = np.flatnonzero(direction.any(axis=1))
    assert factor == pytest.approx(40 / len(chosen))
    assert [place // 4 for place in chosen] == list(range(10))
    assert len(set(chosen % 4)) == 4  # data that repeat every four slices are not seen at one of their slices alone
    heavy = d.copy()
    heavy[next(place for place in range(40) if place not in chosen)] = 100.0
    assert search.of(heavy, heavy) is None
    assert search.of(d, -d) is None
    assert search.of(0 * d, d) is None


@pytest.mark.parametrize(("shape", "mode"), [((100, 100, 100), 0), ((2, 600, 500), 0)])  # four blocks; tiles
def test_a_partial_search_gives_the_same_bits_with_any_threads_and_kept_weights(shape, mode):
    rng = np.random.default_rng(0)
    cores = random_cores(shape, (3, 4, 3), dtype=np.float32)
    x, mask = rng.integers(0, 255, shape, np.uint8), rng.random(shape) < 0.7
    direction = rng.standard_normal((shape[mode], 12)).astype(np.float32)
    direction[1::2] = 0.0
    results = []
    for count, room in ((1, None), (2, None), (3, np.empty(x.size, np.float32))):
        with Threads(count) as threads:
            sketch = Sketch(ArraySource(x, mask), mode, tuple(map(np.arange, shape)), cores)
            streamed = StreamedPass(sketch, 200.0, Resources(threads.run), room)
            _, weights = streamed.gradient(Kernel(0.5, LOSSES["correntropy"]))
            whole = streamed.curvature(direction, weights)
            results.append(streamed.curvature(direction, replace(weights, room=None, kept=None, one_of=2)))
            assert results[-1] == pytest.approx(whole, rel=1e-5)
    assert len(set(results)) == 1


@pytest.mark.usefixtures("searched_in_part")
def test_a_large_fit_is_searched_in_part_with_the_same_bits_for_any_budget_and_threads():
    rng = np.random.default_rng(3)
    x = (dense(random_cores(SHAPE, RANK, seed=1)) + 0.1 * rng.standard_normal(SHAPE)).astype(np.float32)
    fields = FIELDS | {"samples": 300, "sweeps": 6}
    plan = ringlet.plan(SHAPE, RANK, solver=ringlet.SAWRTRD(**fields))
    assert [core.searched_one_of for core in plan.cores] == [6, 4, 1]
    rings = [
        ringlet.decompose(x, rank=RANK, solver=ringlet.SAWRTRD(**fields, **more), seed=1).ring
        for more in ({}, {"threads": 1}, {"threads": 2}, {"memory": plan.memory - 4 * 6000})
    ]
    assert len({tuple(core.tobytes() for core in ring.cores) for ring in rings}) == 1
    exact = ringlet.SAWRTRD(**fields, solve="exact")
    assert [core.searched_one_of for core in ringlet.plan(SHAPE, RANK, solver=exact).cores] == [1, 1, 1]
    found = ringlet.decompose(x, rank=RANK, solver=exact, seed=1).ring
    assert found.cores[0].tobytes() != rings[0].cores[0].tobytes()
    whole, part = (np.linalg.norm(np.asarray(ring) - x) for ring in (found, rings[0]))
    assert part < 1.05 * whole


@pytest.mark.usefixtures("searched_in_part")
def test_a_fit_that_is_searched_in_part_resumes_with_the_same_bits(tmp_path):
    x = dense(random_cores(SHAPE, RANK, seed=1)).astype(np.float32)
    whole = ringlet.decompose(x, rank=RANK, solver=ringlet.AWRTRD(sweeps=5, **FIELDS))
    for sweeps in (3, 5):
        solver = ringlet.AWRTRD(sweeps=sweeps, **FIELDS)
        fit = ringlet.decompose(x, rank=RANK, solver=solver, checkpoint=tmp_path / "fit")
    assert [core.tobytes() for core in fit.ring.cores] == [core.tobytes() for core in whole.ring.cores]


def test_plans_of_large_updates_count_the_slices_that_are_searched():
    video, rank = (480, 854, 3, 50), (80, 80, 3, 20)
    part, whole = (
        ringlet.plan(video, rank, solver=ringlet.SAWRTRD(solve=solve), dtype=np.uint8) for solve in ("auto", "exact")
    )
    assert [core.searched_one_of for core in part.cores] == [6, 12, 1, 1]
    assert [core.searched_one_of for core in whole.cores] == [1, 1, 1, 1]
    for core in part.cores[:2]:
        assert core.passes == 2 + 2 / core.searched_one_of
        assert not core.keeps_weights
    assert part.memory < whole.memory
