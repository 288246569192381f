"""Hard data: zero, constant, rank-deficient, sparse, huge, tiny. The ring is always finite."""

import numpy as np
import pytest

from oracles import dense, random_cores
from ringlet import AWRTRD, SAWRTRD, Status, decompose
from ringlet.errors import ArgumentError, DataWarning

SOLVERS = [AWRTRD(sweeps=15), SAWRTRD(sweeps=15, samples=30)]


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
    fit = decompose(x, rank, solver=AWRTRD(sweeps=60, loss="l2", tol=0))
    assert np.linalg.norm(np.asarray(fit.ring) - x) < 0.05 * np.linalg.norm(x)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_extreme_units_are_no_problem(scale):
    truth = dense(random_cores((8, 7, 6), (2, 2, 2)))
    fit = decompose(truth * scale, 2, solver=AWRTRD(sweeps=60))
    assert np.linalg.norm(np.asarray(fit.ring) / scale - truth) < 0.1 * np.linalg.norm(truth)


@pytest.mark.parametrize(("level", "scale"), [(293.15, 5.0), (1013.0, 10.0), (1e4, 1.0)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_data_far_from_zero_are_fitted_within_their_own_range(level, scale, seed):
    wave = np.fromfunction(lambda i, j, k: np.sin(i / 5 + j / 7) + 0.1 * k, (30, 30, 6))
    fit = decompose(level + scale * wave, 4, seed=seed, solver=AWRTRD(sweeps=100))
    assert np.sqrt(np.mean((np.asarray(fit.ring) - level - scale * wave) ** 2)) < 0.2 * scale * wave.std()


@pytest.mark.parametrize("offset", [0.0, -150.0, 300.0, 1e3, 101325.0])
@pytest.mark.parametrize("given", [{}, {"rank": 4, "solver": AWRTRD(sweeps=100)}])
def test_where_zero_lies_makes_little_difference(offset, given):
    rng = np.random.default_rng(0)
    wave = np.fromfunction(
        lambda i, j, k: 40 * np.sin(i / 15) + 30 * np.cos(j / 11) + 15 * np.sin(i / 7 + j / 9 + k), (40, 30, 8)
    )
    mask = rng.random(wave.shape) < 0.3
    fit = decompose(wave + 2 * rng.standard_normal(wave.shape) + offset, mask=mask, **given)
    assert np.sqrt(np.mean((np.asarray(fit.ring) - offset - wave) ** 2)) < 2.0  # the noise; without penalties it is 2.8


@pytest.mark.parametrize("level", [0.0, 1e-12, 0.05, 0.5])
def test_content_that_is_rare_is_found_before_any_background(level):
    x = np.full((60, 50, 20), level, np.float32)
    content = np.add.outer(np.add.outer(np.arange(12), np.arange(10)), np.arange(20)) / 40 + 0.1  # 4 % of the entries
    x[:12, :10] += content
    found = np.asarray(decompose(x, (3, 3, 3)).ring)[:12, :10] - level
    assert np.linalg.norm(found - content) < 0.02 * np.linalg.norm(content)


def test_a_picture_on_a_flat_background_is_not_taken_for_outliers():
    photo = 60 + 40 * np.fromfunction(lambda i, j, k: np.sin(i / 9) * np.cos(j / 11) + 0.3 * k, (60, 80, 3))
    x = np.zeros((130, 160, 3), np.uint8)
    x[20:80, 30:110] = photo
    fit = decompose(x, (6, 8, 3))
    assert np.abs(np.asarray(fit.ring)[20:80, 30:110] - photo).mean() < 10


def test_one_absurd_value_does_not_spoil_the_others():
    truth = dense(random_cores((12, 11, 10), (2, 2, 2)))
    for dtype, absurd, scale in [(np.float32, 9.96921e36, 1e-3), (np.float32, 1e25, 1.0), (np.float64, 1e200, 1.0)]:
        x = (truth * scale).astype(dtype)
        x[3, 4, 1] = absurd
        fit = decompose(x, 2, solver=AWRTRD(sweeps=60))
        assert np.linalg.norm(np.asarray(fit.ring) / scale - truth) < 0.1 * np.linalg.norm(truth)
        assert fit.weights((3, 4, 1)) < 1e-6


@pytest.mark.parametrize(
    "x", [np.ones((4, 5, 6)) * 1e-310, np.linspace(0, 1e-40, 60, dtype=np.float32).reshape(3, 4, 5)]
)
def test_subnormal_data_are_refused_by_name(x):
    with pytest.raises(ArgumentError, match="cannot work with"):
        decompose(x, 2)


def test_data_too_large_for_the_working_precision_are_refused():
    with pytest.raises(ArgumentError, match="float32 cannot work with; give them, or the solver's dtype, as float64"):
        decompose(np.linspace(0, 1e300, 60).reshape(3, 4, 5), 2, solver=AWRTRD(dtype="float32"))


@pytest.mark.parametrize("sigma", [1e-200, 1e-20, 1e20, 1e300])
def test_extreme_fixed_widths_stay_finite(sigma):
    truth = dense(random_cores((8, 7, 6), (2, 2, 2)))
    for dtype in (np.float32, np.float64):
        fit = decompose(truth.astype(dtype), 2, solver=AWRTRD(sweeps=5, sigma=sigma))
        assert np.isfinite(np.asarray(fit.ring)).all()


@pytest.mark.filterwarnings("ignore::ringlet.errors.DataWarning")
def test_a_sample_without_observed_entries_does_not_end_the_fit():
    truth = dense(random_cores((30, 30, 30), (1, 1, 1)))
    mask = np.random.default_rng(0).random(truth.shape) < 0.002
    fit = decompose(truth, 1, mask=mask, solver=SAWRTRD(samples=4, sweeps=30, tol=0))
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
    fit = decompose(x, 3, solver=AWRTRD(sweeps=30))
    assert np.isfinite(np.asarray(fit.ring)).all()


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_an_empty_slice_is_announced_and_filled_from_its_neighbours(mode):
    grid = np.add.outer(np.add.outer(np.arange(12.0), np.arange(11.0)), np.arange(10.0))
    x = grid.copy()
    x[(slice(None),) * mode + ([0, 5, 6],)] = np.nan
    with pytest.warns(
        DataWarning, match=rf"3 slice\(s\) of mode {mode} hold no observed entry \(the first at index 0\)"
    ):
        fit = decompose(x, 3, solver=AWRTRD(sweeps=100, loss="l2", tol=1e-8))
    middle = np.asarray(fit.ring).take([5, 6], axis=mode)
    np.testing.assert_allclose(middle, grid.take([5, 6], axis=mode), atol=0.5)
    edge = np.asarray(fit.ring).take(0, axis=mode)
    np.testing.assert_allclose(edge, np.asarray(fit.ring).take(1, axis=mode), atol=1e-6)


def test_exactly_fitted_data_stop_by_themselves():
    fit = decompose(np.zeros((5, 4, 3), np.uint8), 2, solver=AWRTRD(sweeps=50, tol=0))
    assert fit.status is Status.STALLED
    assert error(fit.ring, 0.0) < 1e-12


@pytest.mark.parametrize("order", [2, 5, 8])
def test_tensors_of_any_order_are_fitted(order):
    shape = {2: (20, 15), 5: (5, 4, 6, 3, 5), 8: (3, 2, 3, 2, 3, 2, 3, 2)}[order]
    truth = dense(random_cores(shape, (2,) * order, seed=3))
    solver = SAWRTRD(samples=10**9, sweeps=300, tol=0, loss="l2")
    best = min(
        np.linalg.norm(np.asarray(decompose(truth, 2, solver=solver, seed=seed).ring) - truth) for seed in range(2)
    )
    assert best < 0.3 * np.linalg.norm(truth)


def test_modes_of_size_one_are_allowed():
    x = np.random.default_rng(0).random((1, 6, 1, 5))
    fit = decompose(x, 5, solver=AWRTRD(sweeps=50, loss="l2"))
    assert np.linalg.norm(np.asarray(fit.ring) - x) < 0.05 * np.linalg.norm(x)


@pytest.mark.parametrize("share", [0.02, 0.2])
def test_gaussian_outliers_do_not_widen_the_kernel(share):
    rng = np.random.default_rng(3)
    i, j = np.mgrid[0:80, 0:90] / 20
    clean = (0.5 + 0.25 * np.sin(i + j) + 0.2 * np.cos(2 * i - j))[:, :, None] * np.array([1.0, 0.9, 0.8])
    noisy = clean + np.where(rng.random(clean.shape) < share, rng.normal(0, 0.7, clean.shape), 0.0)
    fit = decompose(noisy, 4, solver=AWRTRD(tol=0))
    assert fit.sigma < 0.3  # of data that span about one, whatever their outliers span
    assert np.sqrt(np.mean((np.asarray(fit.ring) - clean) ** 2)) < 0.05


def test_a_small_bright_part_of_a_dark_picture_counts_for_the_range():
    x = np.zeros((100, 120, 3)) + np.linspace(0.0, 0.3, 120)[:, None]
    x[40:50, 50:60] = np.linspace(0.4, 1.0, 10)[:, None]  # a hundredth of all entries
    assert decompose(x, 2, solver=AWRTRD(sweeps=60, tol=0)).sigma == pytest.approx(0.15)
