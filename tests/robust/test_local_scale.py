"""The local scale of residuals."""

import numpy as np

from ringlet.robust.local_scale import fit_local_scale

SHAPE = (20, 30, 25)


def sample(seed=0):
    rng = np.random.default_rng(seed)
    factors = [np.exp(rng.normal(0, 0.7, length)) for length in SHAPE]
    scale = np.einsum("i,j,k->ijk", *factors)
    return scale, scale * rng.standard_normal(SHAPE)


def test_scales_that_are_products_are_found():
    truth, residuals = sample()
    found = fit_local_scale(residuals.ravel(), np.indices(SHAPE).reshape(3, -1), SHAPE, floor=0.0)
    ratio = found.block((slice(None),) * 3) / truth
    assert 0.9 < np.median(ratio) < 1.1
    assert np.quantile(np.abs(np.log(ratio)), 0.95) < 0.3


def test_a_tenth_of_gross_errors_hardly_changes_the_scale():
    truth, residuals = sample()
    wrong = np.random.default_rng(1).random(SHAPE) < 0.1
    found = fit_local_scale(np.where(wrong, 1e6, residuals).ravel(), np.indices(SHAPE).reshape(3, -1), SHAPE, floor=0.0)
    assert 0.9 < np.median(found.block((slice(None),) * 3) / truth) < 1.4


def test_no_scale_is_below_the_floor_and_unseen_slices_have_that_of_all():
    found = fit_local_scale(np.full(6, 1e-9), (np.arange(6) % 2, np.arange(6)), (3, 6), floor=0.25)
    assert (found.block((slice(None), slice(None))) >= 0.25).all()
    assert found.factors[0][2] == 1.0


def test_points_and_blocks_agree():
    _, residuals = sample()
    found = fit_local_scale(residuals.ravel(), np.indices(SHAPE).reshape(3, -1), SHAPE, floor=0.0)
    places = (np.array([1, 3]), np.array([2, 0]), np.array([4, 24]))
    np.testing.assert_allclose(found.points(places), found.block((slice(None),) * 3)[places])
