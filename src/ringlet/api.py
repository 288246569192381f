"""The main functions: `decompose` fits a ring, `complete` gives a dense estimate, `plan` reports the cost."""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ringlet.arrays import Place, device_room
from ringlet.checks import check_number, check_sequence
from ringlet.errors import ArgumentError, ArgumentTypeError, BudgetError
from ringlet.execution import DaskExecutor, Threads
from ringlet.float_errors import usual_float_errors
from ringlet.request import FitRequest, Init, Rank, bonds_of, default_solver, device_note, planned
from ringlet.results.fit import Estimate, Fit
from ringlet.results.many_rings import ManyRings
from ringlet.results.records import Callback
from ringlet.solvers.base import Plan, Solver, working_dtype
from ringlet.solvers.sawrtrd.settings import AWRTRD
from ringlet.solvers.sawrtrd.stacked import check_stack, fit_stack
from ringlet.sources import Chunks, DeviceSource, source_in_place
from ringlet.sources.chunked import regular_chunks
from ringlet.sources.conversion import MOST_MODES, check_dtype

__all__ = ["Rank", "complete", "decompose", "decompose_many", "default_solver", "plan"]


def decompose(
    data: Any,
    rank: Rank = "auto",
    *,
    solver: Solver | None = None,
    mask: Any = None,
    seed: int = 0,
    init: Init | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 1,
    executor: DaskExecutor | None = None,
    device: Any = None,
    memory: int | str | None = None,
    threads: int | None = None,
    sweeps: int | None = None,
    tol: float | None = None,
    loss: str | None = None,
    sigma: str | float | None = None,
    ridge: str | float | None = None,
    smooth: str | float | Mapping[int, float] | None = None,
    time: float | str | None = None,
) -> Fit:
    """Fit a tensor ring to data with missing and wrong entries.

    Parameters
    ----------
    data : array-like, store or path; integers or floats, at least two modes
        A NumPy array or memory map, a zarr, HDF5 or dask array, an xarray.DataArray, a group or Dataset with one of
        them, a pandas.DataFrame, an array of PyTorch, CuPy or JAX, or the path of a file that ``ringlet fit`` reads.
        NaN, ``numpy.ma`` masks, fill values of stores, and an array `observed` or `mask` beside the tensor in its group
        mark missing entries. The data are read in place and never changed; only parts of stores are in memory. Arrays
        of PyTorch, CuPy and JAX stay on their device, see the page "Arrays on devices".
    rank : "auto", int, sequence of int, budget, target or background
        ``rank[k]`` is the bond before mode k; an int applies to all bonds. "auto" increases the bonds while this lowers
        the error at held-out entries, up to a fifth of the size of the data. ``ringlet.budget("1MB")`` limits the size
        of the stored ring instead, ``ringlet.target(psnr=35)`` stops at a quality, and ``ringlet.background()`` keeps
        the bonds of the time mode at 1. These four are for AWRTRD and SAWRTRD.
    solver : solver, optional
        By default AWRTRD for small tensors and SAWRTRD for large ones. ``SAWRTRD.paper()`` and ``AWRTRD.paper()`` are
        the methods as the paper prints them.
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
        A folder in which the fit is saved while it runs. If it already holds this fit, the fit continues from there,
        and ends in the same bits as one that was never interrupted. It does not matter what had ended it: a kill, a
        loss of power, Ctrl-C, a callback, an error. A finished fit is returned at once; with more `sweeps` than before,
        one that had used all its sweeps continues. The checkpoint of another fit (other data, rank, seed, solver) is
        refused, and so is one that another process is using. Delete the folder to start again.
    every : int
        Number of sweeps between two saves; the last sweep is always saved.
    executor : DaskExecutor, optional
        A cluster that does the passes over the data; the result has the same bits. For dask arrays, the default is the
        cluster of the active client, if there is one.
    device : str or device, optional
        A device of PyTorch, such as "cuda", to which blocks of data on the host are sent. Data of PyTorch, CuPy and JAX
        need none: they stay on their device.
    memory, threads, sweeps, tol, loss, sigma, ridge, smooth : optional
        Hyper-parameters of the solver, see `AWRTRD`. By default those of the solver.
    time : float or str, optional
        Seconds, or e.g. ``"60s"``, ``"5min"``: the fit stops then, with the best ring so far. Its result depends on the
        speed of the machine.

    Returns
    -------
    Fit
        With the ring, the status, weights, outliers and restored entries.

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
    _check_solver(solver)
    if solver is not None and not solver.fits_ring:
        name = type(solver).__name__
        raise ArgumentError(f"solver={name}() gives no ring; use ringlet.complete(data, solver={name}(), ...)")
    request = FitRequest(
        solver=solver,
        rank=rank,
        seed=seed,
        init=init,
        callback=callback,
        progress=progress,
        checkpoint=checkpoint,
        every=every,
        executor=executor,
        device=device,
        time=time,
        fields={
            "memory": memory,
            "threads": threads,
            "sweeps": sweeps,
            "tol": tol,
            "loss": loss,
            "sigma": sigma,
            "ridge": ridge,
            "smooth": smooth,
        },
    )
    result = request.run(source_in_place(data, mask))
    assert isinstance(result, Fit)  # noqa: S101 - the solver fits a ring
    return result


def complete(
    data: Any,
    *,
    solver: Solver | None = None,
    rank: Rank = None,
    mask: Any = None,
    seed: int = 0,
    init: Init | None = None,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 1,
    executor: DaskExecutor | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    sweeps: int | None = None,
    tol: float | None = None,
    time: float | str | None = None,
) -> Fit | Estimate:
    """Estimate all entries of data with missing and wrong ones.

    Parameters
    ----------
    data, mask, seed, init, callback, progress, checkpoint, every, executor, memory, threads, sweeps, tol, time
        As in `decompose`. Other hyper-parameters differ between methods: give them to the solver.
    solver : solver, optional
        By default that of `decompose`.
    rank : int, sequence of int, "auto", `budget` or `target`, optional
        For solvers that fit a ring; AWRTRD and SAWRTRD find one if it is left out.

    Returns
    -------
    Fit or Estimate
        With the dense ``tensor``. A method that fits a ring gives the same `Fit` as `decompose`.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.add.outer(np.arange(6.0), np.arange(5.0))
    >>> x[2, 2] = np.nan
    >>> est = ringlet.complete(x, solver=ringlet.AWRTRD(sweeps=100), rank=2)
    >>> est.tensor.shape
    (6, 5)
    """
    _check_solver(solver)
    finds = solver is None or solver.finds_rank
    wanted: Rank = "auto" if rank is None and finds else rank
    request = FitRequest(
        solver=solver,
        rank=wanted,
        seed=seed,
        init=init,
        callback=callback,
        progress=progress,
        checkpoint=checkpoint,
        every=every,
        executor=executor,
        time=time,
        fields={"memory": memory, "threads": threads, "sweeps": sweeps, "tol": tol},
    )
    return request.run(source_in_place(data, mask))


@usual_float_errors()
def decompose_many(
    data: Any, rank: int | Sequence[int], *, solver: AWRTRD | None = None, mask: Any = None, seed: int = 0
) -> ManyRings:
    """Fit a ring to each of many tensors of the same shape, all at once.

    Every operation is done for the whole stack. For small tensors, such as patches, this is many times faster. Each
    tensor gets the ring that ``decompose(data[i], rank, solver=solver, seed=seed)`` gives, up to rounding errors; if a
    tensor has more than 8192 entries, also up to the random sample that determines the kernel width.

    Parameters
    ----------
    data : array, shape (tensors, ...)
        In memory, or an array of PyTorch, CuPy or JAX, which stays on its device; at least two modes after the first.
        To measure the scale of every tensor, the data are read once on the host.
    rank : int or sequence of int
        The rank of every ring.
    solver : AWRTRD, optional
        By default ``AWRTRD(loss="correntropy", smooth=0)``. Smoothness, ``loss="learned"``, ``sigma="trusted"`` and
        ``scaling`` other than "global" are not available for stacks.
    mask : bool array of the same shape, optional
        True = observed.
    seed : int

    Returns
    -------
    ManyRings
        ``many[i]`` is a ring, ``many.tensor`` all entries of all.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> patches = np.fromfunction(lambda p, i, j, k: p + np.cos(i / 3 + j / 4) * k, (50, 8, 7, 6))
    >>> damaged = patches.copy()
    >>> damaged[:, 2, 3, 4] = 99.0
    >>> many = ringlet.decompose_many(damaged, rank=3, solver=ringlet.AWRTRD(loss="correntropy", smooth=0, sweeps=40))
    >>> bool(np.median(abs(many.tensor - patches)[:, 2, 3, 4]) < 0.5)
    True
    """
    chosen = AWRTRD(loss="correntropy", smooth=0.0) if solver is None else solver
    if not isinstance(chosen, AWRTRD):
        raise ArgumentTypeError(f"solver={chosen!r} is not for stacks; give ringlet.AWRTRD(loss=..., smooth=0)")
    allowed = {"smooth": chosen.smooth == 0, "loss": chosen.loss != "learned", "sigma": chosen.sigma != "trusted"}
    for name, fits in (allowed | {"scaling": chosen.scaling == "global"}).items():
        if not fits:
            raise ArgumentError(
                f"{name}={getattr(chosen, name)!r} is not for stacks; smooth=0, the losses 'correntropy', 'cauchy', "
                "'huber' and 'l2', sigma='iqr', 'maxabs' or a number, and scaling='global' are"
            )
    check_number("seed", seed, at_least=0, whole=True)
    source = source_in_place(data, mask)
    if len(source.shape) < 3:
        raise ArgumentError(f"data has shape {source.shape}; a stack of tensors has three modes or more")
    if source.chunks is not None:
        raise ArgumentTypeError("data lie in a store; a stack must be in memory, so give e.g. data[:1000]")
    bonds = chosen.bonds(rank, len(source.shape) - 1)
    check_stack(source.shape, bonds, chosen, working_dtype(source.dtype, chosen.dtype).itemsize)
    values: Any
    if isinstance(source, DeviceSource):
        place, values, observed = source.place, source.array, source.mask
        place.check_precision(working_dtype(source.dtype, chosen.dtype), source.dtype)
    else:
        place = Place(np, "cpu")
        values, observed = source.read(tuple(slice(0, length) for length in source.shape))
    room: AbstractContextManager[None] = nullcontext()
    if isinstance(source, DeviceSource):
        room = device_room(f"for a stack of {source.shape[0]} tensors", "give fewer at a time, or a smaller rank")
    with room, Threads(chosen.threads):  # which hold BLAS to one: the bits do not depend on the number of cores
        return fit_stack(place, values, observed, bonds, chosen, int(seed))


def plan(
    shape: Sequence[int],
    rank: Rank = None,
    *,
    solver: Solver | None = None,
    dtype: DTypeLike = np.uint8,
    chunks: Sequence[int] | None = None,
    device: Any = None,
) -> Plan:
    """Report the cost of a fit without running it: operations, bytes read and memory.

    Parameters
    ----------
    shape : sequence of int
        Shape of the data.
    rank : "auto", int, sequence of int, budget or target
        As in `decompose`; by default "auto" for solvers that can choose a rank. If the fit chooses the rank, the plan
        is that of the largest possible ring: an upper bound.
    solver : solver, optional
        As in `decompose`.
    dtype : dtype
        Dtype of the data.
    chunks : sequence of int, optional
        For data in a store: the size of a chunk along every mode.
    device : str, device or array, optional
        A device of PyTorch, as in `decompose`, or an array of PyTorch, CuPy or JAX that lies there: a note names what
        runs there, and in which precision.

    Returns
    -------
    Plan
        Printed, it is a table.

    Examples
    --------
    >>> import ringlet
    >>> cost = ringlet.plan((1920, 1080, 3, 50), (80, 80, 3, 20))
    >>> cost.operations < 5e11, cost.memory < 2e9
    (True, True)
    >>> print(cost.notes[0])
    The bond before mode 3 has rank 20 but its neighbours can carry only 9: the rest adds size, not accuracy.
    """
    sizes, kind = _checked_shape(shape), _checked_dtype(dtype)
    _check_solver(solver)
    chosen = solver or default_solver(sizes)
    itemsize = working_dtype(kind, chosen.dtype).itemsize
    wanted: Rank = "auto" if rank is None and chosen.finds_rank else rank
    bonds, choice = bonds_of(wanted, chosen, sizes, itemsize)
    lengths = None if chunks is None else _checked_chunks(chunks, sizes)
    notes = () if device is None else (device_note(device, chosen, kind),)
    if choice is None:
        cost = planned(chosen, None, sizes, bonds, kind, lengths)
        return replace(cost, notes=(*notes, *cost.notes)) if notes else cost  # type: ignore[type-var]
    most, smallest = choice.most_parameters(sizes, itemsize), bonds
    while True:  # memory limits the rank that is found
        bonds = choice.largest_rank(sizes, most)
        try:
            cost = planned(chosen, choice, sizes, bonds, kind, lengths)
            break
        except BudgetError:
            if bonds <= smallest:
                raise
            most //= 2
    note = f"rank={choice!r}: an upper bound, that of the largest ring the fit may come to, about rank {bonds}."
    return replace(cost, notes=(*notes, note, *cost.notes))  # type: ignore[type-var]


def _checked_shape(shape: Sequence[int]) -> tuple[int, ...]:
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
    if len(sizes) > MOST_MODES:
        raise ArgumentError(f"shape has {len(sizes)} modes; at most {MOST_MODES} are allowed")
    for length in sizes:
        check_number("shape", length, at_least=1, whole=True)
    return tuple(map(int, sizes))


def _checked_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    try:
        kind: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):
        raise ArgumentTypeError(f"dtype={dtype!r} is not a dtype; give that of the data, as 'float32'") from None
    check_dtype(kind)
    return kind


def _checked_chunks(chunks: Sequence[int], shape: tuple[int, ...]) -> Chunks:
    sizes = check_sequence("chunks", chunks, "one size a mode")
    if len(sizes) != len(shape):
        raise ArgumentError(f"chunks={sizes} has {len(sizes)} entries but shape has {len(shape)}; give one per mode")
    for size in sizes:
        check_number("chunks", size, at_least=1, whole=True)
    return regular_chunks(shape, sizes)


def _check_solver(solver: object) -> None:
    if solver is not None and not isinstance(solver, Solver):
        raise ArgumentTypeError(f"solver={solver!r} is not a solver; give e.g. ringlet.SAWRTRD(samples=30_000)")
