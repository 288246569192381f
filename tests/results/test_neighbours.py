"""Entries judged and restored by their neighbours: photos, noise, blocks, stores, appended slices."""

import numpy as np
import pytest
import zarr
from skimage import data

from ringlet import AWRTRD, decompose
from ringlet.errors import ArgumentError, IndexingError
from ringlet.report.metrics import psnr

RNG = np.random.default_rng(0)
PHOTO = data.astronaut()[60:180, 160:300]
HIT = RNG.random(PHOTO.shape) < 0.2
DAMAGED = np.where(HIT, 255 * RNG.integers(0, 2, PHOTO.shape), PHOTO).astype(np.uint8)
KNOWN = RNG.random(PHOTO.shape) < 0.6


@pytest.fixture(scope="module")
def photo_fit():
    """A photo of which some pixels are missing and some wrong, judged."""
    return decompose(DAMAGED, mask=KNOWN, loss="learned")


def test_salt_and_pepper_are_replaced_by_more_than_the_ring(photo_fit):
    restored = psnr(photo_fit.restored(), PHOTO, 255)
    assert restored > psnr(np.asarray(photo_fit.ring), PHOTO, 255) + 2.5
    assert restored > psnr(photo_fit.restored(detail="never"), PHOTO, 255) + 1


def test_weights_are_probabilities_of_being_right(photo_fit):
    weights = photo_fit.weights()
    assert np.array_equal(np.isnan(weights), ~KNOWN)
    gross = KNOWN & (np.abs(DAMAGED.astype(int) - PHOTO) > 25)
    assert np.mean(weights[gross] < 0.5) > 0.97
    assert np.mean(weights[KNOWN & ~HIT] < 0.5) < 0.01


@pytest.mark.parametrize("fdr", [0.05, 0.2])
def test_outliers_of_salt_and_pepper_are_as_sure_as_asked_for(photo_fit, fdr):
    found, wrong = photo_fit.outliers(fdr=fdr), KNOWN & (DAMAGED != PHOTO)
    assert 1 - wrong[found].mean() < 1.6 * fdr
    assert found[wrong].mean() > 0.95


def test_the_model_of_wrong_values_knows_salt_and_pepper(photo_fit):
    model = photo_fit.outlier_model
    assert 0.15 < model.share < 0.25
    assert sorted(atom.value for atom in model.atoms[:2]) == [0, 255]
    assert "frequent values" in repr(model)
    assert [len(scales) for scales in model.mode_scales] == list(PHOTO.shape)
    assert photo_fit.outlier_share == pytest.approx(np.nanmean(photo_fit.weights() < 0.5) / KNOWN.mean(), rel=0.2)


def test_keep_says_what_becomes_of_trusted_entries(photo_fit):
    trusted = np.nan_to_num(photo_fit.weights()) > 0.5
    np.testing.assert_array_equal(photo_fit.restored(keep="always")[trusted], DAMAGED[trusted])
    assert not np.array_equal(photo_fit.restored(keep="never")[trusted], DAMAGED[trusted])
    np.testing.assert_array_equal(
        photo_fit.restored(detail="never", keep="never"), np.clip(np.rint(np.asarray(photo_fit.ring)), 0, 255)
    )
    np.testing.assert_array_equal(photo_fit.restored(keep=True), photo_fit.restored(keep="always"))


@pytest.mark.parametrize("wrong", [{"detail": "some"}, {"keep": 1}, {"keep": None}])
def test_other_options_are_named(photo_fit, wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(ArgumentError, match=f"{name}={value!r}"):
        photo_fit.restored(0, **wrong)


def test_noise_is_not_made_worse():
    rng = np.random.default_rng(1)
    truth = np.fromfunction(lambda i, j, k: np.sin(i / 9) * np.cos(j / 11) + k / 5, (60, 50, 8))
    noisy = truth + rng.normal(0, 0.1, truth.shape)
    fit = decompose(noisy)
    ring_error = np.sqrt(np.mean((np.asarray(fit.ring) - truth) ** 2))
    assert np.sqrt(np.mean((fit.restored(keep="never") - truth) ** 2)) < 1.05 * ring_error
    assert np.sqrt(np.mean((fit.restored() - truth) ** 2)) < 0.05


@pytest.fixture(scope="module")
def whole(photo_fit):
    """Restored entries, weights and outliers of the whole photo."""
    return photo_fit.restored(), photo_fit.weights(), photo_fit.outliers()


@pytest.mark.parametrize(
    "index",
    [3, (slice(20, 90, 7), slice(None), 1), ([5, 2, 110], slice(3, 9)), ([1, 2], [3, 4]), (slice(None, None, -3),)],
    ids=str,
)
def test_a_block_is_a_part_of_the_whole(photo_fit, whole, index):
    restored, weights, outliers = whole
    np.testing.assert_array_equal(photo_fit.restored(index), restored[index])
    np.testing.assert_array_equal(photo_fit.weights(index), weights[index])
    np.testing.assert_array_equal(photo_fit.outliers(index), outliers[index])


def test_a_store_gives_what_an_array_gives(tmp_path):
    stored = zarr.create_array(tmp_path / "x.zarr", shape=DAMAGED.shape, chunks=(50, 60, 3), dtype=DAMAGED.dtype)
    stored[:] = DAMAGED
    solver = AWRTRD(smooth=0.0, sweeps=6)
    fits = [decompose(x, (6, 12, 3), mask=KNOWN, solver=solver) for x in (stored, DAMAGED)]
    close = np.abs(fits[0].restored().astype(int) - fits[1].restored()) <= 1
    assert close.mean() > 0.999  # the rings differ by rounding
    np.testing.assert_allclose(fits[0].weights(), fits[1].weights(), atol=0.02)


def test_appended_slices_are_judged_and_restored():
    frames = np.stack([np.roll(PHOTO[:80, :70, 0], shift, 1) for shift in range(8)], axis=2).astype(float)
    damaged = frames.copy()
    damaged[RNG.random(frames.shape) < 0.05] = 255
    fit = decompose(damaged[..., :6], (8, 8, 4)).extend(damaged[..., 6:])
    part = (..., slice(6, None))
    wrong = damaged[part] != frames[part]
    assert np.mean(fit.weights(part)[wrong] < 0.5) > 0.9
    assert psnr(fit.restored(part), frames[part], 255) > psnr(damaged[part], frames[part], 255) + 3
    with pytest.raises(IndexingError, match="not held"):
        fit.restored()


def test_other_losses_weigh_by_their_kernel():
    fit = decompose(DAMAGED, 5, solver=AWRTRD(smooth=0.0, sweeps=5, loss="cauchy"))
    np.testing.assert_allclose(fit.weights(0), fit.kernel.weights(fit.residuals(0)), rtol=1e-12)
    assert fit.restored(0).dtype == np.uint8


@pytest.mark.filterwarnings("ignore:.*hold no observed entry", "ignore:.*most of the answer will be a guess")
def test_next_to_nothing_observed_gives_the_ring():
    x = np.full((6, 5, 4), np.nan)
    x[1, 2, 3] = 7.0
    fit = decompose(x, 1, solver=AWRTRD(smooth=0.0, sweeps=3))
    assert fit.outlier_model is None
    assert np.isfinite(fit.restored()).all()
