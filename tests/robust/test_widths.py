"""Kernel-width rules against many outliers."""

import numpy as np
import pytest

from ringlet.robust import kernel_width


@pytest.mark.parametrize("wrong", [0.0, 0.2, 0.4])
def test_trusted_quartiles_hold_out_against_many_outliers(wrong):
    rng = np.random.default_rng(0)
    residuals = 0.01 * rng.standard_normal(20_000)
    hit = rng.random(residuals.size) < wrong
    residuals[hit] += rng.choice([-1.0, 1.0], hit.sum()) * rng.uniform(0.1, 1.0, hit.sum())
    clean = 2.0 * 1.349 * 0.01  # the range between the quartiles of a normal distribution is 1.349 deviations
    assert 0.8 * clean < kernel_width(residuals, "trusted", 2.0, 1e-6) < 1.6 * clean


def test_trusted_quartiles_of_residuals_far_from_zero_are_finite():
    width = kernel_width(np.full(100, 7.0), "trusted", 2.0, 0.1)
    assert width == 0.1
