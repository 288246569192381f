"""The scale of the data: units, offsets, backgrounds and absurd values do not mislead a fit."""

import numpy as np
import pytest

from oracles import dense, random_cores
from ringlet import AWRTRD, decompose
from ringlet.errors import ArgumentError


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_extreme_units_are_no_problem(scale):
    truth = dense(random_cores((8, 7, 6), (2, 2, 2)))
    fit = decompose(truth * scale, 2, solver=AWRTRD(smooth=0.0, sweeps=60))
    assert np.linalg.norm(np.asarray(fit.ring) / scale - truth) < 0.1 * np.linalg.norm(truth)


@pytest.mark.parametrize(("level", "scale"), [(293.15, 5.0), (1013.0, 10.0), (1e4, 1.0)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_data_far_from_zero_are_fitted_within_their_own_range(level, scale, seed):
    wave = np.fromfunction(lambda i, j, k: np.sin(i / 5 + j / 7) + 0.1 * k, (30, 30, 6))
    fit = decompose(level + scale * wave, 4, seed=seed, solver=AWRTRD(smooth=0.0, sweeps=100))
    assert np.sqrt(np.mean((np.asarray(fit.ring) - level - scale * wave) ** 2)) < 0.2 * scale * wave.std()


@pytest.mark.parametrize("offset", [0.0, -150.0, 300.0, 1e3, 101325.0])
@pytest.mark.parametrize("given", [{}, {"rank": 4, "solver": AWRTRD(smooth=0.0, sweeps=100)}])
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
        fit = decompose(x, 2, solver=AWRTRD(smooth=0.0, sweeps=60))
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
        decompose(np.linspace(0, 1e300, 60).reshape(3, 4, 5), 2, solver=AWRTRD(smooth=0.0, sweeps=30, dtype="float32"))


@pytest.mark.parametrize("share", [0.02, 0.2])
def test_gaussian_outliers_do_not_widen_the_kernel(share):
    rng = np.random.default_rng(3)
    i, j = np.mgrid[0:80, 0:90] / 20
    clean = (0.5 + 0.25 * np.sin(i + j) + 0.2 * np.cos(2 * i - j))[:, :, None] * np.array([1.0, 0.9, 0.8])
    noisy = clean + np.where(rng.random(clean.shape) < share, rng.normal(0, 0.7, clean.shape), 0.0)
    fit = decompose(noisy, 4, solver=AWRTRD(smooth=0.0, sweeps=30, tol=0))
    assert fit.sigma < 0.3  # of data that span about one, whatever their outliers span
    assert np.sqrt(np.mean((np.asarray(fit.ring) - clean) ** 2)) < 0.05


def test_a_small_bright_part_of_a_dark_picture_counts_for_the_range():
    x = np.zeros((100, 120, 3)) + np.linspace(0.0, 0.3, 120)[:, None]
    x[40:50, 50:60] = np.linspace(0.4, 1.0, 10)[:, None]  # a hundredth of all entries
    assert decompose(x, 2, solver=AWRTRD(smooth=0.0, sweeps=60, tol=0)).sigma == pytest.approx(0.15)
