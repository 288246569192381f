"""Bonds grow where held-out entries gain by it, within what is asked for."""

import numpy as np
import pytest

import ringlet
from oracles import dense, random_cores
from ringlet import AWRTRD, decompose
from ringlet.solvers.tuning.bond_growth import equalise_bond, widen, with_features
from tuning_fits import error, photo_fields, spoiled, waves


@pytest.mark.parametrize("true", [2, 4])
@pytest.mark.parametrize(("share", "outliers", "noise"), [(0.8, 0.1, 0.02), (0.5, 0.2, 0.05)])
def test_the_rank_found_is_near_the_true_one(true, share, outliers, noise):
    truth = dense(random_cores((30, 28, 26), (true,) * 3, seed=true))
    x, observed = spoiled(truth, share, outliers, noise=noise * truth.std())
    fit = decompose(x, mask=observed)
    assert error(fit, truth) < 0.05
    assert true <= max(fit.ring.rank) <= 2 * true


@pytest.mark.parametrize(("rank", "dtype"), [((3, 4, 5), "f4"), ((3, 3, 3), "f8")])
def test_exact_data_are_found_exactly_by_a_ring_that_is_hardly_larger(rank, dtype):
    truth = dense(random_cores((30, 28, 26), rank, seed=1)).astype(dtype)
    fit = decompose(truth)
    assert error(fit, truth) < 1e-5
    assert max(fit.ring.rank) <= 2 * max(rank)
    assert fit.ring.parameters < 2.5 * sum(np.size(core) for core in random_cores((30, 28, 26), rank, seed=1))


def test_colour_bonds_stay_within_their_natural_limits():
    truth = waves((60, 50, 3), rank=5)
    rank = decompose(truth + 0.01 * np.random.default_rng(0).standard_normal(truth.shape)).ring.rank
    assert rank[0] <= 3 * rank[2]
    assert rank[2] <= 3 * rank[0]


def test_bonds_are_not_trimmed_before_the_ring_has_settled():
    """No bond of so little data may grow, so growth could end with the first sweep."""
    clean = np.fromfunction(
        lambda i, j, k: np.sin(i / 3) * np.cos(j / 2) + 0.3 * np.sin((i + j) / 4 + k / 2), (12, 12, 12)
    )
    assert error(decompose(clean), clean) < 1e-6


def test_little_data_may_have_more_than_rank_one():
    i, j = np.mgrid[:30, :9]
    clean = np.sin((i + 1) / 2) + np.sin((j + 1) / 3) + np.cos(i / 2) * np.cos(j / 3)
    assert error(decompose(clean), clean) < 1e-6
    rng = np.random.default_rng(0)
    unvalidatord = rng.random((6, 2)) @ rng.random((2, 8))  # too few to hold any out
    assert error(decompose(unvalidatord, rank=ringlet.budget("1MB")), unvalidatord) < 0.01


@pytest.mark.parametrize("shape", [(96, 128), pytest.param((240, 320), marks=pytest.mark.long)])
def test_growth_does_not_hang_on_the_seed(shape):
    """Every seed comes about as far."""
    rng = np.random.default_rng(0)
    grey, hue = photo_fields(shape, 1.5, rng)
    truth = np.multiply.outer(grey, rng.standard_normal(3) + 2) + np.multiply.outer(hue, rng.standard_normal(3))
    x, observed = spoiled(truth, 0.3, 0.0, noise=0.03 * np.ptp(truth))
    x += np.where(rng.random(x.shape) < 0.2, rng.normal(0, 0.7 * np.ptp(truth), x.shape), 0)
    errors = [error(decompose(x, mask=observed, seed=seed), truth) for seed in range(2)]
    assert max(errors) < 1.15 * min(errors)


@pytest.mark.parametrize(("shape", "wide"), [((60, 50), 32), pytest.param((120, 100), 50, marks=pytest.mark.long)])
def test_bonds_that_cost_nothing_do_not_keep_others_from_growing(shape, wide):
    """The bond between colours and frames holds few numbers: what it gains for them is mostly chance."""
    rng = np.random.default_rng(10)
    grey, hue = photo_fields(shape, 1.0, rng)
    colours, angles = rng.uniform(0.5, 1, (2, 3)), np.arange(8) / 4
    truth = np.einsum("ij,c,t->ijct", grey, colours[0], 1 + 0.2 * np.sin(angles))
    truth += np.einsum("ij,c,t->ijct", hue, colours[1] / 2, 1 + 0.2 * np.cos(angles))
    x, observed = spoiled(truth, 0.3, 0.0, noise=0.0)
    x = np.where(rng.random(x.shape) < 0.2, rng.choice([truth.min(), truth.max()], x.shape), x)
    fit = decompose(x, mask=observed)
    assert fit.ring.rank[1] > wide


def test_a_given_start_is_grown_from():
    truth = waves()
    x, _ = spoiled(truth, 1.0, 0.0)
    start = decompose(x, 2, solver=AWRTRD(smooth=0.0, sweeps=3)).ring
    fit = decompose(x, init=start)
    assert all(grown >= given for grown, given in zip(fit.ring.rank, start.rank, strict=True))
    assert error(fit, truth) < error(type("Start", (), {"ring": start}), truth)


@pytest.mark.parametrize("bond", range(3))
def test_widening_leaves_the_tensor_as_it_is(bond):
    cores = random_cores((5, 4, 3), (2, 3, 2), seed=0)
    wider = widen(cores, bond, 5, np.random.default_rng(1))
    features = [core + 1.0 for core in wider]
    other = (bond + 1) % 3
    both = with_features(widen(cores, other, 6, np.random.default_rng(1)), bond, features)
    assert wider[bond].shape[0] == both[bond].shape[0] == 5
    assert both[other].shape[0] == 6
    for found in (wider, both):
        np.testing.assert_allclose(dense(found), dense(cores), atol=1e-12)
    even = equalise_bond(features, bond, cores[bond].shape[0])
    np.testing.assert_allclose(dense(even), dense(features), rtol=1e-12)
    before, after = even[bond - 1][:, :, -1], even[bond][-1]
    np.testing.assert_allclose(np.mean(before**2), np.mean(after**2))
