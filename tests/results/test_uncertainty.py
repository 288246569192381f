"""Standard errors of a fit: nine of ten hidden entries are within 1.645 of them."""

import numpy as np
import pytest

from ringlet import TensorRing, decompose
from ringlet.robust.error_model import Leverage, fit_error_model

NOMINAL = 1.645  # standard errors, for 90 %


def hidden_case(shape, noise, hide, seed, heteroscedastic=False):
    """Data with hidden entries: those of slices with few known entries more often."""
    rng = np.random.default_rng(seed)
    clean = np.asarray(TensorRing([rng.standard_normal((3, n, 3)) for n in shape]))
    level = noise * clean.std()
    if heteroscedastic:
        level = level * np.exp(rng.normal(0, 0.7, shape[0])).reshape(-1, *[1] * (len(shape) - 1))
    truth = clean + level * rng.standard_normal(shape)
    chance = np.full(shape, hide)
    if hide > 0.5:
        chance = np.clip(chance * rng.uniform(0.4, 1.15, shape[0]).reshape(-1, *[1] * (len(shape) - 1)), 0, 0.95)
    hidden = rng.random(shape) < chance
    return truth, hidden, np.where(hidden, np.nan, truth)


@pytest.mark.parametrize("rank", ["auto", 3])
@pytest.mark.parametrize(
    ("shape", "noise", "hide", "heteroscedastic"),
    [
        ((30, 25, 20), 0.05, 0.3, False),
        ((30, 25, 20), 0.2, 0.6, False),
        ((30, 25, 20), 0.1, 0.3, True),
        ((14, 12, 10, 9), 0.1, 0.3, False),
    ],
)
def test_intervals_of_ninety_percent_cover_about_that_share(rank, shape, noise, hide, heteroscedastic):
    truth, hidden, data = hidden_case(shape, noise, hide, 0, heteroscedastic)
    fit = decompose(data, rank)
    inside = np.abs(truth - np.asarray(fit.ring)) <= NOMINAL * fit.uncertainty()
    assert 0.85 < inside[hidden].mean() < 0.95


def test_the_intervals_hold_where_errors_are_large_and_where_they_are_small():
    truth, hidden, data = hidden_case((30, 25, 20), 0.1, 0.3, 1, heteroscedastic=True)
    fit = decompose(data)
    error = fit.uncertainty()
    inside = np.abs(truth - np.asarray(fit.ring)) <= NOMINAL * error
    for part in (error < np.quantile(error, 0.3), error > np.quantile(error, 0.7)):
        assert 0.83 < inside[hidden & part].mean() < 0.97


def test_gross_errors_in_the_data_do_not_widen_the_intervals():
    truth, hidden, data = hidden_case((30, 25, 20), 0.05, 0.3, 2)
    wrong = np.random.default_rng(3).random(data.shape) < 0.05
    fit = decompose(np.where(wrong, data + 10 * truth.std(), data))
    inside = np.abs(truth - np.asarray(fit.ring)) <= NOMINAL * fit.uncertainty()
    assert 0.85 < inside[hidden].mean() < 0.97


def test_a_background_that_is_fitted_exactly_does_not_widen_the_intervals():
    """A volume, more than half of which is empty."""
    truth, hidden, _ = hidden_case((30, 25, 20), 0.1, 0.3, 7)
    truth[8:22, 8:22] = 0.0
    truth = np.where(np.arange(30)[:, None, None] < 12, truth, 0.0)
    fit = decompose(np.where(hidden, np.nan, truth))
    content = hidden & (truth != 0)
    assert np.median(fit.uncertainty()[content]) < 3 * np.median(np.abs(truth - np.asarray(fit.ring))[content]) * 1.4826


def test_slices_with_few_known_entries_have_larger_errors():
    _, _, data = hidden_case((30, 25, 20), 0.1, 0.0, 4)
    data[7, 3:] = np.nan
    error = decompose(data, 3).uncertainty()
    assert np.median(error[7]) > 1.05 * np.median(np.delete(error, 7, axis=0))


def test_any_block_can_be_asked_for_and_nothing_is_missing():
    _, _, data = hidden_case((30, 25, 20), 0.1, 0.3, 5)
    fit = decompose(data, 3)
    whole = fit.uncertainty()
    assert whole.shape == data.shape
    assert (whole > 0).all()
    for index in (3, (..., 2), ([1, 2], [3, 4]), np.isnan(data)):
        np.testing.assert_allclose(fit.uncertainty(index), whole[index])


def test_appended_slices_have_errors():
    _, _, data = hidden_case((30, 25, 20), 0.1, 0.2, 6)
    fit = decompose(data[..., :15], 3).extend(data[..., 15:])
    assert (fit.uncertainty((..., slice(15, None))) > 0).all()


def test_standard_errors_scale_with_the_data():
    _, _, data = hidden_case((8, 7, 6), 0.1, 0.3, 4)
    expected = decompose(data, 2).uncertainty()
    for scale in (1e-250, 1e250):
        np.testing.assert_allclose(decompose(scale * data, 2).uncertainty() / scale, expected, rtol=1e-6)


def test_a_gross_error_as_large_as_floats_leaves_the_standard_errors_as_they_are():
    rng = np.random.default_rng(0)
    places = tuple(axis.ravel() for axis in np.indices((20, 30)))
    leverage = Leverage((np.full(20, 0.05), np.full(30, 0.05)), gauge=0.0)
    residuals, everywhere = rng.standard_normal(600), (slice(None), slice(None))
    sound = fit_error_model(residuals, places, leverage, 0.0, 1.0, np.ones(600, bool)).block(everywhere)
    residuals[7] = 1e300
    spoiled = fit_error_model(residuals, places, leverage, 0.0, 1.0, np.ones(600, bool)).block(everywhere)
    np.testing.assert_allclose(spoiled, sound, rtol=0.2)
