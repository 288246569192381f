"""How time and memory of the decompositions, and of FGMC, grow with I, r, N and J, beside the paper's table.

Times are processor time of one sweep (of the whole method where there are none) on one thread, the least of several.
Memory is the peak of what NumPy allocates from the start of the method to the end of its first sweep, beside the data.
"""

import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from math import nan, sqrt
from pathlib import Path
from time import process_time
from typing import Any, ClassVar

import numpy as np

from ringlet.errors import ArgumentError
from ringlet.execution import Threads
from ringlet.experiments.isolated import Job
from ringlet.experiments.methods import DECOMPOSITIONS, METHODS, chosen_methods
from ringlet.ring import GramChain
from ringlet.solvers.base import IterativeSolver, Problem
from ringlet.sources import as_source, survey

__all__ = ["AXES", "FGMC", "GROWTH_METHODS", "PAPER", "Growth", "Series", "growth", "measure", "series"]

FGMC = "FGMC"
GROWTH_METHODS = (*DECOMPOSITIONS, FGMC)
AXES = ("I", "r", "N", "J")

_REPEATS = 5
_ENOUGH = 1.0  # seconds after which nothing is repeated
_OVERHEAD = 3e-3  # seconds below which the overhead of Python is visible
_ALIKE = 0.3  # exponents that are closer than this count as equal

# Sizes: all modes have length I, all bonds r, J is the number of samples, K what rTRALS leaves of a mode.
_BASE = {
    "I": {"r": 6, "N": 3, "J": 1000, "K": 40},
    "r": {"I": 144, "N": 3, "J": 2000, "K": 40},
    "N": {"I": 14, "r": 3, "J": 150, "K": 9},
    "J": {"I": 144, "r": 8, "N": 3, "K": 40},
}
_STEPS = {
    "I": (64, 96, 128, 192, 256),
    "r": (4, 6, 8, 10, 12),
    "N": (3, 4, 5, 6),
    "J": (1000, 2000, 4000, 8000, 16000),
}
_GRAM_BASE = {"I": {"r": 12, "N": 4}, "r": {"I": 64, "N": 4}, "N": {"I": 64, "r": 16}}
_GRAM_STEPS = {"I": (256, 512, 1024, 2048, 4096), "r": (8, 12, 16, 24, 32), "N": (3, 4, 6, 8, 12)}

Sizes = dict[str, int]


@dataclass(frozen=True)
class Growth:
    """Complexity of a method in the paper.

    Attributes
    ----------
    formula : str
    operations : callable
        The formula as a function of the sizes.
    exponents : dict
        Leading exponent along each axis; "exp" where growth is exponential.
    """

    formula: str
    operations: Callable[[Sizes], float]
    exponents: dict[str, str]


def _full(s: Sizes) -> float:
    return float(s["N"] * s["I"] ** s["N"] * s["r"] ** 4 + s["N"] * s["r"] ** 6)


PAPER = {
    "TRSVD": Growth(
        "I^(N+1) + I^N r^3",
        lambda s: s["I"] ** (s["N"] + 1) + s["I"] ** s["N"] * s["r"] ** 3,
        {"I": "N+1 = 4", "r": "3", "N": "exp"},
    ),
    "TRALS": Growth("N I^N r^4 + N r^6", _full, {"I": "N = 3", "r": "4 to 6", "N": "exp"}),
    "TRSVD-R": Growth("I^N r^2", lambda s: s["I"] ** s["N"] * s["r"] ** 2, {"I": "N = 3", "r": "2", "N": "exp"}),
    "rTRALS": Growth(
        "N K^N r^4 + N r^6",
        lambda s: _full(s | {"I": s["K"]}),
        {"I": "0", "r": "4 to 6", "N": "exp"},
    ),
    "TRALS-S": Growth(
        "N I J r^4 + N r^6",
        lambda s: s["N"] * s["I"] * s["J"] * s["r"] ** 4 + s["N"] * s["r"] ** 6,
        {"I": "1", "r": "4 to 6", "N": "1", "J": "1"},
    ),
    "AWRTRD": Growth("N I^N r^4 + N r^6", _full, {"I": "N = 3", "r": "4 to 6", "N": "exp"}),
    "SAWRTRD": Growth(
        "N I J r^2 + N^2 I r^4 + N r^6",
        lambda s: s["N"] * s["I"] * s["J"] * s["r"] ** 2 + s["N"] ** 2 * s["I"] * s["r"] ** 4 + s["N"] * s["r"] ** 6,
        {"I": "1", "r": "2 to 6", "N": "1 to 2", "J": "1"},
    ),
    FGMC: Growth(
        "N I r^4 + r^6",
        lambda s: s["N"] * s["I"] * s["r"] ** 4 + s["r"] ** 6,
        {"I": "1", "r": "4 to 6", "N": "1"},
    ),
}


@dataclass(frozen=True)
class Series:
    """A method measured at several sizes along one axis."""

    method: str
    axis: str

    job: ClassVar[Job] = "complexity"

    @property
    def points(self) -> list[Sizes]:
        """All sizes at every step."""
        base, steps = (_GRAM_BASE, _GRAM_STEPS) if self.method == FGMC else (_BASE, _STEPS)
        return [base[self.axis] | {self.axis: step} for step in steps[self.axis]]

    @property
    def identity(self) -> dict[str, Any]:
        """Identity of the series."""
        settings = {"sizes": [point[self.axis] for point in self.points]} | self.points[0]
        del settings[self.axis]
        return {
            "experiment": "complexity",
            "item": self.axis,
            "method": self.method,
            "run": 1,
            "settings": settings,
        }

    def argument(self, out: Path, budget: int) -> dict[str, Any]:  # noqa: ARG002 - sizes are small, and nothing is drawn
        """All that the measurement needs, for JSON."""
        return asdict(self)


def series(methods: Sequence[str] = (), axes: Sequence[str] = ()) -> list[Series]:
    """All series, or those of some methods and axes."""
    for axis in axes:
        if axis not in AXES:
            raise ArgumentError(f"items={axis!r} is not known in complexity; its items are the sizes {', '.join(AXES)}")
    names = chosen_methods(GROWTH_METHODS, methods) if methods else GROWTH_METHODS
    return [Series(name, axis) for axis in (axes or AXES) for name in names if axis in PAPER[name].exponents]


def measure(argument: dict[str, Any]) -> dict[str, Any]:
    """Measure a series, given as `Series.argument` has it."""
    given = Series(**argument)
    work = _gram if given.method == FGMC else _sweep
    found = [work(given.method, point) for point in given.points]
    seconds, memory = (list(column) for column in zip(*found, strict=True))
    return {"status": "ok", "seconds": seconds, "memory": memory}


def _sweep(name: str, sizes: Sizes) -> tuple[float, int]:
    method = METHODS[name]
    settings: dict[str, Any] = {"sweeps": 1 + _REPEATS, "tol": 0, "samples": sizes["J"], "sketch": sizes["K"]}
    solver = method.solver(settings, threads=1)
    shape, rank = (sizes["I"],) * sizes["N"], (sizes["r"],) * sizes["N"]
    source = as_source(np.random.default_rng(0).standard_normal(shape, np.float32), None)
    problem = Problem(source, survey(source), rank, 0)

    def first() -> None:
        with solver.start(problem) as run:
            tracemalloc.reset_peak()  # work before the first sweep is done once
            run.sweep(1)

    first()  # warms up
    if not isinstance(solver, IterativeSolver):
        return _least(first), _peak(first)
    with solver.start(problem) as run:
        run.sweep(1)
        numbers = count(2)
        seconds = _least(lambda: run.sweep(next(numbers)))
    return seconds, _peak(first)


def _gram(_name: str, sizes: Sizes) -> tuple[float, int]:
    rng = np.random.default_rng(0)
    shape = sizes["r"], sizes["I"], sizes["r"]
    cores = [rng.standard_normal(shape, np.float32) / sizes["I"] for _ in range(sizes["N"])]
    with Threads(1) as threads:

        def one() -> None:
            GramChain(cores, threads.run).without(0).dense(threads.run)

        one()
        return _least(one), _peak(one)


def _least(work: Callable[[], object]) -> float:
    times: list[float] = []
    while len(times) < _REPEATS and sum(times) < _ENOUGH:
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def _peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# Slopes.


@dataclass(frozen=True)
class Slope:
    """Slope of logarithms, and its 95 % confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class GrowthRow:
    """Measured growth of a method along an axis, and the paper's."""

    method: str
    axis: str
    formula: str
    paper: str
    paper_slope: float
    time: Slope
    memory: Slope
    note: str


def growth(records: Sequence[dict[str, Any]]) -> list[GrowthRow]:
    """Slopes of all series on record."""
    rows = []
    for record in records:
        method, axis, settings = record["method"], record["item"], record["settings"]
        sizes, paper = settings["sizes"], PAPER[method]
        operations = [paper.operations(settings | {axis: size}) for size in sizes]
        said = fit_slope(sizes, operations)
        time = fit_slope(sizes, record["seconds"])
        rows.append(
            GrowthRow(
                method=method,
                axis=axis,
                formula=paper.formula,
                paper=paper.exponents[axis],
                paper_slope=said.value,
                time=time,
                memory=fit_slope(sizes, record["memory"]),
                note=_note(time, said.value, record["seconds"], operations, exponential=paper.exponents[axis] == "exp"),
            )
        )
    order = {name: place for place, name in enumerate(GROWTH_METHODS)}
    return sorted(rows, key=lambda row: (AXES.index(row.axis), order[row.method]))


def fit_slope(sizes: Sequence[float], values: Sequence[float]) -> Slope:
    """Fit a straight line to logarithms by least squares.

    Examples
    --------
    >>> fit_slope([1, 2, 4], [5, 20, 80])
    Slope(value=2.0, low=2.0, high=2.0)
    """
    from scipy.special import stdtrit

    x, y = np.log(sizes), np.log(np.maximum(values, 1e-12))
    x -= x.mean()
    slope = float(x @ y / (x @ x))
    residuals = y - y.mean() - slope * x
    freedom = len(x) - 2
    error = sqrt(float(residuals @ residuals) / freedom / float(x @ x)) if freedom > 0 else nan
    reach = float(stdtrit(freedom, 0.975)) * error if freedom > 0 else nan
    return Slope(round(slope, 9), round(slope - reach, 9), round(slope + reach, 9))


def _note(time: Slope, said: float, seconds: Sequence[float], operations: Sequence[float], *, exponential: bool) -> str:
    """Note on the interpretation of a slope."""
    notes = []
    if min(seconds) < _OVERHEAD:
        notes.append(f"from {1e3 * min(seconds):.2g} ms on: Python's own work shows")
    if exponential:  # no straight line in logarithms: the last step is reported instead
        factor, expected = seconds[-1] / seconds[-2], operations[-1] / operations[-2]
        notes.append(f"exponential: the last mode takes {factor:.1f} times as long, in the paper {expected:.1f}")
    elif time.high < said - _ALIKE:
        notes.append("grows less than the paper's formula")
    elif time.low > said + _ALIKE:
        notes.append("grows more than the paper's formula")
    return "; ".join(notes)
