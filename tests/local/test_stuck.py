"""Stuck detectors and dead rows are found by their runs; plateaus that belong to the data are believed."""

import numpy as np
import pytest

from ringlet import decompose
from ringlet.local.stuck import stuck_entries, without_stuck


def log(seed=0, sensors=20, days=28, hours=24):
    """Readings of sensors with a daily pattern and noise."""
    rng = np.random.default_rng(seed)
    sensor, day, hour = np.ogrid[:sensors, :days, :hours]
    truth = 10 + sensor + (3 + np.sin(day / 4)) * np.sin((hour - 9) / 12 * np.pi)
    return truth + 0.3 * rng.standard_normal(truth.shape)


def photo(rows=80, columns=120, seed=0):
    """Whole numbers without any structure but a gradient."""
    rng = np.random.default_rng(seed)
    return np.clip(np.add.outer(np.arange(rows), np.arange(columns)) + rng.integers(0, 9, (rows, columns)), 0, 255)


def marked(x, *where):
    result = np.zeros(x.shape, bool)
    for one in where:
        result[one] = True
    return result


@pytest.mark.parametrize("digits", [None, 1])
@pytest.mark.parametrize("days", [slice(8, 9), slice(8, 20), slice(4, 28)])
def test_stuck_sensors_are_found(days, digits):
    x = log()
    x[3, days], x[11, 2:7, 5:] = 14.0, 0.0
    x = x if digits is None else x.round(digits)
    np.testing.assert_array_equal(stuck_entries(x), marked(x, (3, days), (11, slice(2, 7), slice(5, None))))


def test_a_run_goes_on_across_missing_entries():
    x, known = log(), np.random.default_rng(1).random((20, 28, 24)) < 0.5
    x[3, 8:20] = 14.0
    np.testing.assert_array_equal(stuck_entries(x, known) & known, marked(x, (3, slice(8, 20))) & known)
    np.testing.assert_array_equal(without_stuck(x, known), known & ~marked(x, (3, slice(8, 20))))


@pytest.mark.parametrize("width", [1, 2])
def test_dead_rows_and_scratches_are_found(width):
    x = photo()
    x[40 : 40 + width], x[5:60, 70 : 70 + width] = 0, 255
    expected = marked(x, slice(40, 40 + width), (slice(5, 60), slice(70, 70 + width)))
    found = stuck_entries(x)
    assert found[expected].mean() > 0.95  # where lines cross, one of them is cut
    assert not found[~expected].any()


def test_a_scratch_in_one_frame_is_found():
    x = np.stack([photo(seed=seed) for seed in range(10)], axis=-1)
    x[10:70, 33, 4] = 250
    np.testing.assert_array_equal(stuck_entries(x), marked(x, (slice(10, 70), 33, 4)))


@pytest.mark.parametrize("value", [0, 255])
def test_lost_frames_are_found_but_not_a_black_lead(value):
    x = np.stack([np.roll(photo(), 2 * place, axis=1) for place in range(24)], axis=-1)
    x[..., :2], x[..., 9] = 0, value
    x[3, 5, 9] = 100  # as in the frames beside it
    found, expected = stuck_entries(x), marked(x, (..., 9))
    expected[3, 5, 9] = False
    np.testing.assert_array_equal(found, expected)


def test_other_wrong_entries_of_a_lost_row_are_lost_with_it():
    """A ring would describe the row by these few."""
    x, rng = photo().astype(float), np.random.default_rng(2)
    x[30], x[30, [7, 50, 51]] = 0, 900
    assert stuck_entries(x)[30].all()
    truth = 1000 + 300 * np.sin(np.arange(60) / 9)[:, None, None] * np.cos(np.arange(50) / 8)[:, None] + np.zeros(6)
    log = truth + rng.normal(0, 5, truth.shape)
    gross = rng.random(truth.shape) < 0.01
    log[25] = 0
    log[gross] = rng.choice([0.0, 3000.0], gross.sum())
    assert np.abs(decompose(log).restored()[25] - truth[25]).max() < 20


def test_frames_with_few_known_entries_are_not_lost():
    x = np.stack([photo(seed=place) + place for place in range(24)], axis=-1)
    known = np.ones(x.shape, bool)
    known[..., 9] = False
    known[20, 30, 9] = True
    assert not stuck_entries(x, known).any()


@pytest.mark.parametrize("columns", [2, 3, 6])
def test_equal_counts_in_the_rows_of_a_narrow_table_are_right(columns):
    rng = np.random.default_rng(0)
    level = 20 + rng.normal(0, 0.3, (1000, 1)).cumsum(0)
    assert not stuck_entries(np.rint(level + rng.normal(0, 1.2, (1000, columns))).astype(int)).any()


def test_slow_sensors_that_all_read_the_same_are_right():
    rng = np.random.default_rng(0)
    assert not stuck_entries(np.rint(20 + rng.normal(0, 0.02, (16, 1000)).cumsum(1)).astype(int)).any()


def quiet_at_night():
    """Counts of large and small stations, none at night."""
    rng = np.random.default_rng(2)
    hours = np.maximum(np.sin(np.arange(48) / 24 * np.pi - 1), 0)
    return rng.poisson(np.exp(rng.uniform(-4, 4, (60, 1, 1))) * hours * np.ones((30, 1)))


def rain():
    rng = np.random.default_rng(3)
    wet = (rng.random((1, 400)) < 0.3) & (rng.random((30, 400)) < rng.uniform(0.1, 1, (30, 1)))
    return (wet * rng.gamma(1, 4, wet.shape)).round(1)


def flat_sky():
    x = photo()
    x[:12, 10:90] = 250
    return x


def set_points():
    """Two of twelve channels are switched now and then."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal((12, 900))
    x[:2] = np.cumsum(rng.random((2, 900)) < 0.02, axis=1) % 5
    return x


def constants_in_a_table():
    """By sensor, time and variable; a variable that does not change with time, and a sensor that reads nothing."""
    x = np.random.default_rng(5).standard_normal((15, 60, 9))
    x[..., 2] = np.arange(15)[:, None]
    x[7] = 0
    return x


def labels():
    return np.kron(np.random.default_rng(6).integers(0, 9, (10, 12)), np.ones((20, 20), int))


@pytest.mark.parametrize(
    "data",
    [log, photo, quiet_at_night, rain, flat_sky, set_points, constants_in_a_table, labels],
    ids=lambda f: f.__name__,
)
def test_plateaus_of_the_data_are_believed(data):
    assert not stuck_entries(data()).any()


def test_a_stuck_sensor_among_plateaus_is_found():
    x = quiet_at_night()
    big = int(np.argmax(x.sum((1, 2))))
    x[big, 5:25] = 37
    found, expected = stuck_entries(x), marked(x, (big, slice(5, 25)))
    assert found[expected].all()
    assert found[~expected].mean() < 1e-3  # zeros of small stations in the evening


@pytest.mark.parametrize("shape", [(), (0, 4), (1,), (3, 3), (1, 40, 1), (9, 40)])
def test_any_shape_and_constant_data(shape):
    assert not stuck_entries(np.zeros(shape)).any()
    assert not stuck_entries(np.zeros(shape), np.zeros(shape, bool)).any()


def test_the_answer_does_not_depend_on_origin_and_unit():
    x = log()
    x[3, 8:20] = 14.0
    np.testing.assert_array_equal(stuck_entries(-1e300 * x), stuck_entries(x))


def test_many_dead_rows_of_a_picture_are_found():
    """A sixth of the rows are black: more than a tenth, less than a quarter."""
    rows, columns = np.mgrid[:90, :80]
    picture = (120 + 60 * np.sin(rows / 15) + 40 * np.cos(columns / 11)).round().astype(np.uint8)
    dead = np.random.default_rng(3).permutation(np.arange(1, 89))[:15]
    picture[dead] = 0
    found = stuck_entries(picture)
    assert found[dead].all()
    assert np.count_nonzero(found) == 15 * 80


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e-300, 1e160, 1e300])
def test_lost_rows_of_huge_and_tiny_values_are_found(unit):
    x = photo().astype(float)
    x[30] = 0
    found = stuck_entries(unit * x)
    assert found[30].all()
    np.testing.assert_array_equal(found, stuck_entries(x))
