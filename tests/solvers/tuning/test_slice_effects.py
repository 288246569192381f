"""Effects of slices are found, taken off data with outages, and added to the ring that is told."""

import numpy as np
import pytest
from tests.tuning_fits import bits, tuned

import ringlet
from ringlet.ring.evaluate import dense_block
from ringlet.solvers.base import Problem, first_look
from ringlet.solvers.rank_choice import RankChoice
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.slice_effects import SliceEffects, slice_effects
from ringlet.sources import as_source

WITHOUT = TuningPolicy(slice_effects=False)


def additive(shape=(19, 21, 22), seed=0):
    rng = np.random.default_rng(seed)
    return np.add.outer(np.add.outer(rng.normal(0, 9, shape[0]), rng.normal(size=shape[1])), rng.normal(size=shape[2]))


def log(seed=0, shape=(24, 30, 18)):
    """Counts of sensors by day and hour, and days of sensors that are known."""
    rng = np.random.default_rng(seed)
    hours = np.arange(shape[2])
    shapes = np.array([np.exp(-(((hours - peak) / 3.0) ** 2)) for peak in (4, 9, 13)])
    sensors, days = rng.lognormal(0, 0.7, (shape[0], 3)), rng.uniform(0.6, 1.4, (shape[1], 3))
    x = 40 + 100 * np.einsum("sr,dr,rh->sdh", sensors, days, shapes) + rng.normal(0, 3, shape)
    return x, np.broadcast_to(rng.random((*shape[:2], 1)) > 0.3, shape)


def problem(x, known=None, **more):
    source = as_source(x, known)
    return Problem(source, first_look(source, None), (1,) * x.ndim, 0, **{"choice": RankChoice(), **more})


def fibres(shape, seed=1):
    return np.broadcast_to(np.random.default_rng(seed).random((*shape[:-1], 1)) > 0.25, shape)


def everywhere(effects):
    return effects.at(tuple(slice(0, len(part)) for part in effects.parts))


def rms(x):
    return np.sqrt(np.mean(np.square(x)))


def test_effects_of_an_additive_tensor_are_the_tensor():
    x = additive()
    known = fibres(x.shape)
    np.testing.assert_allclose(everywhere(slice_effects(problem(np.where(known, x, np.nan)))), x, atol=1e-2)


def test_a_few_gross_errors_do_little():
    x = additive()
    known = fibres(x.shape)
    wrong = x.copy()
    wrong[np.random.default_rng(3).random(x.shape) < 0.05] = 1e9
    assert rms(everywhere(slice_effects(problem(wrong, known))) - x) < 0.5 * rms(x - x.mean())


@pytest.mark.parametrize(("factor", "offset"), [(-3.0, 0.0), (1e-3, 250.0)])
def test_effects_change_with_the_units(factor, offset):
    x, known = log()
    usual, other = (everywhere(slice_effects(problem(one, known))) for one in (x, factor * x + offset))
    np.testing.assert_allclose(other, factor * usual + offset, rtol=1e-9, atol=1e-9 * abs(factor) * np.ptp(x))


def test_where_single_entries_or_short_fibres_are_missing_there_are_none():
    x, _ = log()
    rng = np.random.default_rng(0)
    assert slice_effects(problem(x)) is None
    assert slice_effects(problem(x, rng.random(x.shape) > 0.3)) is None
    hole = np.ones(x.shape, bool)
    hole[4:16, 10:22] = False
    assert slice_effects(problem(x, hole)) is None
    boxes = fibres(x.shape) & hole
    boxes[:, :, 9:] = hole[:, :, 9:]
    assert slice_effects(problem(x, boxes)) is None
    picture = rng.random((30, 40, 3))
    assert slice_effects(problem(picture, fibres(picture.shape))) is None


def test_a_ring_of_a_given_size_or_start_has_no_room_for_them():
    x, known = log()
    choices = None, RankChoice(bytes=10_000), RankChoice(psnr=30.0), RankChoice(still=0)
    assert all(slice_effects(problem(x, known, choice=choice)) is None for choice in choices)
    start = ringlet.TensorRing([np.ones((1, length, 1)) for length in x.shape])
    assert slice_effects(problem(x, known, init=start)) is None
    assert slice_effects(problem(x, known), budget=10**5) is None
    assert slice_effects(problem(x, known), budget=10**8) is not None


def test_effects_are_added_to_a_ring():
    rng = np.random.default_rng(0)
    parts = tuple(rng.normal(size=length) for length in (4, 5, 6, 3))
    cores = [rng.normal(size=shape) for shape in ((2, 4, 3), (3, 5, 1), (1, 6, 2), (2, 3, 2))]
    found = dense_block(SliceEffects(parts).added_to(cores, 8.0))
    np.testing.assert_allclose(
        found, dense_block(cores) + everywhere(SliceEffects(parts)) / 8.0, rtol=1e-12, atol=1e-12
    )


def test_days_that_are_missing_whole_are_nearer():
    errors = []
    for seed in range(3):
        x, known = log(seed)
        data = np.where(known, x, np.nan)
        fits = (tuned(data, seed=seed, policy=policy) for policy in (TuningPolicy(), WITHOUT))
        errors.append([rms((np.asarray(fit.ring) - x)[~known]) for fit in fits])
    with_effects, without = np.mean(errors, axis=0)
    assert with_effects < 0.9 * without


def test_a_fit_tells_the_size_of_the_whole_ring():
    x, known = log()
    fit = tuned(np.where(known, x, np.nan))
    assert fit.path[-1].parameters == sum(
        length * before * after
        for length, before, after in zip(
            x.shape, fit.path[-1].rank, (*fit.path[-1].rank[1:], fit.path[-1].rank[0]), strict=True
        )
    )
    assert fit.ring.rank in [rung.rank for rung in fit.path] or fit.ring.parameters < fit.path[-1].parameters
    assert min(fit.ring.rank[1:]) >= 3
    np.testing.assert_allclose(fit.residuals()[known], (x - np.asarray(fit.ring))[known], rtol=1e-6, atol=1e-6)


def test_wrong_entries_that_share_a_value_are_found_as_without_effects():
    x, known = log()
    wrong = known & (np.random.default_rng(5).random(x.shape) < 0.05)
    data = np.where(wrong, -9999.0, np.where(known, x, np.nan))
    fit = tuned(data)
    assert np.mean(fit.weights()[wrong] < 0.5) > 0.99
    assert np.mean(fit.weights()[known & ~wrong] < 0.5) < 0.01


def test_bits_depend_neither_on_threads_nor_on_interruptions(tmp_path):
    x, known = log(shape=(16, 14, 12))
    data = np.where(known, x, np.nan)
    one, three = (ringlet.decompose(data, threads=threads) for threads in (1, 3))
    assert bits(one) == bits(three)
    ringlet.decompose(data, threads=1, checkpoint=tmp_path / "c", callback=lambda state: state.sweep == 9)
    assert bits(ringlet.decompose(data, threads=1, checkpoint=tmp_path / "c")) == bits(one)


def test_a_ring_with_effects_is_extended():
    x, known = log()
    data = np.where(known, x, np.nan)
    fit = ringlet.decompose(data[:, :24])
    grown = fit.extend(data[:, 24:], mode=1)
    seen = known[:, 24:]
    assert rms((np.asarray(grown.ring)[:, 24:] - x[:, 24:])[seen]) < 4 * rms(fit.residuals()[known[:, :24]])


def test_rings_with_effects_are_as_small_as_others():
    x, known = log()
    fit = ringlet.decompose(np.where(known, x, np.nan))
    assert fit.path[0].rank == (4, 5, 5)  # with effects
    assert sum(core.size for core in fit.ring.cores) <= x.size / 5
    assert max(rung.parameters for rung in fit.path) <= x.size / 5


def test_constant_rows_of_complete_data_are_no_outage():
    x = np.add.outer(np.sin(np.arange(60) / 9), np.cos(np.arange(80) / 7))[:, :, np.newaxis] * np.arange(1.0, 4.0)
    x[7, :, 2] = 0.0
    assert ringlet.decompose(x).path[0].rank == (3, 3, 3)
