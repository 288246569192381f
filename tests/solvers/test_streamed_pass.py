"""The streamed pass against explicit subchains: every split, every core, tiles and blocks of every size."""

from dataclasses import replace

import numpy as np
import pytest

from oracles import random_cores, subchain
from reference_awrtrd import WEIGHTS, core_rows, unfolding
from ringlet.execution import Profile
from ringlet.robust import LOSSES
from ringlet.solvers.engine import core_plan as plan_module
from ringlet.solvers.engine.streamed_pass import StreamedPass
from ringlet.solvers.engine.subchain import Workspace
from ringlet.sources import ArraySource

RINGS = [
    ((5, 4), (2, 3)),
    ((4, 3, 5), (2, 3, 2)),
    ((3, 4, 2, 5), (3, 1, 2, 4)),
    ((2, 3, 2, 3, 2), (2, 1, 3, 2, 2)),
]


def all_plans(shape, rank):
    """Every split of every core, untiled and with every mode tiled, with one and several slices in a block."""
    for mode in range(len(shape)):
        for option in plan_module._options(shape, rank, mode):
            yield replace(option, block=2)
            for tile_mode in option.first + option.second:
                yield replace(option, tile_mode=tile_mode, tile=2, block=3)


def make_pass(x, mask, cores, plan, keep, row_weights=None):
    return StreamedPass(
        ArraySource(x, mask),
        [np.arange(length) for length in x.shape],
        cores,
        plan,
        scale=2.0,
        row_weights=row_weights,
        weights_room=np.empty(plan.entries, cores[0].dtype) if keep else None,
        workspace=Workspace(),
        profile=Profile(),
    )


@pytest.mark.parametrize(("shape", "rank"), RINGS)
@pytest.mark.parametrize("masked", [False, True])
def test_gradient_and_curvature_agree_with_explicit_subchain(shape, rank, masked):
    rng = np.random.default_rng(1)
    cores = random_cores(shape, rank, seed=2)
    x = rng.standard_normal(shape)
    mask = rng.random(shape) < 0.6 if masked else None
    observed = mask if masked else np.ones(shape, bool)
    loss = LOSSES["correntropy"]
    for count, plan in enumerate(all_plans(shape, rank)):
        k = plan.mode
        S, A = subchain(cores, k), core_rows(cores[k])
        E = unfolding(x / 2.0, k) - A @ S.T
        weight = WEIGHTS["correntropy"](E, 0.7) * unfolding(observed, k)
        direction = rng.standard_normal(A.shape)
        streamed = make_pass(x, mask, cores, plan, keep=count % 2 == 0)
        np.testing.assert_allclose(streamed.gradient(loss, 0.7, map), (weight * E) @ S, rtol=1e-9, atol=1e-12)
        expected = np.sum(weight * (direction @ S.T) ** 2)
        assert streamed.curvature(direction, loss, 0.7, map) == pytest.approx(expected, rel=1e-10)
        found = np.sort(streamed.residuals())
        np.testing.assert_allclose(found, np.sort(E[unfolding(observed, k)]), rtol=1e-9, atol=1e-12)


def test_kept_and_recomputed_weights_give_the_same_bits():
    shape, rank = (6, 5, 4), (3, 2, 3)
    cores = random_cores(shape, rank, dtype=np.float32)
    x = np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8)
    direction = np.random.default_rng(1).standard_normal((6, 6)).astype(np.float32)
    loss = LOSSES["cauchy"]
    results = []
    for keep in (True, False):
        streamed = make_pass(x, None, cores, plan_module.plan_core(shape, rank, 0), keep)
        gradient = streamed.gradient(loss, 0.5, map)
        results.append((gradient.tobytes(), streamed.curvature(direction, loss, 0.5, map)))
    assert results[0] == results[1]


def test_plans_cut_large_slices_into_tiles_and_small_ones_not():
    small = plan_module.plan_core((20, 30, 3), (4, 4, 3), 0)
    large = plan_module.plan_core((3, 2000, 2000), (3, 20, 20), 0)
    assert small.tile_mode is None
    assert large.tile_mode in (1, 2)
    assert large.tile_columns <= plan_module._BLOCK_MOST


def test_narrow_bonds_make_the_split_cheaper_than_the_subchain():
    plan = plan_module.plan_core((1920, 200, 3, 50), (80, 80, 3, 20), 0)
    assert plan.second
    assert plan.flops < 2 * 80 * 80 * plan.entries / 10
