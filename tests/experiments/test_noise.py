"""Noise and masks: variances, exact counts, and seeds that belong to an item and a run."""

import numpy as np
import pytest

from ringlet.experiments.noise import TrialSeed, add_noise, generator, hypergeometric, noise_of, observed_entries

SHAPE = (130, 170, 61)  # more than one block of positions


@pytest.fixture(params=[None, 0.3])
def observed(request):
    """Which entries are observed: all, or 30 %."""
    return None if request.param is None else observed_entries(SHAPE, request.param, np.random.default_rng(5))


def damaged(kind, observed, seed=0, **settings):
    clean = np.full(SHAPE, 0.25, np.float32)
    tensor = clean.copy()
    add_noise(tensor, kind, np.random.default_rng(seed), observed, **settings)
    seen = slice(None) if observed is None else observed
    return tensor, (tensor - clean)[seen].ravel()


def test_the_mixture_has_the_papers_variances(observed):
    _, errors = damaged("gmm", observed)
    # 0.8 N(0, 1e-3) + 0.2 N(0, 0.5), by variance
    assert errors.var() == pytest.approx(0.8 * 1e-3 + 0.2 * 0.5, rel=0.02)
    assert abs(errors.mean()) < 2e-3
    kurtosis = (errors**4).mean() / errors.var() ** 2
    assert kurtosis == pytest.approx(3 * (0.8 * 1e-3**2 + 0.2 * 0.5**2) / (0.8 * 1e-3 + 0.2 * 0.5) ** 2, rel=0.05)
    core = np.abs(errors) < 0.02
    expected = 0.8 * 0.4729 + 0.2 * 0.02256  # shares of the two normal distributions within 0.02
    assert core.mean() == pytest.approx(expected, rel=0.02)


def test_exactly_a_fifth_of_the_observed_entries_are_outliers_of_the_mixture(observed):
    _, errors = damaged("gmm", observed, variances=(0.0, 0.5))  # without the grain, outliers show
    assert np.count_nonzero(errors) == int(0.2 * errors.size)


def test_salt_and_pepper_have_exact_counts_half_each(observed):
    tensor, errors = damaged("salt-and-pepper", observed)
    seen = tensor if observed is None else tensor[observed]
    count = int(0.2 * errors.size)
    assert np.count_nonzero(seen == 1) == count // 2
    assert np.count_nonzero(seen == 0) == count - count // 2
    assert np.count_nonzero(seen == 0.25) == errors.size - count


def test_noise_falls_on_single_entries_everywhere_alike():
    tensor, _ = damaged("salt-and-pepper", None)
    hit = tensor != 0.25
    for axes in ((1, 2), (0, 2), (0, 1)):
        shares = hit.mean(axis=axes)
        spread = np.sqrt(0.2 * 0.8 / (hit.size / shares.size))
        assert np.abs(shares - 0.2).max() < 5 * spread
    together = (hit[..., 0] & hit[..., 1]).mean()  # neighbours do not share their fate
    assert together == pytest.approx(0.04, rel=0.1)


def test_salt_and_pepper_are_mixed_within_blocks():
    tensor, _ = damaged("salt-and-pepper", None)
    salt, hit = (tensor == 1).reshape(-1), (tensor != 0.25).reshape(-1)
    first, last = slice(0, 100_000), slice(-100_000, None)
    for part in (first, last):
        assert salt[part].sum() / hit[part].sum() == pytest.approx(0.5, abs=0.02)


def test_what_is_not_observed_is_gone():
    observed = observed_entries(SHAPE, 0.3, np.random.default_rng(1))
    for kind in ("gmm", "salt-and-pepper"):
        assert not damaged(kind, observed)[0][~observed].any()


def test_counts_are_exact_and_their_shares_in_blocks_hypergeometric():
    whites = []
    for seed in range(200):
        x = np.full(300, 0.5, np.float32)
        add_noise(x, "salt-and-pepper", np.random.default_rng(seed), block_entries=100)
        assert ((x == 1).sum(), (x == 0).sum()) == (30, 30)
        whites.append((x[:100] == 1).sum())
    assert np.mean(whites) == pytest.approx(10, abs=0.6)
    assert np.var(whites) == pytest.approx(30 * (1 / 3) * (2 / 3) * 270 / 299, rel=0.3)  # hypergeometric


@pytest.mark.parametrize(("good", "bad", "largest"), [(60, 240, 10), (60, 240, 10**9), (10**9 + 7, 2 * 10**9, 10**9)])
def test_draws_without_replacement_are_hypergeometric_also_where_numpys_distribution_ends(good, bad, largest):
    """NumPy refuses a thousand million entries of a kind."""
    found = [hypergeometric(good, bad, 100, np.random.default_rng(seed), largest=largest) for seed in range(400)]
    every, share = good + bad, good / (good + bad)
    variance = 100 * share * (1 - share) * (every - 100) / (every - 1)
    assert np.mean(found) == pytest.approx(100 * share, abs=4 * np.sqrt(variance / 400))
    assert np.var(found) == pytest.approx(variance, rel=0.3)
    assert hypergeometric(good, bad, 0, np.random.default_rng(0), largest=largest) == 0


def test_masks_have_exactly_the_share_asked_for():
    mask = observed_entries(SHAPE, 0.3, np.random.default_rng(0))
    assert mask.sum() == round(0.3 * mask.size)
    assert np.abs(mask.mean(axis=(1, 2)) - 0.3).max() < 0.03


def test_seeds_belong_to_item_run_and_purpose():
    draws = {
        generator(item, run, purpose).integers(1 << 62)
        for item in ("flamingo", "camel")
        for run in (1, 2, 3)
        for purpose in TrialSeed
    }
    assert len(draws) == 18
    assert generator("camel", 2, TrialSeed.MASK).integers(1 << 62) in draws


def test_the_same_seed_gives_the_same_bits():
    for kind in ("gmm", "salt-and-pepper"):
        np.testing.assert_array_equal(damaged(kind, None, seed=3)[0], damaged(kind, None, seed=3)[0])
        assert (damaged(kind, None, seed=3)[0] != damaged(kind, None, seed=4)[0]).any()


def test_the_first_half_gets_the_mixture():
    assert [noise_of(place, 10) for place in range(10)] == ["gmm"] * 5 + ["salt-and-pepper"] * 5
    assert [noise_of(place, 5) for place in range(5)] == ["gmm"] * 3 + ["salt-and-pepper"] * 2
