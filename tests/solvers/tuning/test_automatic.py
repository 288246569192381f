"""Automatic fits: what held-out entries decide, and what is promised of the result."""

import warnings

import numpy as np
import pytest

from ringlet import AWRTRD, SAWRTRD, decompose
from ringlet.errors import DataWarning
from ringlet.solvers.tuning.policy import TuningPolicy
from tuning_fits import error, spoiled, tuned, waves

QUICK = AWRTRD(smooth="auto", sweeps=16, threads=1)


def test_everything_automatic_beats_the_printed_method_on_smooth_data():
    truth = waves(rank=6)
    x, observed = spoiled(truth, 0.15, 0.1)
    fit = decompose(x, mask=observed)
    assert error(fit, truth) < 0.5 * error(
        decompose(x, fit.ring.rank, solver=AWRTRD(smooth=0.0, sweeps=30, ridge=0), mask=observed), truth
    )
    assert fit.ring.parameters <= x.size / 5
    scores = [record.held_out for record in fit.history]
    assert np.isfinite(scores[:-2]).all()
    assert np.isnan(scores[-2:]).all()
    assert scores[-3] < scores[0]


def sines(shape=(40, 35, 20)):
    """Three smooth features, exactly."""
    return np.fromfunction(lambda i, j, k: np.sin(i / 7) * np.cos(j / 5) + 0.3 * np.sin((i + j) / 9 + k / 4), shape)


@pytest.mark.parametrize("offset", [1e4, pytest.param(1e6, marks=pytest.mark.long), 1e8])
def test_data_far_from_zero_are_fitted_as_finely_as_their_precision_allows(offset):
    clean = sines()
    rng = np.random.default_rng(0)
    x = clean + offset
    x[rng.random(x.shape) < 0.1] += 3.0
    fit = decompose(x, mask=rng.random(x.shape) < 0.5)
    assert np.sqrt(np.mean((np.asarray(fit.ring) - offset - clean) ** 2)) < 0.12 * np.std(clean)


def test_the_bits_do_not_depend_on_threads():
    x, observed = spoiled(waves(), 0.6, 0.1)
    fits = [
        decompose(x, solver=SAWRTRD(samples=100, smooth="auto", sweeps=14, threads=threads), mask=observed)
        for threads in (1, 3)
    ]
    assert fits[0].ring.rank == fits[1].ring.rank
    for one, other in zip(fits[0].ring.cores, fits[1].ring.cores, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("factor", [2.0**20, -(2.0**-15)])
def test_units_do_not_matter(factor):
    x, observed = spoiled(waves(), 0.6, 0.1)
    one, other = (decompose(data, solver=QUICK, mask=observed).ring for data in (x, factor * x))
    if factor > 0:
        assert one.rank == other.rank
        np.testing.assert_allclose(np.asarray(other), factor * np.asarray(one), rtol=1e-9, atol=1e-9 * abs(factor))
    else:
        scale = abs(factor) * np.abs(x[observed]).max()
        assert np.abs(np.asarray(other) - factor * np.asarray(one)).max() < 0.1 * scale


def test_an_automatic_fit_goes_on_from_its_checkpoint(tmp_path):
    x, observed = spoiled(waves((20, 18, 4)), 0.7, 0.1)
    solver = AWRTRD(smooth="auto", sweeps=14, tol=0, threads=1)
    whole = decompose(x, solver=solver, mask=observed)
    for last in range(1, 14):
        folder = tmp_path / str(last)
        decompose(x, solver=solver, mask=observed, checkpoint=folder, callback=lambda s, last=last: s.sweep == last)
        swept = []
        resumed = decompose(
            x, solver=solver, mask=observed, checkpoint=folder, callback=lambda s, swept=swept: swept.append(s.sweep)
        )
        assert swept == list(range(last + 1, 15))  # it was resumed
        assert [core.tobytes() for core in resumed.ring.cores] == [core.tobytes() for core in whole.ring.cores]


@pytest.mark.parametrize("shape", [(2, 2), (3, 2, 2), (1, 5, 1), (9, 1)])
def test_tiny_data_are_fitted_all_the_same(shape):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        fit = decompose(np.arange(np.prod(shape), dtype=float).reshape(shape))
    assert np.isfinite(np.asarray(fit.ring)).all()


def test_hopeless_fits_are_announced():
    x, observed = spoiled(waves(), 0.05, 0.0)
    with pytest.warns(DataWarning, match="100 unknowns for each slice of mode 0"):
        decompose(x, 10, solver=AWRTRD(smooth=0.0, sweeps=1), mask=observed)


def rare_peaks():
    """Low hills, and a few peaks of many times their height that a ring of small rank has, too."""
    i, j, k = np.ogrid[:50, :40, :30]
    hills = 0.1 * np.sin(i / 8) * np.cos(j / 7) + 0.05 * np.cos(k / 6)
    peaks = np.exp(-(((i - 25) / 3) ** 2)) * np.exp(-(((j - 20) / 3) ** 2)) * np.exp(-(((k - 10) / 4) ** 2))
    return hills + 2 * peaks


def test_rare_peaks_are_no_outliers():
    truth = rare_peaks()
    x = truth + 0.005 * np.random.default_rng(0).standard_normal(truth.shape)
    x[np.random.default_rng(1).random(truth.shape) < 0.3] = np.nan
    trusting = decompose(x)
    robust = tuned(x, solver=AWRTRD(loss="correntropy"), policy=TuningPolicy(chooses_least_squares=False))
    assert trusting.sigma > 100 * robust.sigma  # least squares were chosen
    assert error(trusting, truth) < 0.8 * error(robust, truth)
    assert (trusting.weights()[np.isfinite(x)] > 0.9).mean() > 0.999


def test_a_kernel_is_not_given_up_where_entries_are_wrong():
    x, observed = spoiled(rare_peaks(), 0.9, 0.1)
    fit = decompose(x, mask=observed, loss="correntropy")
    assert fit.history[-1].sigma < np.ptp(x)


def test_wrong_entries_are_judged_and_left_out():
    truth = rare_peaks()
    x, observed = spoiled(truth, 0.9, 0.1)
    fit = decompose(x, mask=observed)
    wrong = x == truth.max() * 3
    weights = fit.weights()
    assert (weights[observed & wrong] < 0.5).all()
    assert (weights[observed & ~wrong] > 0.5).mean() > 0.999
    assert error(fit, truth) < 0.7 * error(decompose(x, mask=observed, loss="correntropy"), truth)


@pytest.mark.parametrize("loss", ["learned", "correntropy"])
def test_errors_whose_squares_overflow_are_left_out(loss):
    truth = waves()
    x = truth + 0.01 * np.random.default_rng(0).standard_normal(truth.shape)
    x[::7, ::9, 1] = 1e200
    for rank in ("auto", 3):
        assert error(decompose(x, rank, loss=loss), truth) < 0.02  # and warnings are errors here


def test_a_given_rank_that_is_too_large_is_not_overfitted():
    truth = np.fromfunction(lambda i, j, k: 100 + 20 * np.sin(i / 9) * np.cos(j / 7) + 5 * k, (60, 50, 3))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = np.where(rng.random(truth.shape) < 0.1, 255.0, truth)
        x[rng.random(truth.shape) < 0.3] = np.nan
        off = np.asarray(decompose(x, rank=(3, 4, 3)).ring) - truth  # (3, 2, 1) would do
        assert np.std(off) < 0.05
        assert np.abs(off).max() < 2
