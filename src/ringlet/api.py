"""The verbs: `decompose` data into a tensor ring, `complete` data into a dense estimate, `plan` what that will cost."""

import warnings
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ringlet.amounts import parse_bytes
from ringlet.errors import ArgumentError, ArgumentTypeError, DataWarning
from ringlet.execution import Threads
from ringlet.ring import TensorRing
from ringlet.ring.ranks import normalise_rank
from ringlet.solvers.checks import check_number
from ringlet.solvers.driver import Callback, drive
from ringlet.solvers.fit_plan import FitPlan, plan_fit
from ringlet.solvers.problem import Problem
from ringlet.solvers.result import Estimate, Fit
from ringlet.solvers.robust_ring import AWRTRD, SAWRTRD, RobustRing
from ringlet.solvers.robust_run import working_dtype
from ringlet.sources import as_source, survey

__all__ = ["complete", "decompose", "default_solver", "plan"]

_SMALL = 1 << 22  # up to so many entries AWRTRD, which looks at all of them, costs no more than a sketch


def decompose(
    data: ArrayLike,
    rank: int | Sequence[int],
    *,
    solver: RobustRing | None = None,
    mask: ArrayLike | None = None,
    seed: int = 0,
    init: TensorRing | Sequence[NDArray[Any]] | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Fit:
    """Fit a tensor ring to data with missing and wrong entries.

    Parameters
    ----------
    data : array-like of integers or floats, at least two modes
        NaN and ``numpy.ma`` masks mean missing. Read in place, never changed.
    rank : int or sequence of int
        ``rank[k]`` is the bond before mode k; an int means the same everywhere.
    solver : AWRTRD or SAWRTRD, optional
        By default AWRTRD for small tensors and SAWRTRD for large ones.
    mask : bool array-like, optional
        True = observed; combines with NaN and ``numpy.ma``.
    seed : int
        The same seed, data and machine give the same bits, on any number of threads.
    init : TensorRing or list of cores, optional
        Where to start from, e.g. the ring of an earlier fit.
    callback : callable, optional
        Called with an immutable state after every sweep; returning True stops the fit.
    progress : bool
        Show a progress line.

    Returns
    -------
    Fit
        With ``ring``, ``status``, ``history`` and ``weights(index)``.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.fromfunction(lambda i, j, k: np.cos(i / 9 + j / 7) + k, (30, 20, 5))
    >>> x[3, 4, :] = np.nan                     # missing
    >>> x[5, 6, 2] = -1e3                       # wrong
    >>> fit = ringlet.decompose(x, rank=4, seed=1)
    >>> fit.ring
    TensorRing(shape=(30, 20, 5), rank=(4, 4, 4), float64, 7.04 kB, 3.4x smaller)
    >>> bool(fit.weights((5, 6, 2)) < 0.01)
    True
    """
    source = as_source(data, mask)
    solver = _checked_solver(solver, source.shape)
    if callback is not None and not callable(callback):
        raise ArgumentTypeError(f"callback={callback!r} cannot be called; give a function of one argument, the state")
    bonds = normalise_rank(rank, len(source.shape))
    check_number("seed", seed, at_least=0, whole=True)
    found = survey(source)
    for mode, empty in enumerate(found.empty):
        if empty:
            warnings.warn(
                f"{len(empty)} slice(s) of mode {mode} hold no observed entry (the first at index {empty[0]}); "
                "they are filled from their neighbours",
                DataWarning,
                stacklevel=2,
            )
    problem = Problem(source, found, bonds, int(seed), init)
    with solver.start(problem) as run:
        status, history = drive(
            run,
            sweeps=solver.sweeps,
            tol=solver.tol,
            patience=solver.patience,
            callback=callback,
            progress=progress,
        )
        return Fit(run.snapshot().ring(), status, history, run.sigma, source, solver.loss)


def plan(
    shape: Sequence[int],
    rank: int | Sequence[int],
    *,
    solver: RobustRing | None = None,
    dtype: DTypeLike = np.uint8,
) -> FitPlan:
    """Tell what a fit would do and need, without data and without doing it.

    Parameters
    ----------
    shape : sequence of int
        Of the data.
    rank : int or sequence of int
    solver : AWRTRD or SAWRTRD, optional
        As in `decompose`.
    dtype : dtype
        Of the data.

    Returns
    -------
    FitPlan
        Print it for a table.

    Examples
    --------
    >>> import ringlet
    >>> cost = ringlet.plan((1920, 1080, 3, 50), (80, 80, 3, 20))
    >>> cost.operations < 5e11, cost.memory < 2e9
    (True, True)
    >>> print(cost.notes[0])
    The bond before mode 3 has rank 20 but its neighbours can carry only 9: the rest adds size, not accuracy.
    """
    sizes = tuple(shape)
    if len(sizes) < 2:
        raise ArgumentError(f"shape={sizes} has {len(sizes)} mode(s); a tensor ring needs at least 2")
    for length in sizes:
        check_number("shape", length, at_least=1, whole=True)
    chosen = _checked_solver(solver, sizes)
    samples, sampling = chosen.columns()
    return plan_fit(
        sizes,
        normalise_rank(rank, len(sizes)),
        samples=samples,
        by_rows=sampling != "subtensor",
        data_itemsize=np.dtype(dtype).itemsize,
        itemsize=working_dtype(np.dtype(dtype), chosen.dtype).itemsize,
        threads=Threads(chosen.threads).count,
        memory=None if chosen.memory is None else parse_bytes(chosen.memory),
    )


def complete(
    data: ArrayLike,
    *,
    solver: RobustRing,
    rank: int | Sequence[int] | None = None,
    mask: ArrayLike | None = None,
    seed: int = 0,
    init: TensorRing | Sequence[NDArray[Any]] | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Estimate:
    """Estimate all entries of data with missing and wrong ones.

    Parameters
    ----------
    data, mask, seed, init, callback, progress
        As in `decompose`.
    solver : solver
    rank : int or sequence of int
        For solvers that fit a ring.

    Returns
    -------
    Estimate
        With the dense ``tensor``, and the ``ring`` where there is one.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.add.outer(np.arange(6.0), np.arange(5.0))
    >>> x[2, 2] = np.nan
    >>> est = ringlet.complete(x, solver=ringlet.AWRTRD(sweeps=100), rank=2)
    >>> est.tensor.shape
    (6, 5)
    """
    if rank is None:
        raise ArgumentError(
            f"rank=None is not allowed with {type(solver).__name__}, which fits a ring; give e.g. rank=5"
        )
    fit = decompose(data, rank, solver=solver, mask=mask, seed=seed, init=init, callback=callback, progress=progress)
    return Estimate(fit.ring, fit.status, fit.history)


def default_solver(shape: Sequence[int]) -> RobustRing:
    """The solver that `decompose` takes when none is given: all entries of small tensors, a sketch of large ones."""
    return AWRTRD() if prod(shape) <= _SMALL else SAWRTRD()


def _checked_solver(solver: RobustRing | None, shape: Sequence[int]) -> RobustRing:
    if solver is None:
        return default_solver(shape)
    if not isinstance(solver, RobustRing):
        raise ArgumentTypeError(f"solver={solver!r} is not a solver; give e.g. ringlet.SAWRTRD(samples=30_000)")
    return solver
