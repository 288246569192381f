"""The progress line: phases, sweeps, and a time left that agrees with what fits really take."""

import re

import numpy as np

import ringlet
from ringlet.results.progress import ProgressLine

MOST_SWEEPS = ringlet.AWRTRD().sweeps
SECONDS = 10.0  # of a sweep, as the line is told; clocks do not matter here


def smooth(noise):
    i, j, k = np.ogrid[:30, :24, :10]
    exact = np.sin(i / 6) * np.cos(j / 5) + 0.1 * k * np.cos(i / 9)
    return exact + noise * np.random.default_rng(0).standard_normal(exact.shape)


def with_gaps(x):
    return np.where(np.random.default_rng(1).random(x.shape) < 0.4, np.nan, x)


def with_outliers(x):
    return np.where(np.random.default_rng(2).random(x.shape) < 0.1, 5.0, x)


def seconds_left(words):
    return float(re.search(r"about (\d+) s left", words)[1])


def shown(history, sweeps):
    """What the line says after each sweep of a fit whose sweeps took the same time."""
    words = []
    line = ProgressLine(None, words.append)
    for record in history:
        line.sweep(record.sweep, sweeps, SECONDS, record.change)
    return words


def test_the_time_left_of_automatic_fits_is_within_a_factor_of_two_when_a_third_is_done():
    ratios = []
    for x in (smooth(0.1), smooth(0.01), with_gaps(smooth(0.05)), with_outliers(smooth(0.02))):
        fit = ringlet.decompose(x)
        done = len(fit.history) // 3
        said = seconds_left(shown(fit.history, MOST_SWEEPS)[done - 1])
        ratios.append(said / (SECONDS * (len(fit.history) - done)))
    assert min(ratios) > 0.5
    assert max(ratios) < 2


def test_sweeps_that_take_longer_as_the_ring_grows_count_more_than_the_first():
    words = []
    line = ProgressLine(None, words.append)
    for number in range(1, 11):
        line.sweep(number, 80, 1.0 if number <= 5 else 4.0, 0.1)
    assert 2 * seconds_left(words[4]) < seconds_left(words[-1]) < 4 * seconds_left(words[4])


def test_the_last_sweep_allowed_leaves_nothing():
    words = []
    ProgressLine(None, words.append).sweep(30, 30, SECONDS, 0.1)
    assert seconds_left(words[-1]) == 0


def test_a_limit_of_time_is_the_most_that_is_left():
    words = []
    line = ProgressLine(None, words.append)
    line.sweep(1, 80, SECONDS, 0.1, limit=42.0)
    line.sweep(2, 80, SECONDS, 0.1, limit=-1.0)
    assert [seconds_left(one) for one in words] == [42, 0]


def test_a_fit_shows_its_last_sweep_on_standard_error(capsys):
    ringlet.decompose(smooth(0.1), 2, sweeps=2, tol=0, progress=True)
    assert "sweep 2 of at most 2" in capsys.readouterr().err
