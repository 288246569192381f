"""The progress line: phases, sweeps, and a time left that agrees with what fits really take."""

import re

import numpy as np

import ringlet
from ringlet.results.progress import ProgressLine
from ringlet.results.records import SweepReport

MOST_SWEEPS = ringlet.AWRTRD().sweeps
PLAIN = SweepReport(change=0.1, loss=1.0)
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
        line.sweep(record.sweep, sweeps, SECONDS, SweepReport(record.change, record.loss))
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
        line.sweep(number, 80, 1.0 if number <= 5 else 4.0, PLAIN)
    assert 2 * seconds_left(words[4]) < seconds_left(words[-1]) < 4 * seconds_left(words[4])


# Hundredths of seconds of all sweeps, measured: a part of a spectral cube, a log of car parks, and a photo.
GROWING = (
    [2, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 36, 1, 1, 1, 1, 2, 1, 1, 0, 29, 2, 1, 2, 1, 25, 2, 1, 34, 23, 2, 16, 1, 5, 2, 3],
    [1, 1, 1, 12, 1, 0, 1, 0, 1, 2, 1, 1, 0, 0, 0, 20, 0, 0, 16, 6, 2, 10, 18, 2, 1, 1, 1, 1, 1, 1, 3, 1, 1],
    [1, 1, 1, 0, 2, 2, 2, 1, 30, 1, 3, 1, 0, 2, 1, 1, 28, 1, 1, 61, 2, 2, 1, 2, 2, 3, 1, 1],
)


def test_the_time_left_while_rings_grow_is_no_fraction_of_what_is_left():
    growing = SweepReport(change=0.1, loss=1.0, growing=True, stage="ring 2: 300 numbers")
    for seconds in GROWING:
        words, done = [], len(seconds) // 2
        line = ProgressLine(None, words.append)
        for number, taken in enumerate(seconds[:done], 1):
            line.sweep(number, 80, taken, growing)
        assert 0.5 < seconds_left(words[-1]) / sum(seconds[done:]) < 4


def test_the_phases_before_the_first_sweep_are_named(monkeypatch):
    said = []
    monkeypatch.setattr(ProgressLine, "phase", lambda _, words: said.append(words))
    ringlet.decompose(smooth(0.1), sweeps=2, progress=True)
    assert said == ["reading the data", "looking for a start"]


def test_the_last_sweep_allowed_leaves_nothing():
    words = []
    ProgressLine(None, words.append).sweep(30, 30, SECONDS, PLAIN)
    assert seconds_left(words[-1]) == 0


def test_a_limit_of_time_is_the_most_that_is_left():
    words = []
    line = ProgressLine(None, words.append)
    line.sweep(1, 80, SECONDS, PLAIN, limit=42.0)
    line.sweep(2, 80, SECONDS, PLAIN, limit=-1.0)
    assert [seconds_left(one) for one in words] == [42, 0]


def test_a_fit_shows_its_last_sweep_on_standard_error(capsys):
    ringlet.decompose(smooth(0.1), 2, sweeps=2, tol=0, progress=True)
    assert "sweep 2 of at most 2" in capsys.readouterr().err
