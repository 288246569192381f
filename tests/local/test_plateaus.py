"""Scattered entries and areas: frequent values of a picture are not taken for errors."""

import numpy as np
import pytest

from ringlet.local.judging import JUDGING_HALO, judge_entries
from ringlet.local.outlier_model import outliers_of_values
from ringlet.local.plateaus import counted_around, least_neighbour_share, only_scattered
from ringlet.local.window import Entries


def neighbour_share(marked, observed, mode):
    """The share of neighbours that are marked, entry by entry."""
    same = pairs = 0
    for place in np.argwhere(marked & observed):
        for step in (-1, 1):
            other = place.copy()
            other[mode] += step
            if 0 <= other[mode] < marked.shape[mode] and observed[tuple(other)]:
                pairs += 1
                same += marked[tuple(other)]
    return same / pairs


def test_marked_neighbours_are_counted_among_observed_neighbours():
    rng = np.random.default_rng(0)
    marked, observed = rng.random((12, 15, 4)) < 0.3, rng.random((12, 15, 4)) < 0.7
    expected = min(neighbour_share(marked, observed, mode) for mode in range(3))
    assert least_neighbour_share([(marked, observed)], range(3)) == pytest.approx(expected)


def test_few_neighbours_tell_nothing():
    marked = np.zeros((50, 50), bool)
    marked[3, 4:9] = True
    assert least_neighbour_share([(marked, None)], (0, 1)) == 0.0


def test_only_the_scattered_part_of_a_value_is_taken_for_wrong():
    rng = np.random.default_rng(1)
    values = rng.integers(20, 230, (120, 150))
    values[20:70, 30:90] = 255  # a white area, a sixth of the picture
    salt = rng.random(values.shape) < 0.1
    values[salt] = 255
    first = outliers_of_values(values.ravel())
    then = only_scattered(first, [Entries(values, None, values)])
    assert first.masses[-1] > 0.23
    assert then.masses[-1] == pytest.approx(0.1, abs=0.02)


def test_rows_of_one_value_are_still_suspicious():
    """They lie side by side along one mode, but not along the other."""
    values = np.random.default_rng(2).integers(20, 230, (120, 150))
    values[[10, 40, 77]] = 100
    then = only_scattered(outliers_of_values(values.ravel()), [Entries(values, None, values)])
    assert then.atoms[np.searchsorted(then.edges, 100) - 1]


def test_a_fill_value_is_wrong_wherever_it_lies():
    values = np.random.default_rng(3).integers(20, 230, (120, 150))
    values[20:70, 30:60] = -9999
    then = only_scattered(outliers_of_values(values.ravel()), [Entries(values, None, values)])
    assert then.atoms[0]
    assert then.masses[0] > 0.8 * 50 * 30 / values.size


def test_a_map_of_few_values_is_believed():
    """Areas of equal values, as in a map of classes; one entry in twenty is wrong."""
    rng = np.random.default_rng(4)
    truth = np.kron(rng.integers(0, 6, (8, 9)) * 40, np.ones((15, 15), int))
    wrong = rng.random(truth.shape) < 0.05
    data = np.where(wrong, rng.integers(0, 200, truth.shape), truth)
    _, (weights,) = judge_entries([Entries(data, None, np.full(truth.shape, truth.mean()))])
    right = ~wrong
    assert np.mean(weights[right] > 0.5) > 0.85


def test_small_objects_are_believed_and_scattered_errors_are_not():
    rng = np.random.default_rng(2)
    rows, columns = np.mgrid[:120, :150]
    background = 100 + 80 * np.sin(rows / 30) * np.cos(columns / 25)
    noise = rng.normal(0, 1, background.shape)
    objects, errors = np.zeros(background.shape, bool), rng.random(background.shape) < 0.03
    for row, column in zip(rng.integers(0, 118, 60), rng.integers(0, 148, 60), strict=True):
        objects[row : row + 2, column : column + 2] = True
    for damaged, right in ((objects, True), (errors, False)):
        picture = np.where(damaged, 200 - background, background) + noise
        clear = damaged & (np.abs(picture - background) > 20)
        model, (weights,) = judge_entries([Entries(picture, None, background)])
        assert (model.structure is not None) == right
        assert np.mean((weights[clear] > 0.5) == right) > 0.98
        part = model.apply(Entries(picture[:80], None, background[:80]))  # away from the part's border as in the whole
        assert np.mean((part[:40] > 0.5) == (weights[:40] > 0.5)) > 0.999


def flat_picture():
    """Patches of few colours on black, in red, green, blue and alpha."""
    rng = np.random.default_rng(5)
    colours = np.array([(0, 0, 0, 0), (8, 223, 28, 255), (106, 240, 42, 255), (190, 255, 34, 255)], np.uint8)
    return np.kron(colours[rng.integers(0, 4, (4, 5))], np.ones((30, 30, 1), np.uint8))


def salted(picture, rng):
    """A fifth of the entries are black or white; which of them are wrong."""
    data, hit = picture.copy(), rng.random(picture.shape) < 0.2
    data[hit] = np.where(rng.random(int(hit.sum())) < 0.5, 0, 255)
    return data, data != picture


def test_areas_of_one_value_in_one_channel_are_believed_and_salt_is_not():
    """A third of the entries are black, of which most are right."""
    picture = flat_picture()
    data, wrong = salted(picture, np.random.default_rng(5))
    ring = np.broadcast_to(picture.mean((0, 1)), picture.shape)
    _, (weights,) = judge_entries([Entries(data, None, ring)])
    assert np.mean(weights[wrong] < 0.5) > 0.9
    assert np.mean(weights[~wrong] > 0.5) > 0.95


def test_a_part_of_a_picture_is_judged_like_the_whole():
    picture = np.concatenate([flat_picture(), flat_picture()[::-1]])
    data, _ = salted(picture, np.random.default_rng(6))
    ring = np.broadcast_to(picture.mean((0, 1)), picture.shape).copy()
    model, _ = judge_entries([Entries(data, None, ring)])
    whole = model.apply(Entries(data, None, ring))
    part = model.apply(Entries(data[: JUDGING_HALO + 60], None, ring[: JUDGING_HALO + 60]))
    assert np.array_equal(part[:60], whole[:60])


def test_neighbours_are_counted_in_a_window():
    marked = np.random.default_rng(7).random((9, 3, 8)) < 0.4
    padded = np.pad(marked, ((2, 2), (0, 0), (2, 2)))
    expected = sum(padded[i : i + 9, :, j : j + 8].astype(int) for i in range(5) for j in range(5)) - marked
    assert np.array_equal(counted_around(marked, (0, 2)), expected)


def test_neighbours_along_many_modes_are_counted_along_four():
    """Along seven there would be more than 16 bits hold, and a table of their numbers of gigabytes."""
    marked = np.random.default_rng(8).random((5,) * 7) < 0.4
    counted = counted_around(marked, range(7))
    assert np.array_equal(counted, counted_around(marked, range(4)))
    assert counted_around(np.ones_like(marked), range(7)).max() == 5**4 - 1
