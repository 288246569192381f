"""Restored arrays: what is wrong is found, what is missing is filled, and any blocking gives the same."""

import numpy as np
import pytest

from ringlet.local.answer import answer, compose
from ringlet.local.model import HALO, learn
from ringlet.local.noise import noise_variance
from ringlet.local.window import Entries


def picture(rows=120, columns=150, seed=0):
    """Smooth waves in three colours with an edge, values from 0.1 to 0.9; and a coarse ring of it."""
    y, x = np.mgrid[:rows, :columns]
    phases = np.random.default_rng(seed).uniform(0, 6, 3)
    smooth = 0.5 + 0.15 * np.sin(x[..., None] / 9 + phases) * np.cos(y[..., None] / 11)
    truth = np.clip(smooth + 0.2 * ((x + y) % 90 > 45)[..., None], 0.1, 0.9)
    return truth, 0.5 * truth + 0.5 * truth.mean((0, 1))


def damaged(truth, known=0.6, wrong=0.2, seed=1):
    rng = np.random.default_rng(seed)
    values = truth.copy()
    hit = rng.random(truth.shape) < wrong
    values[hit] = rng.integers(0, 2, np.count_nonzero(hit))
    return values, rng.random(truth.shape) < known, hit


def error(a, b):
    return float(np.sqrt(np.mean((a - b) ** 2)))


def test_wrong_entries_are_found_and_all_are_nearer_to_the_truth_than_the_ring():
    truth, ring = picture()
    values, observed, hit = damaged(truth)
    restored, weights = answer(Entries(values, observed, ring))
    assert np.mean(weights[observed & hit] < 0.5) > 0.99
    assert np.mean(weights[observed & ~hit] > 0.5) > 0.99
    assert error(restored, truth) < 0.3 * error(ring, truth)
    assert np.all(weights[~observed] == 0)


def test_noise_leaves_residuals_of_a_perfect_ring_alone():
    truth, _ = picture()
    noisy = truth + np.random.default_rng(2).normal(0, 0.05, truth.shape)
    restored, _ = answer(Entries(noisy, None, truth))
    assert error(restored, truth) < 0.3 * error(noisy, truth)


def test_data_without_noise_are_kept():
    truth, ring = picture()
    values, observed, hit = damaged(truth)
    restored, _ = answer(Entries(values, observed, ring))
    right = observed & ~hit
    assert error(restored[right], truth[right]) < 0.1 * error(ring[right], truth[right])


def test_choices_of_detail_and_keep():
    truth, ring = picture()
    values, observed, _ = damaged(truth)
    entries = Entries(values, observed, ring)
    plain, weights = answer(entries, detail="never", keep="never")
    np.testing.assert_array_equal(plain, ring)
    kept, _ = answer(entries, keep="always")
    np.testing.assert_array_equal(kept[weights > 0.5], values[weights > 0.5])


@pytest.mark.parametrize(("factor", "offset"), [(1e-9, 0.0), (3e7, -5e6)])
def test_units_do_not_matter(factor, offset):
    truth, ring = picture(60, 70)
    values, observed, _ = damaged(truth)
    one, _ = answer(Entries(values, observed, ring))
    other, _ = answer(Entries(values * factor + offset, observed, ring * factor + offset))
    assert error((other - offset) / factor, one) < 1e-3


def test_the_seed_decides_all():
    truth, ring = picture(60, 70)
    values, observed, _ = damaged(truth)
    first, second = (answer(Entries(values, observed, ring), seed=3)[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_block_with_its_halo_is_restored_as_in_the_whole():
    truth, ring = picture(2 * HALO + 60, 40)
    values, observed, _ = damaged(truth)
    whole = Entries(values, observed, ring)
    model, (clean,) = learn([whole])
    rows = slice(20, 2 * HALO + 40)
    part = Entries(values[rows], observed[rows], ring[rows])
    got, expected = compose(part, model.apply(part), model), compose(whole, clean, model)[rows]
    np.testing.assert_allclose(got[HALO:-HALO], expected[HALO:-HALO], atol=1e-6)


def test_huge_values_are_found_and_harm_nothing():
    truth, ring = picture(60, 70)
    values, observed, _ = damaged(truth, wrong=0)
    values[::9, ::8] = 1e30
    restored, weights = answer(Entries(values, observed, ring))
    assert np.all(weights[::9, ::8] < 0.5)
    assert error(restored, truth) < error(ring, truth)


@pytest.mark.parametrize("value", [0.0, 7.0])
def test_constant_data_stay(value):
    x = np.full((20, 15, 3), value)
    restored, weights = answer(Entries(x, None, x))
    np.testing.assert_allclose(restored, x)
    assert np.all(np.isfinite(weights))


def test_data_without_order_give_the_ring_where_nothing_else_is_known():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((20, 18, 16))
    observed = rng.random(x.shape) < 0.5
    ring = np.zeros_like(x)
    restored, _ = answer(Entries(x, observed, ring))
    np.testing.assert_allclose(restored[~observed], 0, atol=0.05)


def test_noise_of_a_smooth_field_is_measured():
    y, x = np.mgrid[:150, :150]
    smooth = (0.3 * np.sin(x / 12) * np.cos(y / 15)).astype(np.float32)
    noise = np.random.default_rng(6).normal(0, 0.1, smooth.shape).astype(np.float32)
    ones = np.ones_like(smooth)
    assert noise_variance([smooth + noise], [noise], [ones], (0, 1)).variance == pytest.approx(0.009, rel=0.25)
    found = noise_variance([smooth], [0.1 * smooth], [ones], (0, 1))
    assert found.variance < 1e-4
    assert not found.is_all


def test_noise_along_one_mode_is_all_noise_and_is_not_kept():
    noise = np.random.default_rng(7).normal(0, 0.1, (60, 400)).astype(np.float32)
    found = noise_variance([noise], [noise], [np.ones_like(noise)], (1,))
    assert found.is_all
    walk = np.cumsum(np.random.default_rng(8).normal(0, 0.1, (60, 400)), axis=1).astype(np.float32)
    assert not noise_variance([walk], [walk], [np.ones_like(walk)], (1,)).is_all


def test_a_scratch_is_filled_as_well_as_a_smooth_surface_would():
    y, x = np.mgrid[:120, :150]
    truth = (np.sin(x / 13) * np.cos(y / 11)).astype(np.float32)[..., None] + np.zeros(3, np.float32)
    observed = np.ones(truth.shape, bool)
    observed[:, 40:46] = observed[80:92, 90:102] = False
    ring = 0.5 * truth
    unseen = np.random.default_rng(9).random(truth.shape) < 0.05
    restored, _ = answer(Entries(np.where(observed, truth, 0), observed, ring, unseen & observed))
    gaps = ~observed
    assert error(restored[gaps], truth[gaps]) < 0.1 * error(ring[gaps], truth[gaps])


@pytest.mark.parametrize("first", [0, 1])
def test_noise_is_measured_whichever_half_of_the_columns_is_known(first):
    noise = np.random.default_rng(0).standard_normal((1024, 1024), np.float32)
    known = np.zeros_like(noise)
    known[:, first::2] = 1
    found = noise_variance([noise * known], [noise * known], [known], (0, 1))
    assert 0.6 < found.variance < 1.1
