"""Metrics against scikit-image and by hand."""

import tracemalloc
from math import inf

import numpy as np
import pytest
from skimage import data, metrics

from ringlet.errors import ArgumentError
from ringlet.report.metrics import psnr, relative_error, ssim


@pytest.fixture
def pair():
    photo = data.chelsea()[:90, :110]
    noise = np.random.default_rng(0).normal(0, 30, photo.shape)
    return photo + noise, photo


def test_psnr_agrees_with_scikit_image_and_never_clips(pair):
    estimate, truth = pair
    assert estimate.max() > 255
    assert psnr(estimate, truth, 255) == pytest.approx(
        metrics.peak_signal_noise_ratio(truth.astype(float), estimate, data_range=255)
    )


def test_unsigned_numbers_do_not_wrap():
    assert psnr(np.array([[0]], np.uint8), np.array([[255]], np.uint8), 255) == 0.0


def test_ssim_agrees_with_scikit_image_in_colour_and_in_grey(pair):
    estimate, truth = pair
    colour = metrics.structural_similarity(truth.astype(float), estimate, channel_axis=2, data_range=255)
    assert ssim(estimate, truth, 255) == pytest.approx(colour, abs=1e-9)
    grey = metrics.structural_similarity(truth[..., 0].astype(float), estimate[..., 0], data_range=255)
    assert ssim(estimate[..., 0], truth[..., 0], 255) == pytest.approx(grey, abs=1e-9)


def test_a_perfect_match(pair):
    _, truth = pair
    assert psnr(truth, truth, 255) == inf
    assert ssim(truth, truth, 255) == pytest.approx(1)
    assert relative_error(truth, truth) == 0


def test_relative_error_by_hand():
    assert relative_error([[3.0, 5.0]], [[3.0, 4.0]]) == pytest.approx(0.2)
    assert relative_error([[0.0]], [[0.0]]) == 0
    assert relative_error([[1.0]], [[0.0]]) == inf


def test_shapes_must_agree_and_ssim_wants_pictures():
    with pytest.raises(ArgumentError, match="shape"):
        psnr(np.zeros((3, 4)), np.zeros((4, 3)), 1)
    for shape in ((6, 9), (9,), (9, 9, 3, 2)):
        with pytest.raises(ArgumentError, match="pictures"):
            ssim(np.zeros(shape), np.zeros(shape), 1)


def test_large_arrays_are_compared_a_slab_at_a_time():
    truth = np.zeros((5, 1000, 1000), np.float32)
    estimate = np.full_like(truth, 0.1)
    estimate[4] = 0.2
    tracemalloc.start()
    found = psnr(estimate, truth, 1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == pytest.approx(10 * np.log10(5 / (4 * 0.01 + 0.04)), abs=1e-5)
    assert peak < 2 * 8 * truth.size
