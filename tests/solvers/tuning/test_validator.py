"""Models compared at held-out entries: outliers and backgrounds do not mislead the comparison."""

import numpy as np
import pytest
from skimage import data, transform

import ringlet
from ringlet import decompose
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.validator import Validator
from ringlet.sources import as_source
from tuning_fits import error, spoiled, tuned, waves

WHOLE = (slice(None),) * 3


def photo(short=120):
    x = data.chelsea()
    scale = short / min(x.shape[:2])
    return transform.resize(x, (round(x.shape[0] * scale), round(x.shape[1] * scale)), anti_aliasing=True)


def test_outliers_do_not_mislead_the_validator():
    truth = waves()
    x, _ = spoiled(truth, 1.0, 0.4)
    validator, _ = Validator.of(as_source(x), x.size, 0)
    near = decompose(truth, 4, solver=ringlet.baselines.TRSVD()).ring
    noise = 0.3 * np.random.default_rng(5).standard_normal(truth.shape)
    far = decompose(truth + noise, 4, solver=ringlet.baselines.TRSVD()).ring
    verdict = validator.compare(validator.residuals(near.cores), validator.residuals(far.cores))
    assert verdict.certainty > 3
    assert verdict.gain > 1


def test_a_background_does_not_blind_the_validator():
    y, x, z = (np.linspace(-1, 1, length) for length in (40, 36, 30))
    inside = (y[:, None, None] ** 2 + x[:, None] ** 2 + z**2) < 0.55
    truth = inside * (0.5 + 0.3 * np.cos(5 * y)[:, None, None] * np.cos(4 * x)[:, None])
    rng = np.random.default_rng(1)
    spots = rng.random(truth.shape)
    damaged = np.where(spots < 0.1, 0.0, np.where(spots > 0.9, 1.0, truth))
    observed = rng.random(truth.shape) < 0.5
    assert np.mean(truth == 0) > 0.75  # which a model of zeros finds exactly
    validator, _ = Validator.of(as_source(damaged, observed), int(observed.sum()), 0)
    noisy = decompose(truth + 0.02 * rng.standard_normal(truth.shape), 6, solver=ringlet.baselines.TRSVD()).ring
    zeros = [np.zeros((1, length, 1)) for length in truth.shape]
    verdict = validator.compare(validator.residuals(noisy.cores), validator.residuals(zeros))
    assert verdict.certainty > 3
    assert verdict.gain > 1
    assert error(decompose(damaged, mask=observed), truth) < 0.33


def test_what_is_smaller_than_the_precision_of_data_makes_no_difference_to_the_validator():
    truth = waves()
    validator = Validator.of(as_source(truth), truth.size, 0)[0].scaled(1.0, 1.0, np.dtype("f8"))
    noise = np.random.default_rng(0).standard_normal(validator.size)
    fine, finer, coarse = (validator.compare(size * noise, 1e-7 * noise) for size in (2e-7, 1e-9, 1e-3))
    assert abs(fine.gain) < 0.05
    assert abs(finer.gain) < 0.05
    assert max(fine.doubt, finer.doubt) < 0.05
    assert coarse.gain < -10
    assert validator.error(0 * noise) == pytest.approx(1e-5)


def test_entries_far_from_zero_are_validated_in_their_range():
    """Of many ranges from zero: only values beyond that are cut off."""
    level = 1e13
    x = np.array([[level, level + 1], [level + 2, level + 3]]).repeat(20, 0).repeat(20, 1)
    validator = Validator.of(as_source(x), x.size, 0)[0].scaled(3.0, level / 3, np.dtype("f8"))
    near = [np.full((1, 40, 1), level / 3), np.ones((1, 40, 1))]
    assert np.abs(validator.residuals(near)).max() <= 1.01


@pytest.mark.parametrize(
    ("pattern", "share", "besides", "expected"),
    [
        ((60, 50, 3), 0.5, 0.0, ()),
        ((60, 50, 3), 0.9, 0.0, ()),  # by chance three quarters of the pixels are missing whole
        ((60, 50, 1), 0.5, 0.0, (2,)),
        ((60, 50, 1), 0.5, 0.1, (2,)),  # and single entries, such as black ones where black means missing
        ((60, 50, 1), 0.05, 0.5, ()),
        ((60, 1, 1), 0.5, 0.0, (2,)),  # two modes have to be left
        ((1, 1, 1), 0.0, 0.0, ()),
    ],
)
def test_held_out_entries_are_missing_as_the_others(pattern, share, besides, expected):
    shape = (60, 50, 3)
    rng = np.random.default_rng(0)
    observed = (rng.random(pattern) >= share) & (rng.random(shape) >= besides)
    _, mask = Validator.of(as_source(rng.random(shape), observed), int(observed.sum()), 0)
    assert mask.together == expected


def test_a_single_missing_entry_does_not_change_how_pixels_are_validated():
    x, rng = photo(), np.random.default_rng(0)
    observed = np.repeat(rng.random((*x.shape[:2], 1)) < 0.6, 3, axis=2)
    damaged = np.where(rng.random((*x.shape[:2], 1)) < 0.1, 1.0, x)  # white pixels
    errors = []
    for also_missing in (0, 1):
        observed.flat[np.flatnonzero(observed)[:also_missing]] = False
        errors.append(np.std(np.asarray(decompose(damaged, mask=observed).ring) - x))
    assert errors[1] < 1.1 * errors[0] < 0.06


def test_pixels_held_out_together_stand_for_the_missing_share():
    rng = np.random.default_rng(0)
    shape = (90, 80, 3)
    observed = np.broadcast_to(rng.random((90, 80, 1)) < 0.4, shape)
    x = rng.standard_normal(shape)
    validator, mask = Validator.of(as_source(x, observed), int(observed.sum()), 0)
    held = mask.drawn(WHOLE, (0, 1, 2)) & observed
    together = mask.drawn_together(WHOLE, (0, 1, 2))[held]
    residuals = np.where(together, 0.2, 0.1)
    missing = 1 - observed.mean()
    near = np.exp(-0.5 * (residuals / 0.3) ** 2)  # the widest kernel
    share = np.where(together, missing / together.sum(), (1 - missing) / (~together).sum())
    expected = np.sqrt(np.sum(share * near * residuals**2) / np.sum(share * near))
    assert validator.error(residuals) == pytest.approx(expected, rel=1e-6)


def test_missing_pixels_are_not_overfitted():
    x = photo(120)
    observed = np.broadcast_to(np.random.default_rng(0).random((*x.shape[:2], 1)) < 0.3, x.shape)
    together = np.asarray(decompose(x, mask=observed).ring) - x
    single = np.asarray(tuned(x, mask=observed, policy=TuningPolicy(holds_out_together=False)).ring) - x
    assert np.std(together[~observed]) < 0.75 * np.std(single[~observed])


def doubting(share):
    """A validator, weights of which a share is tiny, and which held-out entries have those."""
    values = np.random.default_rng(1).random((40, 30, 20))
    validator = Validator.of(as_source(values), values.size, 0)[0].scaled(1.0, 1.0, np.dtype("f8"))
    doubted = values < share
    found = (
        validator.residuals([np.zeros((1, length, 1)) for length in values.shape]) < share
    )  # values less a zero ring
    weights = np.where(doubted, 1e-6, 1.0).astype(np.float32)
    return validator, lambda index: weights[np.ix_(*index)], found


@pytest.mark.parametrize("share", [0.05, 0.15])
def test_giving_in_to_errors_of_one_sign_foretells_none_of_them(share):
    """A ring of all entries is nearer to wrong ones that are all too large, and farther from all others."""
    validator, weights, doubted = doubting(share)
    without = 0.01 * np.random.default_rng(2).standard_normal(validator.size) + 0.25 * doubted
    given_in = without - doubted.mean() * 0.25
    assert doubted.sum() > 30
    assert np.mean(given_in**2) < np.mean(without**2)  # it looks better
    assert validator.certainty_with_doubted(given_in, without, weights) < -3


def test_what_a_ring_learns_of_doubted_entries_counts():
    validator, weights, doubted = doubting(0.1)
    rng = np.random.default_rng(2)
    noise = 0.01 * rng.standard_normal(validator.size)
    without = noise + 0.25 * doubted * rng.choice([-1, 1], validator.size)
    assert validator.certainty_with_doubted(np.where(doubted, without / 2, without), without, weights) > 3
