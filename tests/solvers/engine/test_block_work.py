"""The work on single pieces against explicit subchains: every split, every core, tiles and blocks of every size."""

from dataclasses import replace

import numpy as np
import pytest

from oracles import random_cores, subchain
from reference_awrtrd import WEIGHTS, core_rows, unfolding
from ringlet.execution import Profile
from ringlet.robust import LOSSES, Kernel
from ringlet.solvers.engine.block_work import BlockWork, PassInputs, Weights
from ringlet.solvers.engine.core_plan import CorePlan
from ringlet.solvers.engine.subchain import Resources
from ringlet.sources import ArraySource

RINGS = [
    ((5, 4), (2, 3)),
    ((4, 3, 5), (2, 3, 2)),
    ((3, 4, 2, 5), (3, 1, 2, 4)),
    ((2, 3, 2, 3, 2), (2, 1, 3, 2, 2)),
]


def splits(shape, rank, mode):
    """Every way to update a core: by the whole subchain, and by two parts of it in either order."""
    order = len(shape)
    others = tuple((mode + step) % order for step in range(1, order))
    before, after = rank[mode], rank[(mode + 1) % order]
    yield CorePlan(mode, shape, others, (), False, before, after, before)
    for cut in range(1, order - 1):
        left, right, bond = others[:cut], others[cut:], rank[others[cut]]
        yield CorePlan(mode, shape, left, right, False, before, after, bond)
        yield CorePlan(mode, shape, right, left, True, after, before, bond)


def all_plans(shape, rank):
    """Every split of every core, untiled and with every mode tiled, with one and several slices in a block."""
    for mode in range(len(shape)):
        for plan in splits(shape, rank, mode):
            yield replace(plan, block=2)
            for tile_mode in plan.first + plan.second:
                yield replace(plan, tile_mode=tile_mode, tile=2, block=3)


@pytest.mark.parametrize(("shape", "rank"), RINGS)
@pytest.mark.parametrize("masked", [False, True])
def test_gradient_and_curvature_agree_with_explicit_subchain(shape, rank, masked):
    rng = np.random.default_rng(1)
    cores = random_cores(shape, rank, seed=2)
    x = rng.standard_normal(shape)
    mask = rng.random(shape) < 0.6 if masked else None
    observed = mask if masked else np.ones(shape, bool)
    kernel = Kernel(0.7, LOSSES["correntropy"])
    index = tuple(map(np.arange, shape))
    plans = list(all_plans(shape, rank))
    assert {plan.tile_mode is None for plan in plans} == {True, False}
    assert max(len(plan.pieces) for plan in plans) > 1
    for count, plan in enumerate(plans):
        k = plan.mode
        S, A = subchain(cores, k), core_rows(cores[k])
        E = unfolding(x / 2.0, k) - A @ S.T
        weight = WEIGHTS["correntropy"](E, 0.7) * unfolding(observed, k)
        direction = rng.standard_normal(A.shape)
        inputs = PassInputs(index, cores, plan, np.float64(0.5))
        work = BlockWork(ArraySource(x, mask), inputs, A, Resources(profile=Profile()))
        weights = Weights(kernel, np.empty(plan.entries), {}) if count % 2 == 0 else Weights(kernel)
        gradient = np.zeros_like(A)
        for piece in plan.pieces:
            gradient[piece.slices] += np.concatenate(work.gradient(piece, weights=weights))
        np.testing.assert_allclose(gradient, (weight * E) @ S, rtol=1e-9, atol=1e-12)
        curvature = sum(work.curvature(piece, direction=direction, weights=weights) for piece in plan.pieces)
        assert curvature == pytest.approx(np.sum(weight * (direction @ S.T) ** 2), rel=1e-10)
        found = np.sort(np.concatenate([block for piece in plan.pieces for block in work.residuals(piece)]))
        np.testing.assert_allclose(found, np.sort(E[unfolding(observed, k)]), rtol=1e-9, atol=1e-12)


def test_weights_that_are_all_one_are_not_kept():
    """Least squares on complete data: nothing is multiplied, and the line search knows it."""
    shape, rank = (6, 5, 4), (2, 3, 2)
    cores, x = random_cores(shape, rank), np.random.default_rng(0).standard_normal(shape)
    plan = replace(next(splits(shape, rank, 0)), block=4)
    A, S = core_rows(cores[0]), subchain(cores, 0)
    inputs = PassInputs(tuple(map(np.arange, shape)), cores, plan, np.float64(1.0))
    work = BlockWork(ArraySource(x), inputs, A, Resources())
    weights = Weights(Kernel(np.inf, LOSSES["correntropy"]), np.full(plan.entries, np.nan), {})
    for piece in plan.pieces:
        work.gradient(piece, weights=weights)
    assert weights.kept == {(0, 80): None, (80, 120): None}
    found = sum(work.curvature(piece, direction=A, weights=weights) for piece in plan.pieces)
    assert found == pytest.approx(np.sum((A @ S.T) ** 2))
