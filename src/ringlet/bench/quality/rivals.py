"""The methods that are compared: `decompose(x)` and `restore(x)` without settings, and others.

Times are processor seconds of all threads together, so that other work on the machine has little effect.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from math import inf
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.api import complete, decompose, default_solver
from ringlet.baselines import L1SNN, L1TNN, L1TRNN, TNTV, LpTRC
from ringlet.bench.quality.cases import Damaged, QualityCase
from ringlet.bench.quality.grid import climb, grid_of, ring_numbers
from ringlet.bench.quality.ideas import IDEAS, request_without, without
from ringlet.bench.rivals.catalogue import SIMPLE, SLOW, Entry
from ringlet.errors import DataWarning
from ringlet.experiments.journal import Record
from ringlet.experiments.methods import METHODS, SAMPLES, settings_for
from ringlet.restoration.restore import restore
from ringlet.results.fit import Estimate, Fit
from ringlet.results.records import Status
from ringlet.ring.ranks import bond_limits
from ringlet.solvers.base import IterativeSolver, Solver
from ringlet.solvers.sawrtrd.settings import SAWRTRD
from ringlet.sources import as_source

__all__ = ["AUTO", "FINISHED", "GRID", "PEERS", "PLAIN", "RESTORE", "RIVALS", "SAME_RANK", "measure"]

AUTO, RESTORE, SAME_RANK, PLAIN, GRID = "auto", "restore", "same-rank", "plain", "grid"

_AS_PRINTED: dict[str, Any] = {"sweeps": 30, "tol": 1e-3, "ridge": 0.0, "smooth": 0.0}
_BOND = 10  # of the paper's method on tensors that are no photo or video
_UNHURRIED = 10  # times the default sweeps of a method, so that time is its limit
_METHODS: dict[str, Solver] = {
    "l1-SNN": L1SNN(),
    "l1-TNN": L1TNN(),
    "l1-TRNN": L1TRNN(),
    "lp-TRC": LpTRC(),
    "TNTV": TNTV(),
}
PEERS = tuple(_METHODS)
FINISHED = tuple(f"{name}-finished" for name in PEERS)


def measure(rival: str, case: QualityCase, damaged: Damaged, auto: Record | None) -> Record:
    """Fit and score.

    Parameters
    ----------
    rival : str
        One of `RIVALS`.
    case : QualityCase
    damaged : Damaged
        Its data.
    auto : dict or None
        Measurements of `decompose(x)`: other methods get its time, or its rank.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # warnings about missing data are expected
        return RIVALS[rival](case, damaged, auto or {})


def _automatic(case: QualityCase, damaged: Damaged, _auto: Record) -> Record:
    fit, seconds = _timed(lambda: decompose(damaged.data, seed=case.seed - 1))
    return _ring_record(damaged, fit, seconds)


def _without(idea: str) -> Callable[[QualityCase, Damaged, Record], Record]:
    """`decompose(x)` without one of its ideas."""

    def run(case: QualityCase, damaged: Damaged, _auto: Record) -> Record:
        request = request_without(idea, case.seed - 1)
        fit, seconds = _timed(lambda: request.run(as_source(damaged.data)))
        return _ring_record(damaged, fit, seconds)

    return run


def _restored(_case: QualityCase, damaged: Damaged, _auto: Record) -> Record:
    """The clean array that a user gets."""
    estimate, seconds = _timed(lambda: restore(damaged.data))
    return {"psnr": damaged.score(estimate), "seconds": seconds}


def _in_use(entry: Entry) -> Callable[[QualityCase, Damaged, Record], Record]:
    """A method that people use today."""

    def run(_case: QualityCase, damaged: Damaged, _auto: Record) -> Record:
        observed = np.isfinite(damaged.data)
        values = np.where(observed, damaged.data, np.float32(0))
        estimate, seconds = _timed(lambda: entry.run(values, observed))
        return {"psnr": damaged.score(estimate), "seconds": seconds}

    return run


def _same_rank(_case: QualityCase, damaged: Damaged, auto: Record) -> Record:
    """One fit of the rank that the automatic one ended with, without its other choices."""
    solver = replace(default_solver(damaged.data.shape), **_AS_PRINTED)
    fit, seconds = _timed(lambda: decompose(damaged.data, tuple(auto["rank"]), solver=solver))
    return _ring_record(damaged, fit, seconds)


def _plain(case: QualityCase, damaged: Damaged, _auto: Record) -> Record:
    """The paper's method with the paper's settings."""
    rank = _papers_rank(case, damaged.data.shape)
    solver = SAWRTRD(samples=SAMPLES, **_AS_PRINTED)
    fit, seconds = _timed(lambda: decompose(damaged.data, rank, solver=solver))
    return _ring_record(damaged, fit, seconds)


def _grid(_case: QualityCase, damaged: Damaged, _auto: Record) -> Record:
    """The best setting that a search over the grid finds with the truth."""
    shape = damaged.data.shape
    axes = grid_of(shape)
    ranks, ridges, widths = axes
    tried = 0

    def height(point: tuple[int, ...]) -> float:
        nonlocal tried
        tried += 1
        options: dict[str, Any] = _AS_PRINTED | {"ridge": ridges[point[1]]} | widths[point[2]]
        fit, _ = _timed(
            lambda: decompose(damaged.data, ranks[point[0]], solver=replace(default_solver(shape), **options))
        )
        return damaged.score(np.asarray(fit.ring))

    (best, score), seconds = _timed(lambda: climb(axes, height))
    return {
        "psnr": score,
        "seconds": seconds,
        "fits": tried,
        "rank": list(ranks[best[0]]),
        "ridge": ridges[best[1]],
        "width": widths[best[2]],
    }


def _hurried(solver: Solver) -> Callable[[QualityCase, Damaged, Record], Record]:
    """A robust completion method, stopped after the sweep in which it has used up the automatic fit's time."""
    if isinstance(solver, IterativeSolver) and not isinstance(solver, TNTV):  # which divides its sweeps in two stages
        solver = replace(solver, sweeps=_UNHURRIED * solver.sweeps)

    def run(case: QualityCase, damaged: Damaged, auto: Record) -> Record:
        return _completed(solver, case, damaged, seconds=auto["seconds"])

    return run


def _finished(solver: Solver) -> Callable[[QualityCase, Damaged, Record], Record]:
    """The same with its own stop rule."""

    def run(case: QualityCase, damaged: Damaged, _auto: Record) -> Record:
        return _completed(solver, case, damaged, seconds=inf)

    return run


def _completed(solver: Solver, case: QualityCase, damaged: Damaged, *, seconds: float) -> Record:
    rank = _papers_rank(case, damaged.data.shape) if solver.fits_ring else None
    end = process_time() + seconds
    estimate, taken = _timed(
        lambda: complete(damaged.data, solver=solver, rank=rank, callback=lambda _state: process_time() >= end)
    )
    return {
        "psnr": damaged.score(estimate.tensor),
        "seconds": taken,
        "sweeps": len(estimate.history),
        "status": estimate.status.name,
    }


RIVALS: dict[str, Callable[[QualityCase, Damaged, Record], Record]] = {
    AUTO: _automatic,
    RESTORE: _restored,
    SAME_RANK: _same_rank,
    PLAIN: _plain,
    **{name: _hurried(_METHODS[name]) for name in PEERS},
    GRID: _grid,
    **{name: _finished(_METHODS[peer]) for peer, name in zip(PEERS, FINISHED, strict=True)},
    **{without(idea): _without(idea) for idea in IDEAS},
    **{name: _in_use(entry) for name, entry in (SIMPLE | SLOW).items()},
}


def _papers_rank(case: QualityCase, shape: tuple[int, ...]) -> tuple[int, ...]:
    """As the paper has it for photos and videos, smaller for small ones; ten in every bond of other tensors."""
    if case.sample.item is not None:
        return tuple(settings_for(METHODS["SAWRTRD"], case.sample.item)["rank"])
    return bond_limits(shape, [min(_BOND, length) for length in shape])


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result of work, and its processor seconds; an interrupted fit is no result."""
    start = process_time()
    result = work()
    if isinstance(result, Fit | Estimate) and result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return result, process_time() - start


def _ring_record(damaged: Damaged, fit: Fit, seconds: float) -> Record:
    shape, rank = fit.ring.shape, fit.ring.rank
    estimate: NDArray[Any] = np.asarray(fit.ring)
    return {
        "psnr": damaged.score(estimate),
        "seconds": seconds,
        "sweeps": len(fit.history),
        "status": fit.status.name,
        "rank": list(rank),
        "smaller": damaged.data.size / ring_numbers(shape, rank),
        "smaller_than_file": damaged.data.size * damaged.truth.itemsize / fit.ring.nbytes,
    }
