"""Fits do not depend on what the caller has told NumPy to do about overflow and underflow."""

import numpy as np
import pytest

import ringlet
from ringlet import AWRTRD, SAWRTRD, decompose
from ringlet.errors import ArgumentError

RNG = np.random.default_rng(0)
X = np.where(RNG.random((8, 7, 6)) < 0.2, np.nan, RNG.random((8, 7, 6)))
DATA = {
    "plain": X,
    "tiny": X * 1e-200,
    "huge": X * 1e250,
    "zero": np.zeros((6, 5, 4)),
    "constant": np.full((6, 5), 3.0),
}


def cores(fit):
    return [core.tobytes() for core in fit.ring.cores]


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize(
    "solver",
    [
        AWRTRD(smooth=0.0, sweeps=5),
        AWRTRD(smooth=0.0, sweeps=5, sigma=1e-300),
        AWRTRD(smooth=0.0, sweeps=5, loss="cauchy"),
        SAWRTRD(smooth=0.0, samples=20, sweeps=5),
        AWRTRD(sweeps=5),
    ],
    ids=["awrtrd", "narrow", "cauchy", "sawrtrd", "tuned"],
)
def test_fits_are_the_same_where_the_caller_raises(name, solver):
    expected = cores(decompose(DATA[name], 2, solver=solver))
    with np.errstate(all="raise"):
        assert cores(decompose(DATA[name], 2, solver=solver)) == expected


@pytest.mark.parametrize("name", DATA)
def test_what_a_fit_says_of_entries_does_not_raise(name):
    fit = decompose(DATA[name], 2, sweeps=5)
    new = np.nan_to_num(DATA[name])[..., :1]
    with np.errstate(all="raise"):
        for view in (fit.weights, fit.residuals, fit.zscores, fit.outliers, fit.uncertainty, fit.restored):
            assert view().shape == DATA[name].shape
        assert fit.outlier_share >= 0
        assert fit.validation_db is not None
        fit.extend(new)
        assert np.isfinite(ringlet.restore(DATA[name], sweeps=5)).all()


def test_the_callers_setting_is_there_again():
    with np.errstate(all="raise"):
        decompose(X, 2, solver=AWRTRD(smooth=0.0, sweeps=1))
        assert set(np.geterr().values()) == {"raise"}


@pytest.mark.parametrize("field", ["sigma_factor", "sigma_min"])
def test_kernels_wider_than_any_data_are_refused(field):
    with pytest.raises(ArgumentError, match=rf"{field}=1e\+300 is not allowed; it must be at most 1e\+06"):
        AWRTRD(**{field: 1e300})
    assert decompose(X, 2, solver=AWRTRD(smooth=0.0, sweeps=3, **{field: 1e6})).ring.shape == X.shape


def test_a_loss_beyond_floats_is_the_largest_float():
    for loss in ("correntropy", "cauchy", "huber", "l2"):
        fit = decompose(X * 1e300, 2, solver=AWRTRD(smooth=0.0, sweeps=3, tol=0, loss=loss))
        assert all(np.isfinite(record.loss) for record in fit.history)


def test_learned_losses_judge_entries_alike_at_any_scale():
    rng = np.random.default_rng(0)
    x = np.einsum("ai,bi,ci->abc", *[rng.random((length, 2)) for length in (16, 12, 8)])
    x[rng.random(x.shape) < 0.05] = 0.0
    expected = np.asarray(decompose(x, 2, loss="learned", sweeps=10).ring)
    for scale in (1e-250, 1e250):
        ring = decompose(scale * x, 2, loss="learned", sweeps=10).ring
        np.testing.assert_allclose(np.asarray(ring) / scale, expected, rtol=1e-4, atol=1e-6)
