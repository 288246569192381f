"""Weights are the derivative of their loss; widths come from quartiles."""

import numpy as np
import pytest

from ringlet.robust import DEFAULT_FACTORS, LOSSES, WidthRule


def kernel_width(residuals, rule, factor, floor):
    """What the rule asks for, from the first sweep on."""
    pilot = WidthRule(rule, factor, floor).pilot(residuals, data_range=1.0, narrowest=0.0)
    assert not pilot.settling
    return pilot.kernel.width


@pytest.mark.parametrize("loss", LOSSES.values(), ids=lambda loss: loss.name)
@pytest.mark.parametrize("width", [0.3, 2.0])
def test_weight_is_the_derivative_of_the_loss_over_the_residual(loss, width):
    residual = np.linspace(-5, 5, 400)
    step = 1e-6
    slope = (loss.value(residual + step, width) - loss.value(residual - step, width)) / (2 * step)
    weight = loss.weight(residual, width, np.empty_like(residual))
    np.testing.assert_allclose(weight * residual, slope, atol=1e-6)
    assert weight.min() >= 0
    assert weight.max() <= 1


@pytest.mark.parametrize("name", ["correntropy", "cauchy", "huber"])
def test_large_residuals_lose_trust_and_wide_kernels_restore_it(name):
    weight = LOSSES[name].weight
    far = np.array([100.0])
    assert weight(far, 1.0, np.empty(1))[0] < 0.011
    assert weight(far, 1e6, np.empty(1))[0] > 0.999
    assert weight(np.zeros(1), 1.0, np.empty(1))[0] == 1.0


def test_half_quadratic_identity_of_correntropy():
    # -g(x) = min_w w x^2 / 2 + sigma^2 (w ln w - w), attained at w = exp(-x^2 / (2 sigma^2))
    x, sigma = 1.3, 0.8
    w = np.linspace(1e-6, 1, 200_001)
    value = 0.5 * w * x**2 + sigma**2 * (w * np.log(w) - w)
    best = LOSSES["correntropy"].weight(np.array([x]), sigma, np.empty(1))[0]
    assert w[np.argmin(value)] == pytest.approx(best, abs=1e-5)
    assert value.min() == pytest.approx(-(sigma**2) * np.exp(-(x**2) / (2 * sigma**2)), abs=1e-9)


def test_width_rules_take_quartiles_of_signed_residuals():
    residual = np.array([-4.0, -1.0, 0.0, 1.0, 6.0, 7.0, 8.0, 9.0])
    low, high = np.quantile(residual, [0.25, 0.75], method="hazen")
    assert kernel_width(residual, "iqr", 2.0, 0.1) == pytest.approx(2 * (high - low))
    assert kernel_width(residual, "maxabs", 4.0, 0.1) == pytest.approx(4 * max(abs(low), abs(high)))
    assert kernel_width(residual, "iqr", 2.0, 100.0) == 100.0
    assert kernel_width(np.zeros(5), "iqr", 2.0, 0.25) == 0.25


def test_both_rules_agree_on_symmetric_residuals():
    residual = np.random.default_rng(0).standard_normal(4001)
    residual = np.concatenate([residual, -residual])
    widths = [kernel_width(residual, rule, factor, 1e-9) for rule, factor in DEFAULT_FACTORS.items()]
    assert widths[0] == pytest.approx(widths[1], rel=1e-3)


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
