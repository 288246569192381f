"""LpTRC by itself: accuracy, its stop rule, its proximal step, and what it refuses."""

import numpy as np
import pytest
from scipy.optimize import brentq

from oracles import dense, random_cores
from ringlet import decompose
from ringlet.baselines import LpTRC
from ringlet.baselines.lp_norm import lp_prox
from ringlet.errors import ArgumentError

BASE = np.add.outer(np.add.outer(np.linspace(0, 1, 12), np.linspace(0, 2, 10)), np.linspace(0, 1, 8))  # of rank 2


def after_each_sweep(data, rank, solver):
    tensors = []
    decompose(data, rank, solver=solver, callback=lambda state: tensors.append(np.asarray(state.ring)) and None)
    return tensors


@pytest.mark.parametrize("method", ["irls", "admm"])
@pytest.mark.parametrize(("dtype", "accuracy"), [("f8", 1e-4), ("f4", 2e-3)])
@pytest.mark.parametrize(("offset", "rank"), [(0, 4), (300, 2)])
def test_exact_data_are_reached_and_not_left_again(method, dtype, accuracy, offset, rank):
    data = (BASE + offset).astype(dtype)
    tensors = after_each_sweep(data, rank, LpTRC(method=method, sweeps=6, tol=0))
    assert max(np.linalg.norm(tensor - data) for tensor in tensors[2:]) < accuracy * np.linalg.norm(BASE - BASE.mean())


def test_the_stop_rule_measures_against_the_size_of_the_data_not_their_level():
    data = BASE + 50
    solver = LpTRC(sweeps=3, tol=0)
    tensors = after_each_sweep(data, 2, solver)
    before, after = (tensor.reshape(-1, 8).T @ tensor.reshape(-1, 8) for tensor in tensors[:2])
    level = np.mean(np.sort(data, axis=None)[data.size // 4 : -data.size // 4]) / np.ptp(data)
    expected = level * np.linalg.norm(after - before) / np.linalg.norm(after)
    assert decompose(data, 2, solver=solver).history[1].change == pytest.approx(expected, rel=1e-2)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    ("epsilon", "mu"), [(0.01, 20.0), (1e-4, 1.0), (1e-6, 20.0), (2e-7, 20.0), (0.01, 0.01), (1e-6, 1e-6)]
)
def test_the_proximal_step_is_the_root_of_its_equation(epsilon, mu, dtype):
    values = np.concatenate([np.geomspace(1e-4, 4, 50), np.linspace(0.9, 1.1, 21) / mu]).astype(dtype)
    roots = [
        brentq(lambda e, z=z: e + e / mu / np.hypot(e, epsilon) - z, 0.0, z, xtol=1e-18) for z in values.astype("f8")
    ]
    error = np.abs(lp_prox(values, 1.0, epsilon, mu) - roots)
    assert np.all(error <= 10 * np.finfo(dtype).eps * values)


@pytest.mark.parametrize(("dtype", "epsilon"), [("f4", 1e-21), ("f4", 1e-7), ("f8", 1e-170)])
def test_a_smoothing_below_rounding_errors_is_refused(dtype, epsilon):
    with pytest.raises(ArgumentError, match=f"epsilon={epsilon!r} is not allowed with data of size 4 in float"):
        decompose(BASE.astype(dtype), 2, solver=LpTRC(epsilon=epsilon))


def test_lptrc_fits_a_ring_that_knows_its_outliers():
    rng, shape = np.random.default_rng(3), (14, 12, 9)
    data = 4 + dense(random_cores(shape, (2, 2, 2), 3))
    wrong = rng.random(shape) < 0.05
    data[wrong] += 6
    mask = rng.random(shape) < 0.8
    fit = decompose(data, 4, solver=LpTRC(epsilon=0.05), mask=mask)
    weights = fit.weights()
    assert np.isnan(weights[~mask]).all()
    assert np.median(weights[mask & wrong]) < 0.05 < 0.3 < np.median(weights[mask & ~wrong])
    assert fit.sigma == pytest.approx(0.05)
    again = decompose(data, 4, solver=LpTRC(epsilon=0.05, sweeps=1), mask=mask, init=fit.ring)
    assert again.history[0].loss < 0.5 * fit.history[0].loss


def test_a_penalty_is_for_admm():
    with pytest.raises(ArgumentError, match=r"penalty=5\.0 is not allowed with method='irls'"):
        LpTRC(penalty=5.0)
    assert LpTRC(penalty=5.0, method="admm").penalty == 5.0
