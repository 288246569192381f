"""Where an automatic fit of large, smooth data begins: at the ring of their block medians.

A fit of the medians costs a fraction of one of the data, and medians know hardly any outliers: rank and penalties are
nearly found when the fit of all entries begins.
"""

from contextlib import closing
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ringlet.errors import BudgetError
from ringlet.execution import Threads
from ringlet.ring import TensorRing
from ringlet.solvers.base import working_dtype
from ringlet.solvers.driver import drive
from ringlet.solvers.problem import Problem, first_look
from ringlet.solvers.rank_choice import start_rank
from ringlet.solvers.sawrtrd.algorithm import RobustRun
from ringlet.solvers.status import Status
from ringlet.solvers.tuning.block_medians import block_medians, interpolated, smooth_modes
from ringlet.solvers.tuning.controller import AutomaticRun, hold_out
from ringlet.solvers.tuning.tuned_parameters import Penalties
from ringlet.sources import ArraySource

if TYPE_CHECKING:
    from ringlet.solvers.sawrtrd.settings import RobustRing

__all__ = ["CoarseStart", "coarse_start"]

_LARGE = 1 << 21  # entries from which on it is worth while
_FACTORS = ((1024, 4), (128, 2))  # slices of a block, of modes with so many and more
_SMALLER = 2  # the medians' ring has at least so many times fewer numbers than they, and the data's as few as it must
_EASY = 600  # unknowns a slice, on average: with more, most of an update is a solve, which fewer slices do not shorten
_SWEEPS = 80  # at most; a number of its own, so that nothing depends on that of the solver
_TOL = 1e-3
_ROOM = 8  # a memory budget must hold the medians so many times


@dataclass(frozen=True)
class CoarseStart:
    """A ring of the whole data, in their units, and penalties to go on with."""

    ring: TensorRing
    penalties: Penalties


def coarse_start(solver: "RobustRing", problem: Problem, threads: Threads) -> CoarseStart | None:
    """Fit the block medians of data in memory; None where that is not worth while or not possible.

    Parameters
    ----------
    solver : RobustRing
    problem : Problem
        With a choice of ranks, and without the entries that are held out.
    threads : Threads
    """
    factors = _factors(solver, problem)
    if factors is None:
        return None
    dtype = working_dtype(problem.source.dtype, solver.dtype)
    source = ArraySource(block_medians(problem.source, factors, dtype))
    try:
        return _fitted(solver, problem, source, factors, threads)
    except BudgetError:
        return None


def _factors(solver: "RobustRing", problem: Problem) -> tuple[int, ...] | None:
    """How many slices of every mode a block has; None if there should be none."""
    source, choice = problem.source, problem.choice
    open_to_choice = choice is not None and choice.bytes is None and isinstance(solver.smooth, str)
    if not open_to_choice or problem.init is not None or source.chunks is not None or prod(source.shape) < _LARGE:
        return None
    factors = [next((factor for least, factor in _FACTORS if length >= least), 1) for length in source.shape]
    smooth = smooth_modes(source, [mode for mode, factor in enumerate(factors) if factor > 1], problem.seed)
    if not smooth:
        return None
    factors = [factor if mode in smooth else 1 for mode, factor in enumerate(factors)]
    medians = prod(source.shape) // prod(factors) * working_dtype(source.dtype, solver.dtype).itemsize
    return tuple(factors) if solver.budget is None or _ROOM * medians <= solver.budget else None


def _fitted(
    solver: "RobustRing", problem: Problem, source: ArraySource, factors: tuple[int, ...], threads: Threads
) -> CoarseStart | None:
    assert problem.choice is not None  # noqa: S101 - looked at before
    solver = replace(solver, sweeps=_SWEEPS, tol=_TOL)
    itemsize = source.dtype.itemsize
    most = problem.choice.most_parameters(problem.source.shape, itemsize) // max(factors)
    most = min(most, prod(source.shape) // _SMALLER, _EASY * sum(source.shape))
    if most < sum(source.shape):  # no room for any ring
        return None
    choice = replace(problem.choice, parameters=most)
    rank = start_rank(source.shape, most)
    coarse = Problem(source, first_look(source, None), rank, problem.seed, choice=choice)
    coarse, seen, judge = hold_out(coarse)
    samples, sampling = solver.columns()
    with closing(RobustRun(solver, seen, threads, samples=samples, sampling=sampling, steady=False)) as run:
        fit = AutomaticRun(solver, coarse, run, judge, lambda: None)
        status, _ = drive(fit, solver.stop_rule())
        if status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        ring, penalties = fit.snapshot().ring(), fit.penalties
    shape = problem.source.shape
    sizes = zip(ring.cores, shape, factors, strict=True)
    cores = [interpolated(np.asarray(core), 1, np.arange(length), factor) for core, length, factor in sizes]
    if not all(map(np.any, cores)):  # medians of zero, of sparse data: no fit can go on from there
        return None
    return CoarseStart(TensorRing(cores), penalties.refined(factors))
