"""Judging by itself: against plain sums in float64, in blocks, with threads, and where data are unusual."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest

from ringlet.local.judgement import prediction_errors
from ringlet.local.judging import JUDGING_HALO, judge_entries, judge_sample
from ringlet.local.layout import Layout
from ringlet.local.model import learn
from ringlet.local.modes import NeighbourModes
from ringlet.local.neighbours import neighbour_predictions
from ringlet.local.window import Entries


def wave(*shape):
    """A smooth array with values from 0.2 to 0.8."""
    phases = sum(np.ogrid[tuple(slice(n) for n in shape)][mode] / (7 + mode) for mode in range(len(shape)))
    return 0.5 + 0.3 * np.sin(phases)


def hit(truth, share=0.15, seed=1):
    rng = np.random.default_rng(seed)
    wrong = rng.random(truth.shape) < share
    return np.where(wrong, rng.integers(0, 2, truth.shape), truth), wrong


def hats(values, mode, distance):
    """The filter (1, 2, 1) / 4 as a matrix: nothing is known outside the array."""
    length = values.shape[mode]
    offsets = np.abs(np.subtract.outer(np.arange(length), np.arange(length)))
    matrix = 0.5 * (offsets == 0) + 0.25 * (offsets == distance)
    return np.moveaxis(np.tensordot(matrix, values, (1, mode)), 0, mode)


def one_left_out(residuals, weights, modes, level, place):
    """Mean around one entry when its own weight is 0, by matrices in float64."""
    known = weights.astype(np.float64)
    known[place] = 0
    total, mass = known * residuals, known
    for step, mode in product(range(level + 1), modes):
        total, mass = hats(total, mode, 2**step), hats(mass, mode, 2**step)
    rest = 1 - 0.5 ** ((level + 1) * len(modes))
    return total[place] / (mass[place] + 0.02 * rest)


@pytest.mark.parametrize(("shape", "ordered"), [((9, 11), (0, 1)), ((3, 2, 7), (2,)), ((5, 6, 1, 7), (0, 1, 3))])
def test_every_entry_is_left_out_of_its_own_mean_at_borders_too(shape, ordered):
    rng = np.random.default_rng(0)
    residuals, weights = rng.standard_normal(shape).astype(np.float32), rng.random(shape).astype(np.float32)
    said = neighbour_predictions(residuals, weights, NeighbourModes(ordered, ()), levels=3)
    for level, place in product(range(3), np.ndindex(shape)):
        assert said.columns[level][place] == pytest.approx(
            one_left_out(residuals, weights, ordered, level, place), abs=2e-4
        )


@pytest.mark.parametrize(
    ("shape", "modes"),
    [
        ((70, 600, 3), NeighbourModes((0, 1), (2,))),
        ((4, 90, 30), NeighbourModes((1,), (2,))),
        ((6, 5), NeighbourModes((), ())),
    ],
)
def test_tiles_cover_an_array_once_and_their_core_is_where_they_say(shape, modes):
    layout = Layout.of(shape, modes)
    array = np.random.default_rng(0).random(layout.shape)
    seen = np.zeros(layout.shape, int)
    for tile in layout.tiles(7, entries=2000, shortest=8):
        seen[tile.inner] += 1
        np.testing.assert_array_equal(array[tile.outer][tile.core], array[tile.inner])
    assert np.all(seen == 1)
    original = np.random.default_rng(1).random(shape)
    np.testing.assert_array_equal(layout.restored(layout.arranged(original)), original)


def test_a_block_with_its_halo_is_judged_as_in_the_whole():
    truth = wave(2 * JUDGING_HALO + 40, 30, 3)
    values, _ = hit(truth)
    ring = 0.5 * truth + 0.25
    model, (weights,) = judge_entries([Entries(values, None, ring)])
    rows = slice(10, 2 * JUDGING_HALO + 30)
    part = model.apply(Entries(values[rows], None, ring[rows]))
    inner = slice(JUDGING_HALO, -JUDGING_HALO)
    np.testing.assert_allclose(part[inner], weights[rows][inner], atol=1e-4)


def test_the_model_repeats_what_it_learned_from():
    truth = wave(60, 50, 3)
    entries = Entries(hit(truth)[0], None, 0.5 * truth + 0.25)
    model, (weights,) = judge_entries([entries])
    np.testing.assert_array_equal(model.apply(entries), weights)


def test_weights_are_those_of_restoring():
    truth = wave(60, 50, 3)
    entries = Entries(hit(truth)[0], None, 0.5 * truth + 0.25)
    _, (weights,) = judge_entries([entries], seed=4)
    _, (clean,) = learn([entries], seed=4)
    np.testing.assert_array_equal(clean.weights, weights)


def test_what_was_judged_before_is_restored_alike():
    truth = wave(60, 50, 3)
    unseen = np.random.default_rng(3).random(truth.shape) < 0.1
    entries = Entries(hit(truth)[0], None, 0.5 * truth + 0.25, unseen)
    judged = judge_sample([entries], seed=4).without_windows()
    assert judged.windows == []
    (again,), (before,) = (learn([entries], seed=4, judged=given)[1] for given in (None, judged))
    np.testing.assert_array_equal(before.predicted, again.predicted)
    np.testing.assert_array_equal(before.shares, again.shares)
    np.testing.assert_array_equal(before.weights, again.weights)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_far_beyond_a_limit_have_no_weight_at_all(dtype):
    """Also a tiny weight of a huge value would be seen in what is restored."""
    truth = wave(60, 50, 3).astype(dtype)
    values = truth.copy()
    values[::9, ::8] = 1e30
    _, (weights,) = judge_entries([Entries(values, None, 0.5 * truth + 0.25)])
    assert np.all(weights[::9, ::8] == 0)
    assert np.mean(weights > 0.5) > 0.9


def test_threads_change_no_bit():
    truth = wave(150, 600, 3)
    entries = Entries(hit(truth)[0], np.random.default_rng(2).random(truth.shape) < 0.7, 0.5 * truth + 0.25)
    _, (alone,) = learn([entries])
    with ThreadPoolExecutor(3) as pool:
        _, (together,) = learn([entries], mapper=pool.map)
    np.testing.assert_array_equal(together.weights, alone.weights)
    np.testing.assert_array_equal(together.predicted, alone.predicted)
    np.testing.assert_array_equal(together.shares, alone.shares)


@pytest.mark.parametrize("shape", [(40, 50), (30, 20, 3), (12, 11, 10, 3), (8, 7, 6, 5, 2), (6, 5, 6, 3, 2, 2)])
def test_any_order_of_tensors(shape):
    truth = wave(*shape)
    values, wrong = hit(truth)
    _, (clean,) = learn([Entries(values, None, 0.7 * truth + 0.15)])
    assert clean.weights.shape == clean.predicted.shape == shape
    assert np.mean(clean.weights[wrong] < 0.5) > 0.8
    assert np.mean(clean.weights[~wrong] > 0.5) > 0.9


@pytest.mark.parametrize("shape", [(1, 60, 40), (60, 1, 40, 1), (1, 1)])
def test_modes_of_length_one(shape):
    truth = wave(*shape)
    _, (clean,) = learn([Entries(truth, None, 0.7 * truth + 0.15)])
    assert np.all(np.isfinite(clean.predicted + clean.weights))


def test_a_block_may_be_one_entry_long():
    truth = wave(60, 50, 3)
    values, _ = hit(truth)
    model, _ = learn([Entries(values, None, 0.5 * truth + 0.25)])
    for part in (np.s_[:1], np.s_[:1, :1], np.s_[:, :1]):
        clean = model.apply(Entries(values[part], None, truth[part]))
        assert np.all(np.isfinite(clean.predicted + clean.shares))


def test_one_observed_entry():
    truth = wave(20, 15, 3)
    observed = np.zeros(truth.shape, bool)
    observed[3, 4, 1] = True
    _, (clean,) = learn([Entries(truth, observed, truth)])
    assert np.all(clean.weights[~observed] == 0)
    np.testing.assert_allclose(clean.predicted, truth, atol=1e-3)


def test_a_block_without_observed_entries_is_the_ring():
    truth = wave(60, 50, 3)
    values, _ = hit(truth)
    model, _ = learn([Entries(values, None, 0.5 * truth + 0.25)])
    clean = model.apply(Entries(np.full_like(truth, np.nan), np.zeros(truth.shape, bool), truth))
    assert np.all(clean.weights == 0)
    np.testing.assert_allclose(clean.predicted, truth, atol=0.05)


def test_what_is_not_observed_may_be_anything():
    truth = wave(50, 40, 3)
    values, _ = hit(truth)
    observed = np.random.default_rng(3).random(truth.shape) < 0.5
    strange = np.where(observed, values, np.random.default_rng(4).choice([np.nan, np.inf, -np.inf, 1e300], truth.shape))
    ring = 0.5 * truth + 0.25
    _, (one,) = learn([Entries(values, observed, ring)])
    _, (other,) = learn([Entries(strange, observed, ring)])
    np.testing.assert_array_equal(other.weights, one.weights)
    np.testing.assert_array_equal(other.predicted, one.predicted)


@pytest.mark.parametrize(
    ("size", "dtype"), [(1e30, "f4"), (1e-30, "f4"), (1e30, "f8"), (1e-30, "f8"), (1e200, "f8"), (1e-200, "f8")]
)
def test_any_size_of_numbers(size, dtype):
    truth = wave(50, 40, 3)
    values, wrong = hit(truth)
    _, (weights,) = judge_entries([Entries((values * size).astype(dtype), None, (0.5 * truth + 0.25) * size)])
    assert np.mean(weights[wrong] < 0.5) > 0.9
    assert np.mean(weights[~wrong] > 0.5) > 0.9


def test_sixteen_bits():
    truth = np.round(60_000 * wave(90, 80, 3)).astype(np.uint16)
    values = truth.copy()
    wrong = np.random.default_rng(5).random(truth.shape) < 0.1
    values[wrong] = 65_535
    assert np.unique(values).size > 1024
    _, (weights,) = judge_entries([Entries(values, None, 0.5 * truth + 15_000)])
    assert np.mean(weights[wrong] < 0.5) > 0.95
    assert np.mean(weights[~wrong] > 0.5) > 0.95


def test_without_ordered_modes_only_ring_and_values_count():
    rng = np.random.default_rng(6)
    truth = rng.standard_normal((40, 35, 4))
    values = np.where(rng.random(truth.shape) < 0.1, 50.0, truth)
    model, (weights,) = judge_entries([Entries(values, None, truth)])
    assert model.modes.ordered == ()
    assert np.all(weights[values == 50] < 0.5)
    assert np.mean(weights[values != 50] > 0.5) > 0.95


def test_constant_data_are_trusted():
    x = np.full((20, 15, 3), 7.0)
    _, (weights,) = judge_entries([Entries(x, None, x)])
    assert np.all(weights > 0.5)


@pytest.mark.parametrize("levels", [2, 5, 12])
def test_few_distinct_values(levels):
    truth = np.round(wave(60, 50, 3) * (levels - 1)) / (levels - 1)
    model, (weights,) = judge_entries([Entries(truth, None, wave(60, 50, 3))])
    assert model.outliers.masses.size == np.unique(truth).size
    assert np.mean(weights > 0.5) > 0.9


def test_errors_of_unobserved_entries_are_zero():
    truth = wave(30, 40, 3)
    observed = np.random.default_rng(7).random(truth.shape) < 0.5
    model, _ = judge_entries([Entries(truth, observed, 0.5 * truth)])
    window = model.window(Entries(truth, observed, 0.5 * truth))
    errors = prediction_errors(window, model.trust(window), model.rounds[-1].stack, nearest=True)
    assert np.all(window.layout.restored(errors)[~observed] == 0)
    assert np.any(errors)


@pytest.mark.parametrize("first", [0, 1])
def test_gross_errors_are_found_whichever_third_of_the_columns_is_unknown(first):
    rng = np.random.default_rng(0)
    y, x = np.indices((512, 600))
    ring = np.sin(y / 20) + np.cos(x / 30)
    values = ring + 0.02 * np.sin(y / 7) * np.cos(x / 9) + 0.01 * rng.standard_normal(ring.shape)
    wrong = rng.random(ring.shape) < 0.3
    values[wrong] = rng.uniform(-20, 20, wrong.sum())
    known = np.ones(ring.shape, bool)
    known[:, first::3] = False
    _, (weights,) = judge_entries([Entries(values, known, ring)])
    assert np.mean(weights[wrong & known] < 0.5) > 0.98
