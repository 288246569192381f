"""The verbs: `decompose` data into a tensor ring, `complete` data into a dense estimate, `plan` what that will cost."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ringlet.checks import check_number
from ringlet.errors import ArgumentError, ArgumentTypeError, DataWarning, warn
from ringlet.execution import DaskExecutor
from ringlet.ring import TensorRing
from ringlet.robust import Kernel
from ringlet.solvers.base import Plan, Solver, working_dtype
from ringlet.solvers.driver import Callback, Snapshot, SweepRecord, drive
from ringlet.solvers.problem import Problem, first_look
from ringlet.solvers.rank_choice import RankChoice, start_rank, support
from ringlet.solvers.result import Estimate, Fit
from ringlet.solvers.sawrtrd.settings import AWRTRD, SAWRTRD, RobustRing
from ringlet.solvers.status import Status
from ringlet.solvers.streaming.extension_state import Continuation, Scaled
from ringlet.sources import Chunks, Source, as_source
from ringlet.sources.chunked import regular_chunks
from ringlet.sources.conversion import check_dtype
from ringlet.sources.stores import backed_by_dask
from ringlet.store.checkpoint import check_checkpoint, open_checkpoint

__all__ = ["Rank", "complete", "decompose", "default_solver", "plan"]

Rank: TypeAlias = int | Sequence[int] | str | RankChoice | None

_SWEEPS = 80  # of the automatic solver: it begins with small ranks, of which sweeps cost little
_SMALL = 1 << 22  # up to so many entries AWRTRD, which looks at all of them, costs no more than a sketch


def decompose(
    data: Any,
    rank: Rank = "auto",
    *,
    solver: Solver | None = None,
    mask: Any = None,
    seed: int = 0,
    init: TensorRing | Sequence[NDArray[Any]] | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 1,
    executor: DaskExecutor | None = None,
) -> Fit:
    """Fit a tensor ring to data with missing and wrong entries.

    Parameters
    ----------
    data : array-like, store or path; integers or floats, at least two modes
        A NumPy array or memory map, a zarr, HDF5 or dask array, an xarray.DataArray, a group or Dataset with one of
        them, or the path of a file that ``ringlet fit`` takes. NaN, ``numpy.ma`` masks, the fill values of stores and
        an array `observed` or `mask` beside the tensor in its group say what is missing. Read in place, never changed;
        of stores only parts are in memory.
    rank : "auto", int, sequence of int, budget or target
        ``rank[k]`` is the bond before mode k; an int means the same everywhere. "auto" lets bonds grow while entries
        that are held out say that it pays, up to a fifth of the data's size; ``ringlet.budget("1MB")`` does so up to
        that size of the stored ring, and ``ringlet.target(psnr=35)`` stops where that is reached. These three are for
        AWRTRD and SAWRTRD.
    solver : solver, optional
        By default AWRTRD for small tensors and SAWRTRD for large ones, with ``smooth="auto"``.
    mask : bool array-like, store or path, of the same shape, optional
        True = observed; combines with NaN, ``numpy.ma`` and fill values.
    seed : int
        The same seed, data and machine give the same bits, on any number of threads.
    init : TensorRing or list of cores, optional
        Where to start from, e.g. the ring of an earlier fit.
    callback : callable, optional
        Called with an immutable state after every sweep; returning True stops the fit.
    progress : bool
        Show a progress line.
    checkpoint : path, optional
        A folder in which the fit is saved while it runs. If it holds this fit already, the fit goes on from there, and
        ends in the same bits as one that was never interrupted, whatever had ended it: a kill, a loss of power, Ctrl-C,
        a callback, an error. A fit that was finished is given back at once; more `sweeps` than before let one that had
        used them all go on. The checkpoint of another fit (other data, rank, seed, solver) is refused, as is one that
        another process is using. Delete the folder to begin anew.
    every : int
        Save after so many sweeps each, and at the end.
    executor : DaskExecutor, optional
        A cluster to do the passes over the data; the result is the same, to the bit. For dask arrays it is by default
        the cluster of the active client, if there is one.

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
    solver = _checked_solver(solver)
    if solver is not None and not solver.fits_ring:
        name = type(solver).__name__
        raise ArgumentError(f"solver={name}() gives no ring; use ringlet.complete(data, solver={name}(), ...)")
    result = _run(data, rank, solver, mask, seed, init, callback, progress, checkpoint, every, executor)
    ring = result.snapshot.ring()
    assert ring is not None  # noqa: S101 - the solver fits one
    ring = _labelled(ring, result.source)
    return Fit(
        ring,
        result.status,
        result.history,
        result.source,
        result.kernel,
        result.continuation,
        result.missing_share,
    )


def plan(
    shape: Sequence[int],
    rank: int | Sequence[int] | None = None,
    *,
    solver: Solver | None = None,
    dtype: DTypeLike = np.uint8,
    chunks: Sequence[int] | None = None,
) -> Plan:
    """Tell what a fit would do and need, without data and without doing it.

    Parameters
    ----------
    shape : sequence of int
        Of the data.
    rank : int or sequence of int
    solver : solver, optional
        As in `decompose`.
    dtype : dtype
        Of the data.
    chunks : sequence of int, optional
        Of data in a store: the size of a chunk along every mode.

    Returns
    -------
    Plan
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
    if len(getattr(shape, "shape", ())) > 1:
        raise ArgumentTypeError(
            "shape is an array, or something like it; give its shape, e.g. ringlet.plan(x.shape, 5)"
        )
    try:
        sizes = tuple(shape)
    except TypeError:
        raise ArgumentTypeError(f"shape={shape!r} is not a shape; give one size a mode, as (300, 451, 3)") from None
    if len(sizes) < 2:
        raise ArgumentError(f"shape={sizes} has {len(sizes)} mode(s); a tensor ring needs at least 2")
    for length in sizes:
        check_number("shape", length, at_least=1, whole=True)
    try:
        kind: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise ArgumentTypeError(f"dtype={dtype!r} is not a dtype; give that of the data, as 'float32'") from None
    check_dtype(kind)
    chosen = _checked_solver(solver) or default_solver(sizes)
    bonds = chosen.bonds(rank, len(sizes))
    return _plan(chosen, sizes, bonds, kind, None if chunks is None else _checked_chunks(chunks, sizes))


def complete(
    data: Any,
    *,
    solver: Solver,
    rank: Rank = None,
    mask: Any = None,
    seed: int = 0,
    init: TensorRing | Sequence[NDArray[Any]] | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 1,
    executor: DaskExecutor | None = None,
) -> Estimate:
    """Estimate all entries of data with missing and wrong ones.

    Parameters
    ----------
    data, mask, seed, init, callback, progress, checkpoint, every, executor
        As in `decompose`.
    solver : solver
    rank : int, sequence of int, "auto", `budget` or `target`, optional
        For solvers that fit a ring; AWRTRD and SAWRTRD find one if it is left out.

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
    if solver is None:
        raise ArgumentTypeError("solver=None is not allowed; give e.g. ringlet.SAWRTRD() or ringlet.baselines.L1TNN()")
    _checked_solver(solver)
    wanted: Rank = "auto" if rank is None and isinstance(solver, RobustRing) else rank
    result = _run(data, wanted, solver, mask, seed, init, callback, progress, checkpoint, every, executor)
    if solver.fits_ring:
        ring = result.snapshot.ring()
        assert ring is not None  # noqa: S101 - the solver fits one
        return Estimate(_labelled(ring, result.source), result.status, result.history)
    return Estimate(None, result.status, result.history, result.snapshot.tensor())


def _plan(
    solver: Solver, shape: tuple[int, ...], bonds: tuple[int, ...], dtype: np.dtype[Any], chunks: Chunks | None
) -> Plan:
    """The plan of a solver; only some read chunk by chunk."""
    if isinstance(solver, RobustRing):
        return solver.plan(shape, bonds, dtype, chunks)
    return solver.plan(shape, bonds, dtype)


def _checked_chunks(chunks: Sequence[int], shape: tuple[int, ...]) -> Chunks:
    if not isinstance(chunks, Iterable):
        raise ArgumentTypeError(f"chunks={chunks!r} is not a sequence; give one size a mode")
    sizes = tuple(chunks)
    if len(sizes) != len(shape):
        raise ArgumentError(f"chunks={sizes} has {len(sizes)} entries but shape has {len(shape)}; give one a mode")
    for size in sizes:
        check_number("chunks", size, at_least=1, whole=True)
    return regular_chunks(shape, sizes)


def default_solver(shape: Sequence[int]) -> AWRTRD | SAWRTRD:
    """The solver that `decompose` takes when none is given: all entries of small tensors, a sketch of large ones.

    Its penalties are chosen by held-out entries.
    """
    kind = AWRTRD if prod(shape) <= _SMALL else SAWRTRD
    return kind(smooth="auto", sweeps=_SWEEPS)


def _labelled(ring: TensorRing, source: Source) -> TensorRing:
    """The ring, with the names and units that the data have."""
    return TensorRing(ring.cores, names=source.names, units=source.units)


def _with_labels(callback: Callback, source: Source) -> Callback:
    """The callback, shown rings with the names and units that the data have."""
    return lambda state: callback(replace(state, _names=source.names, _units=source.units))


@dataclass(frozen=True)
class _Result:
    """What is left when the driver is done."""

    snapshot: Snapshot
    kernel: Kernel
    status: Status
    history: tuple[SweepRecord, ...]
    source: Source
    continuation: Continuation | None
    missing_share: float


def _run(
    data: Any,
    rank: Rank,
    solver: Solver | None,
    mask: Any,
    seed: int,
    init: TensorRing | Sequence[NDArray[Any]] | None,
    callback: Callback | None,
    progress: bool,
    checkpoint: str | os.PathLike[str] | None,
    every: int,
    executor: DaskExecutor | None,
) -> _Result:
    """Check everything, then fit."""
    source = as_source(data, mask)
    if solver is None:
        solver = default_solver(source.shape)
    if callback is not None and not callable(callback):
        raise ArgumentTypeError(f"callback={callback!r} cannot be called; give a function of one argument, the state")
    bonds, choice = _rank(rank, solver, source, init)
    check_number("seed", seed, at_least=0, whole=True)
    if init is not None and not solver.takes_init:
        raise ArgumentError(f"init is not allowed with {type(solver).__name__}, which starts by itself; leave it out")
    check_checkpoint(checkpoint, every, solver)
    executor = _checked_executor(executor, solver, source)
    _plan(solver, source.shape, bonds, source.dtype, source.chunks)  # an impossible budget is refused before any work
    found = first_look(source, executor)
    if found.observed < prod(source.shape) and not solver.handles_missing:
        raise ArgumentError(
            f"solver={type(solver).__name__}() needs complete data, but {prod(source.shape) - found.observed} entries "
            "are missing (by mask, NaN or numpy.ma); use ringlet.SAWRTRD() or another method with handles_missing"
        )
    for mode, empty in enumerate(found.empty):
        if empty:
            warn(
                f"{len(empty)} slice(s) of mode {mode} hold no observed entry (the first at index {empty[0]}); "
                "they are filled from their neighbours",
                DataWarning,
            )
    if choice is None and isinstance(solver, RobustRing):
        _warn_if_hopeless(bonds, found.observed, source.shape)
    problem = Problem(source, found, bonds, int(seed), init, executor, choice)
    with open_checkpoint(checkpoint, every, solver, problem) as kept, solver.start(problem) as run:
        seen = None if callback is None else _with_labels(callback, source)
        status, history = drive(run, solver.stop_rule(), callback=seen, progress=progress, checkpoint=kept)
        continuation = None
        if isinstance(solver, RobustRing) and isinstance(run, Scaled):
            trusted = (history[-1].mean_weight if history else 1.0) * found.observed / prod(source.shape)
            continuation = Continuation(solver, run.size, run.penalty_unit, run.penalties, trusted)
        missing = 1 - found.observed / prod(source.shape)
        return _Result(run.snapshot(), run.kernel, status, history, source, continuation, missing)


def _warn_if_hopeless(rank: tuple[int, ...], observed: int, shape: tuple[int, ...]) -> None:
    """Say so where the slices of a core have more unknowns than observed entries speak for them."""
    for mode, (unknowns, entries) in enumerate(support(shape, rank, observed)):
        if entries < unknowns and observed < prod(shape):
            warn(
                f"rank={rank} has {unknowns} unknowns for each slice of mode {mode}, of which {entries:.3g} entries "
                "are observed on average: most of the answer will be a guess; give a smaller rank, or rank='auto'",
                DataWarning,
            )
            return


def _checked_executor(executor: DaskExecutor | None, solver: Solver, source: Source) -> DaskExecutor | None:
    """The executor given, or the one that data on a cluster suggest."""
    if executor is None:
        return DaskExecutor.active() if solver.distributes and backed_by_dask(source) else None
    if not isinstance(executor, DaskExecutor):
        raise ArgumentTypeError(f"executor={executor!r} is no executor; give ringlet.DaskExecutor(client)")
    if not solver.distributes:
        raise ArgumentError(
            f"executor is not allowed with {type(solver).__name__}, which works on one machine; leave it out, or use "
            "ringlet.SAWRTRD(), ringlet.AWRTRD() or ringlet.baselines.TRALS()"
        )
    return executor


def _rank(
    rank: Rank, solver: Solver, source: Source, init: TensorRing | Sequence[NDArray[Any]] | None
) -> tuple[tuple[int, ...], RankChoice | None]:
    """The rank to begin with, and what is to be found."""
    choice = RankChoice() if isinstance(rank, str) and rank == "auto" else rank
    if isinstance(choice, str):
        raise ArgumentTypeError(
            f"rank={rank!r} is text; give 'auto', an int, one int per mode, ringlet.budget('1MB') or "
            "ringlet.target(psnr=35)"
        )
    if choice is None and isinstance(solver, RobustRing):
        raise ArgumentError("rank=None is not allowed; give e.g. rank=5, or rank='auto', which finds one")
    if not isinstance(choice, RankChoice):
        return solver.bonds(choice, len(source.shape)), None
    if not isinstance(solver, RobustRing):
        raise ArgumentError(
            f"rank={rank!r} is not allowed with {type(solver).__name__}, which needs a rank, e.g. rank=5; "
            "AWRTRD and SAWRTRD can find one"
        )
    itemsize = working_dtype(source.dtype, solver.dtype).itemsize
    most = choice.most_parameters(source.shape, itemsize)
    if init is None:
        return start_rank(source.shape, most), choice
    ring = init if isinstance(init, TensorRing) else TensorRing(init)
    if ring.shape != source.shape:
        raise ArgumentError(f"init has shape {ring.shape}, but the data have shape {source.shape}")
    if ring.parameters > most:
        raise ArgumentError(
            f"init has {ring.parameters} numbers, but rank={rank!r} allows {most} on shape {source.shape}; round it "
            "first, e.g. init.round(rank=5)"
        )
    return ring.rank, choice


def _checked_solver(solver: Solver | None) -> Solver | None:
    if solver is not None and not isinstance(solver, Solver):
        raise ArgumentTypeError(f"solver={solver!r} is not a solver; give e.g. ringlet.SAWRTRD(samples=30_000)")
    return solver
