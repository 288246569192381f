"""The start of an automatic fit of large, smooth data: the ring of their block medians.

A fit of the medians is much cheaper than one of the data, and medians have hardly any outliers. So rank and penalties
are nearly known when the fit of all entries begins.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from math import inf, prod
from time import perf_counter
from typing import Any, Protocol, TypeAlias

import numpy as np

from ringlet.errors import BudgetError
from ringlet.results.records import Status
from ringlet.ring import TensorRing
from ringlet.solvers.base import Problem, Run, first_look, working_dtype
from ringlet.solvers.driver import RunOptions, drive
from ringlet.solvers.engine.scaled_step import Penalties
from ringlet.solvers.sawrtrd.robust_ring import RobustRing
from ringlet.solvers.sawrtrd.run import RobustSnapshot
from ringlet.solvers.tuning.block_medians import block_medians, interpolated, smooth_modes
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.sources import ArraySource

__all__ = ["CoarseStart", "coarse_start"]

_FACTORS = ((1024, 4), (128, 2))  # modes of at least 1024 slices have blocks of 4, and of at least 128 slices of 2
_SMALLER = 2  # the ring of the medians has at least this many times fewer numbers than the medians
_EASY = 600  # mean unknowns per slice: with more, solves take most of the time, and fewer slices do not help
_SWEEPS = 80  # most sweeps of the medians, independent of the solver's
_TOL = 1e-3


class _Fit(Run, Protocol):
    def snapshot(self) -> RobustSnapshot: ...


Begin: TypeAlias = Callable[[RobustRing, Problem, TuningPolicy], AbstractContextManager[_Fit]]


@dataclass(frozen=True)
class CoarseStart:
    """A first ring of the whole data, in their units, and the penalties to continue with."""

    ring: TensorRing
    penalties: Penalties


def coarse_start(
    begin: Begin, solver: RobustRing, problem: Problem, policy: TuningPolicy, deadline: float = inf
) -> CoarseStart | None:
    """Fit the block medians of data in memory; None if this saves no time or is not possible.

    Parameters
    ----------
    begin : callable
        Begins an automatic fit.
    solver : RobustRing
    problem : Problem
        With a choice of ranks, and without the entries that are held out.
    policy : TuningPolicy
    deadline : float
        Time of `perf_counter` by which the whole fit should end: half of what is left may be used here.
    """
    factors = _factors(policy, solver, problem)
    if factors is None:
        return None
    shape, now = problem.source.shape, perf_counter()
    coarse = _coarse(problem, factors, working_dtype(problem.source.dtype, solver.dtype))
    if coarse is None:
        return None
    solver = replace(solver, sweeps=_SWEEPS, tol=_TOL)
    try:
        with begin(solver, coarse, replace(policy, coarse_start=False)) as fit:
            status, _ = drive(fit, solver.stop_rule(), RunOptions(deadline=now + (deadline - now) / 2))
            found = fit.snapshot()
    except BudgetError:
        return None
    if status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    sizes = zip(found.ring().cores, shape, factors, strict=True)
    cores = [interpolated(np.asarray(core), 1, np.arange(length), factor) for core, length, factor in sizes]
    if not all(map(np.any, cores)):  # medians of sparse data are zero: no fit can start from there
        return None
    return CoarseStart(TensorRing(cores), replace(found.penalties, width=1.0))  # the rule's kernel width


def _factors(policy: TuningPolicy, solver: RobustRing, problem: Problem) -> tuple[int, ...] | None:
    """Number of slices of a block along every mode; None without blocks."""
    source, choice = problem.source, problem.choice
    open_to_choice = choice is not None and choice.bytes is None and choice.still is None and solver.smooth == "auto"
    if (
        not (policy.coarse_start and open_to_choice)
        or problem.init is not None
        or source.chunks is not None
        or prod(source.shape) < policy.coarse_from_entries
    ):
        return None
    factors = [next((factor for least, factor in _FACTORS if length >= least), 1) for length in source.shape]
    smooth = smooth_modes(source, [mode for mode, factor in enumerate(factors) if factor > 1], problem.seed)
    if not smooth:
        return None
    factors = [factor if mode in smooth else 1 for mode, factor in enumerate(factors)]
    medians = prod(source.shape) // prod(factors) * working_dtype(source.dtype, solver.dtype).itemsize
    return tuple(factors) if solver.budget is None or policy.coarse_room * medians <= solver.budget else None


def _coarse(problem: Problem, factors: tuple[int, ...], dtype: np.dtype[Any]) -> Problem | None:
    """The problem of the medians; None if there is no room for any ring of them."""
    assert problem.choice is not None  # noqa: S101 - looked at before
    source = ArraySource(block_medians(problem.source, factors, dtype))
    most = problem.choice.most_parameters(problem.source.shape, dtype.itemsize) // max(factors)
    most = min(most, prod(source.shape) // _SMALLER, _EASY * sum(source.shape))
    if most < sum(source.shape):
        return None
    choice = replace(problem.choice, parameters=most)
    return Problem(source, first_look(source, None), choice.start_rank(source.shape, most), problem.seed, choice=choice)
