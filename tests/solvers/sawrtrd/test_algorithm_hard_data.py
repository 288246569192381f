"""Hard data: zero, constant, rank-deficient, sparse. The ring is always finite."""

import numpy as np
import pytest

from oracles import dense, random_cores
from ringlet import AWRTRD, SAWRTRD, Status, decompose
from ringlet.errors import DataWarning

SOLVERS = [AWRTRD(smooth=0.0, sweeps=15), SAWRTRD(smooth=0.0, sweeps=15, samples=30)]


def error(ring, truth):
    return np.abs(np.asarray(ring) - truth).max()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("value", [0, 1, -7, 200])
def test_constant_tensors_come_back(solver, value):
    x = np.full((6, 5, 4), value, dtype=np.float32)
    fit = decompose(x, 3, solver=solver)
    assert error(fit.ring, x) <= 1e-3 * abs(value) + 1e-9


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("rank", [1, 3, 8])
def test_rank_deficient_tensors_stay_finite(solver, rank):
    x = np.multiply.outer(np.multiply.outer(np.arange(1.0, 13), np.ones(10)), np.arange(8.0))
    fit = decompose(x, rank, solver=solver)
    assert np.linalg.norm(np.asarray(fit.ring) - x) < 0.3 * np.linalg.norm(x)


def test_structurally_singular_gram_stays_stable():
    shape, rank = (30, 28, 3), (12, 12, 2)  # at most 6 of the 12 dimensions of bond 0 can be used
    x = dense(random_cores(shape, (6, 12, 2))).astype(np.float32)
    fit = decompose(x, rank, solver=AWRTRD(smooth=0.0, sweeps=60, loss="l2", tol=0))
    assert np.linalg.norm(np.asarray(fit.ring) - x) < 0.05 * np.linalg.norm(x)


@pytest.mark.parametrize("sigma", [1e-200, 1e-20, 1e20, 1e300])
def test_extreme_fixed_widths_stay_finite(sigma):
    truth = dense(random_cores((8, 7, 6), (2, 2, 2)))
    for dtype in (np.float32, np.float64):
        fit = decompose(truth.astype(dtype), 2, solver=AWRTRD(smooth=0.0, sweeps=5, sigma=sigma))
        assert np.isfinite(np.asarray(fit.ring)).all()


@pytest.mark.filterwarnings("ignore::ringlet.errors.DataWarning")
def test_a_sample_without_observed_entries_does_not_end_the_fit():
    truth = dense(random_cores((30, 30, 30), (1, 1, 1)))
    mask = np.random.default_rng(0).random(truth.shape) < 0.002
    fit = decompose(truth, 1, mask=mask, solver=SAWRTRD(smooth=0.0, samples=4, sweeps=30, tol=0))
    assert fit.status is Status.SWEEPS_USED
    assert fit.sigma < np.inf


@pytest.mark.parametrize("solver", SOLVERS)
def test_nearly_everything_missing_gives_a_finite_ring(solver):
    truth = dense(random_cores((10, 9, 8), (1, 1, 1)))
    mask = np.random.default_rng(0).random(truth.shape) < 0.03
    mask[0, 0, 0] = True
    with pytest.warns(DataWarning):
        fit = decompose(truth, 2, solver=solver, mask=mask)
    assert np.isfinite(np.asarray(fit.ring)).all()


@pytest.mark.filterwarnings("ignore::ringlet.errors.DataWarning")
def test_a_single_observed_entry_is_enough_to_stay_finite():
    x = np.full((4, 5, 6), np.nan)
    x[1, 2, 3] = 5.0
    for solver in SOLVERS:
        ring = decompose(x, 2, solver=solver).ring
        assert np.isfinite(np.asarray(ring)).all()


def test_mostly_outliers_give_a_finite_ring():
    rng = np.random.default_rng(0)
    truth = dense(random_cores((12, 11, 10), (2, 2, 2)))
    x = np.where(rng.random(truth.shape) < 0.6, rng.standard_normal(truth.shape) * 100, truth)
    fit = decompose(x, 3, solver=AWRTRD(smooth=0.0, sweeps=30))
    assert np.isfinite(np.asarray(fit.ring)).all()


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_an_empty_slice_is_announced_and_filled_from_its_neighbours(mode):
    grid = np.add.outer(np.add.outer(np.arange(12.0), np.arange(11.0)), np.arange(10.0))
    x = grid.copy()
    x[(slice(None),) * mode + ([0, 5, 6],)] = np.nan
    with pytest.warns(
        DataWarning, match=rf"3 slice\(s\) of mode {mode} hold no observed entry \(the first at index 0\)"
    ):
        fit = decompose(x, 3, solver=AWRTRD(smooth=0.0, sweeps=100, loss="l2", tol=1e-8))
    middle = np.asarray(fit.ring).take([5, 6], axis=mode)
    np.testing.assert_allclose(middle, grid.take([5, 6], axis=mode), atol=0.5)
    edge = np.asarray(fit.ring).take(0, axis=mode)
    np.testing.assert_allclose(edge, np.asarray(fit.ring).take(1, axis=mode), atol=1e-6)


@pytest.mark.parametrize("dtype", ["u1", "f4", "f8"])
@pytest.mark.parametrize("rank", ["auto", 2])
def test_a_fit_of_zeros_ends(rank, dtype):
    fit = decompose(np.zeros((6, 5, 4), dtype), rank)
    assert error(fit.ring, 0.0) < 1e-9
    assert len(fit.history) < 80


def test_exactly_fitted_data_stop_by_themselves():
    fit = decompose(np.zeros((5, 4, 3), np.uint8), 2, solver=AWRTRD(smooth=0.0, sweeps=50, tol=0))
    assert fit.status is Status.STALLED
    assert error(fit.ring, 0.0) < 1e-12


@pytest.mark.parametrize("order", [2, 5, 8])
def test_tensors_of_any_order_are_fitted(order):
    shape = {2: (20, 15), 5: (5, 4, 6, 3, 5), 8: (3, 2, 3, 2, 3, 2, 3, 2)}[order]
    truth = dense(random_cores(shape, (2,) * order, seed=3))
    solver = SAWRTRD(smooth=0.0, samples=10**9, sweeps=100, tol=0, loss="l2")
    best = min(
        np.linalg.norm(np.asarray(decompose(truth, 2, solver=solver, seed=seed).ring) - truth) for seed in range(2)
    )
    assert best < 0.3 * np.linalg.norm(truth)


def test_modes_of_size_one_are_allowed():
    x = np.random.default_rng(0).random((1, 6, 1, 5))
    fit = decompose(x, 5, solver=AWRTRD(smooth=0.0, sweeps=50, loss="l2"))
    assert np.linalg.norm(np.asarray(fit.ring) - x) < 0.05 * np.linalg.norm(x)
