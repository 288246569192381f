"""A sensor log with gaps and gross errors, filled by a ring and by interpolation."""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ringlet.api import decompose
from ringlet.cli.demonstration.fitting import uninterrupted
from ringlet.report.style import INK, dress, new_figure
from ringlet.results.fit import Fit
from ringlet.store.atomic import atomic_output

__all__ = ["SensorLog", "draw_week", "fill_log", "fill_scores"]

Numbers = NDArray[np.float64]

_SHAPE = (24, 4, 7, 24)  # places, weeks, days, hours
_LOST_HOURS, _LOST_DAYS, _WRONG = 0.3, 0.1, 0.05
_BLUE, _ORANGE, _GREY = "#1f6fb2", "#d97a17", "#8a8f98"


@dataclass(frozen=True, eq=False)
class SensorLog:
    """A log, what is true, and what was made of it."""

    truth: Numbers
    log: Numbers
    wrong: NDArray[np.bool_]
    linear: Numbers
    fit: Fit
    seconds: float

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Entries that are not in the log."""
        return np.isnan(self.log)

    @property
    def filled(self) -> Numbers:
        """The ring, dense."""
        return self.fit.tensor


def fill_log(seed: int) -> SensorLog:
    """Make a log, damage it and fill it."""
    truth = _counts(np.random.default_rng(seed))
    log, wrong = _damage(truth, np.random.default_rng([seed, 1]))
    start = perf_counter()
    fit = uninterrupted(decompose(log, seed=seed, progress=True))
    return SensorLog(truth, log, wrong, _interpolated(log), fit, perf_counter() - start)


def fill_scores(made: SensorLog) -> dict[str, float]:
    """Root mean square errors at the missing entries."""
    estimates = {"interpolation": made.linear, "Ringlet": made.filled}
    return {name: _error(estimate, made) for name, estimate in estimates.items()}


def _error(estimate: Numbers, made: SensorLog) -> float:
    return float(np.sqrt(np.mean((estimate - made.truth)[made.missing] ** 2)))


def _counts(rng: np.random.Generator) -> Numbers:
    """Counts of passers-by: commuters on workdays, walkers by the weather."""
    places, weeks, days, hours = _SHAPE
    hour = np.arange(hours)
    commute = np.exp(-0.5 * ((hour - 8) / 1.5) ** 2) + np.exp(-0.5 * ((hour - 17) / 2) ** 2)
    walk = np.exp(-0.5 * ((hour - 14) / 3) ** 2)
    workday = np.array([1, 1, 1, 1, 0.9, 0.25, 0.15])[:, None]
    weather = 1 + 0.25 * rng.standard_normal((weeks, days, 1))
    size, commuters = rng.gamma(6, 20, (places, 1, 1, 1)), rng.random((places, 1, 1, 1))
    truth: Numbers = size * (0.1 + commuters * workday * commute + (1 - commuters) * weather * walk)
    return truth * (1 + 0.03 * rng.standard_normal(truth.shape))


def _damage(truth: Numbers, rng: np.random.Generator) -> tuple[Numbers, NDArray[np.bool_]]:
    """Lose hours and whole days, and ruin some of the rest; also say which are ruined."""
    lost = (rng.random(truth.shape) < _LOST_HOURS) | (rng.random((*truth.shape[:-1], 1)) < _LOST_DAYS)
    ruined = ~lost & (rng.random(truth.shape) < _WRONG)
    values = np.where(ruined, rng.uniform(0, 2 * truth.max(), truth.shape), truth)
    return np.where(lost, np.nan, values), ruined


def _interpolated(log: Numbers) -> Numbers:
    """Straight lines through the gaps of every place."""
    series = log.reshape(len(log), -1)
    time = np.arange(series.shape[1])
    known = ~np.isnan(series)
    lines = [np.interp(time, time[there], values[there]) for values, there in zip(series, known, strict=True)]
    return np.array(lines).reshape(log.shape)


def draw_week(made: SensorLog, path: Path) -> None:
    """One week of the place that lost most: as it was logged, and as it was filled."""
    place, week = np.unravel_index(made.missing.sum((2, 3)).argmax(), _SHAPE[:2])
    figure = new_figure(8, 4.6)
    above, below = figure.subplots(2, 1, sharex=True, sharey=True)
    for axes in (above, below):
        dress(axes)
        axes.set_ylabel("counts")
    above.plot(made.log[place, week].ravel(), ".-", color=_GREY, linewidth=0.8, markersize=4)
    above.set_title("One place, one week, as it was logged", color=INK)
    below.plot(made.linear[place, week].ravel(), color=_ORANGE, linewidth=1, label="interpolation")
    below.plot(made.truth[place, week].ravel(), color=_GREY, linewidth=3, alpha=0.5, label="truth")
    below.plot(made.filled[place, week].ravel(), color=_BLUE, linewidth=1.4, label="Ringlet")
    below.set_ylim(0, 1.6 * made.truth[place, week].max())
    below.set_title("Filled", color=INK)
    below.set_xticks(range(0, made.truth[place, week].size + 1, 24))
    below.set_xlabel("hour of the week")
    below.legend(frameon=False, ncols=3, labelcolor=INK)
    with atomic_output(path) as temporary:
        figure.savefig(temporary, format="png", dpi=110)
