"""Refinement of restored arrays: groups of similar patches, and denoisers of the user."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import ringlet
from ringlet.errors import ArgumentError
from ringlet.local.modes import NeighbourModes
from ringlet.local.patches import low_rank, patch_geometry, similar_patches, smoothed_patches


def _oracle(array, variance, side, reach, number, strength):
    """The same as smoothed_patches for a grey picture: loops and a full singular value decomposition."""
    rows, columns = array.shape
    step = max(1, 2 * side // 3)
    corners = [sorted({*range(0, length - side, step), length - side}) for length in (rows, columns)]
    sums, masses = np.zeros(array.shape), np.zeros(array.shape)
    for i in corners[0]:
        for j in corners[1]:
            here = array[i : i + side, j : j + side]
            found = []
            for k in range(max(0, i - reach), min(rows - side, i + reach) + 1):
                for m in range(max(0, j - reach), min(columns - side, j + reach) + 1):
                    there = array[k : k + side, m : m + side]
                    found.append((float(np.sum((here - there) ** 2)), k, m))
            found = sorted(found)[:number]
            stack = np.array([array[k : k + side, m : m + side].ravel() for _, k, m in found])
            doubt = np.mean([variance[k : k + side, m : m + side] for _, k, m in found])
            u, s, v = np.linalg.svd(stack - stack.mean(0), full_matrices=False)
            factors = np.maximum(1 - strength * side**2 * doubt / np.maximum(s, 1e-12) ** 2, 0)
            fitted = (u * (s * factors)) @ v + stack.mean(0)
            weight = 1 / (1 + factors.sum())
            for (_, k, m), patch in zip(found, fitted, strict=True):
                sums[k : k + side, m : m + side] += weight * patch.reshape(side, side)
                masses[k : k + side, m : m + side] += weight
    return sums / masses


def test_patches_are_those_of_the_oracle():
    rng = np.random.default_rng(0)
    array = gaussian_filter(rng.standard_normal((30, 26)), 2).astype(np.float32)
    array += 0.05 * rng.standard_normal(array.shape).astype(np.float32)
    variance = (0.0025 * (0.5 + rng.random(array.shape))).astype(np.float32)
    geometry = patch_geometry(array.shape, NeighbourModes((0, 1), ()))
    smooth = smoothed_patches(array, variance, similar_patches(array, geometry), geometry)
    assert smooth == pytest.approx(_oracle(array.astype(float), variance.astype(float), 6, 10, 36, 1.5), abs=2e-3)


@pytest.mark.parametrize(
    ("shape", "modes"),
    [
        ((20, 24, 3), NeighbourModes((0, 1), (2,))),
        ((9, 8, 7), NeighbourModes((0, 1, 2), ())),
        ((5, 40), NeighbourModes((1,), ())),
    ],
)
def test_every_entry_is_in_a_patch_and_shrinkage_of_nothing_changes_nothing(shape, modes):
    array = np.random.default_rng(1).random(shape, np.float32)
    geometry = patch_geometry(shape, modes)
    arranged = np.ascontiguousarray(array.transpose(geometry.order))
    groups = similar_patches(arranged, geometry)
    smooth = smoothed_patches(arranged, np.zeros_like(arranged), groups, geometry)
    assert smooth == pytest.approx(arranged, abs=1e-4)


def test_shrinkage_of_errors_alone_leaves_little():
    noise = np.random.default_rng(2).standard_normal((3, 30, 108)).astype(np.float32)
    fitted, weights = low_rank(noise, np.ones(3, np.float32))
    assert np.mean(fitted**2) < 0.2
    assert weights.max() <= 1


@pytest.fixture(scope="module")
def picture():
    """Circles, which no small ring describes; a third of them is known."""
    rows, columns = np.mgrid[0:64, 0:80]
    truth = 128 + 90 * np.sin(np.hypot(rows, columns) / 1.5)[..., None] * np.array([1.0, 0.8, 0.6])
    truth = np.rint(truth).astype(np.uint8)
    damaged, rng = truth.copy(), np.random.default_rng(3)
    wrong = rng.random(truth.shape) < 0.1
    damaged[wrong] = 255 * rng.integers(0, 2, np.count_nonzero(wrong))
    known = rng.random(truth.shape) < 0.35
    fit = ringlet.decompose(damaged, rank=2, mask=known, loss="learned")
    return truth, fit


def _error(truth, restored):
    return float(np.sqrt(np.mean((restored.astype(float) - truth) ** 2)))


def test_patches_bring_restored_data_nearer(picture):
    truth, fit = picture
    assert _error(truth, fit.restored(refine="patches")) < 0.8 * _error(truth, fit.restored())


def test_a_block_has_the_bits_of_the_whole(picture):
    _, fit = picture
    whole = fit.restored(refine="patches")
    assert np.array_equal(fit.restored((slice(10, 30), slice(5, 9)), refine="patches"), whole[10:30, 5:9])


def test_a_denoiser_gets_the_error_that_it_asks_for(picture):
    truth, fit = picture
    told = []

    def denoise(array, *, sigma):
        told.append(sigma)
        return gaussian_filter(array, (0.7, 0.7, 0))

    restored = fit.restored(refine=denoise)
    assert restored.shape == truth.shape
    assert all(0 < sigma < 128 for sigma in told)
    assert _error(truth, fit.restored(refine=lambda array: array)) < 1.25 * _error(truth, fit.restored())


def test_a_useless_denoiser_does_no_harm(picture):
    truth, fit = picture
    noise = np.random.default_rng(4)
    restored = fit.restored(refine=lambda array: noise.normal(0, 100, array.shape))
    assert _error(truth, restored) < 1.1 * _error(truth, fit.restored())


def test_what_cannot_refine_is_refused(picture):
    _, fit = picture
    with pytest.raises(ArgumentError, match=r"refine='bm3d' is not allowed; give None, 'patches' or a function"):
        fit.restored(refine="bm3d")
    with pytest.raises(ArgumentError, match=r"refine=.* gave an array of shape \(64, 80\)"):
        fit.restored(refine=lambda array: array[..., 0])
    with pytest.raises(ArgumentError, match=r"refine=.* failed with an array .*complex128"):
        fit.restored(refine=lambda array: array + 1j)
    with pytest.raises(ArgumentError, match=r"refine=.* numbers that are not finite"):
        fit.restored(refine=lambda array: np.ma.array(array, mask=array > array.mean()))
    with pytest.raises(ArgumentError, match="refine=3 is not allowed"):
        ringlet.restore(np.zeros((5, 5)), refine=3)
