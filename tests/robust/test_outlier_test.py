"""Outliers among z-scores, at a given false-discovery rate."""

import numpy as np
import pytest

from ringlet.robust.outlier_test import EmpiricalNull, fit_null


@pytest.mark.parametrize("spread", [0.8, 1.5])
@pytest.mark.parametrize("fdr", [0.05, 0.2])
def test_the_false_discovery_rate_is_that_asked_for(spread, fdr):
    rng = np.random.default_rng(0)
    z, planted = spread * rng.standard_normal(100_000), rng.random(100_000) < 0.05
    z[planted] += 10.0 * rng.choice([-1, 1], planted.sum())
    null = fit_null(z)
    found = np.abs(z - null.centre) > null.limit(z, fdr, z.size)
    assert found[planted].mean() > 0.99
    assert fdr / 2 < 1 - planted[found].mean() < 2 * fdr


def test_heavy_tails_of_good_entries_are_not_taken_for_outliers():
    rng = np.random.default_rng(1)
    z, planted = rng.standard_t(4, 100_000), rng.random(100_000) < 0.05
    z[planted] += 60.0
    null = fit_null(z)
    found = np.abs(z - null.centre) > null.limit(z, 0.05, z.size)
    assert null.freedom < 10
    assert planted[found].mean() > 0.85
    assert found[planted].mean() > 0.95


def test_clean_normal_numbers_hold_hardly_any_outliers():
    z = np.random.default_rng(2).standard_normal(50_000)
    null = fit_null(z)
    assert np.isinf(null.freedom)
    assert (np.abs(z - null.centre) > null.limit(z, 0.05, z.size)).sum() <= 2


def test_where_nothing_is_rejected_the_limit_still_holds_for_all_entries():
    """A sample without outliers must not flag one in a hundred of the other blocks."""
    z = np.random.default_rng(3).standard_normal(1000)
    assert fit_null(z).limit(z, 0.01, tests=10**9) > 6


@pytest.mark.parametrize("freedom", [3.0, 30.0, np.inf])
def test_no_rate_is_too_small_for_a_limit(freedom):
    null = EmpiricalNull(0.0, 1.0, freedom)
    assert null.limit(np.zeros(10), 1e-300, tests=10) > null.limit(np.zeros(10), 1e-12, tests=10) > 0


def test_a_fifth_of_gross_errors_among_heavy_tails_is_found():
    """Salt and pepper on a photo: the errors must not be taken for the tail of the good entries."""
    rng = np.random.default_rng(4)
    z, planted = 0.7 * rng.standard_t(5, 100_000), rng.random(100_000) < 0.2
    z[planted] = rng.uniform(8, 40, planted.sum()) * rng.choice([-1, 1], planted.sum())
    null = fit_null(z)
    found = np.abs(z - null.centre) > null.limit(z, 0.01, z.size)
    assert planted[found].mean() > 0.95
    assert found[planted].mean() > 0.95
