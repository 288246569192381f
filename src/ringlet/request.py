"""Checked arguments of a caller, and the fit of them: the one way from arguments to a result."""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field, fields, replace
from math import inf, prod
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.amounts import parse_seconds
from ringlet.arrays import Place, device_room, named_place, place_of
from ringlet.checks import check_flag, check_number
from ringlet.errors import ArgumentError, ArgumentTypeError, BudgetError, DataWarning, warn
from ringlet.execution import DaskExecutor
from ringlet.float_errors import usual_float_errors
from ringlet.results.fit import Estimate, Fit, HonestRing
from ringlet.results.progress import progress_line
from ringlet.results.records import Callback
from ringlet.results.ring_snapshot import RingSnapshot
from ringlet.ring import TensorRing
from ringlet.ring.ranks import bond_limits
from ringlet.solvers.base import Plan, Problem, Run, Solver, first_look, working_dtype
from ringlet.solvers.driver import RunOptions, drive
from ringlet.solvers.rank_choice import RankChoice
from ringlet.solvers.sawrtrd.robust_ring import RobustRing
from ringlet.solvers.sawrtrd.run import RobustSnapshot
from ringlet.solvers.sawrtrd.settings import AWRTRD, SAWRTRD
from ringlet.solvers.streaming.extend import RingExtender
from ringlet.solvers.streaming.extension_state import ExtensionState
from ringlet.solvers.tuning.automatic import start_automatic
from ringlet.solvers.tuning.holdout import holdout_memory
from ringlet.solvers.tuning.judging import judging_memory
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.solvers.tuning.snapshot import AutomaticSnapshot
from ringlet.sources import Chunks, DeviceSource, Source
from ringlet.sources.conversion import without_labels
from ringlet.sources.stores import backed_by_dask
from ringlet.store.checkpoint import check_checkpoint, open_checkpoint

__all__ = ["FitRequest", "Init", "Rank", "bonds_of", "default_solver", "planned", "with_fields"]

Rank: TypeAlias = int | Sequence[int] | str | RankChoice | None
Init: TypeAlias = TensorRing | Sequence[NDArray[Any]]

_SMALL = 1 << 22  # entries up to which AWRTRD, which uses all of them, costs no more than a sample


def default_solver(shape: Sequence[int]) -> AWRTRD | SAWRTRD:
    """The solver that `decompose` takes when none is given: all entries of small tensors, a sample of large ones.

    Its penalties are chosen by held-out entries.
    """
    return AWRTRD() if prod(shape) <= _SMALL else SAWRTRD()


@dataclass(frozen=True, kw_only=True)
class FitRequest:
    """The arguments of a caller, beside the data; see `ringlet.decompose`.

    `fields` are hyper-parameters that replace those of the solver; None: as the solver has it. `policy` decides how
    automatic fits are tuned.
    """

    solver: Solver | None = None
    rank: Rank = "auto"
    seed: int = 0
    init: Init | None = None
    callback: Callback | None = None
    progress: bool = False
    checkpoint: str | os.PathLike[str] | None = None
    every: int = 1
    executor: DaskExecutor | None = None
    device: Any = None
    time: float | str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    policy: TuningPolicy = field(default_factory=TuningPolicy)

    @usual_float_errors()
    def run(self, source: Source) -> Fit | Estimate:
        """Check everything, then fit."""
        source, labels = without_labels(source)
        start, callback = perf_counter(), self.callback
        solver = with_fields(self.solver or default_solver(source.shape), self.fields)
        home = source.place if isinstance(source, DeviceSource) else None
        source, device = self._on_device(solver, source)
        deadline = inf if self.time is None else start + parse_seconds(self.time)
        if callback is not None and not callable(callback):
            raise ArgumentTypeError(
                f"callback={callback!r} cannot be called; give a function of one argument, the state"
            )
        check_flag("progress", self.progress)
        with ExitStack() as stack:
            if device is not None:
                stack.enter_context(device_room("for the fit", alone=False))
            line = stack.enter_context(progress_line()) if self.progress else None
            if line is not None:
                line.phase("reading the data")
            problem = self._problem(solver, source, device)
            kept = stack.enter_context(open_checkpoint(self.checkpoint, self.every, solver, problem))
            begun: AbstractContextManager[Run]
            if isinstance(solver, RobustRing) and solver.tunes(problem.choice):
                begun = start_automatic(solver, problem, self.policy)  # held-out entries decide
            else:
                begun = solver.start(problem)
            run = stack.enter_context(begun)
            seen = None if callback is None else _with_labels(callback, source, home)
            status, history = drive(run, solver.stop_rule(), RunOptions(seen, line, kept, deadline))
            found, observed = run.snapshot(), problem.survey.observed / prod(source.shape)
            if not isinstance(found, RingSnapshot):
                dense = found.tensor()
                return Estimate(None, status, history, dense if home is None else home.give(dense))
            ring = TensorRing(found.ring().cores, names=source.names, units=source.units).at(home)
            fit = Fit(ring, status, history, source, found.kernel, missing_share=1 - observed, _labels=labels)
            if not (isinstance(found, RobustSnapshot) and isinstance(solver, RobustRing)):
                return fit  # there is nothing to extend it by
            scale, trusted = found.scale, (history[-1].mean_weight if history else 1.0) * observed
            left = ExtensionState(solver, scale.data_range, scale.penalty_unit, found.penalties, trusted)
            fit = replace(fit, _extender=RingExtender(left), _threads=solver.threads, _memory=solver.budget)
            if not isinstance(found, AutomaticSnapshot):
                return fit
            honest = None
            if found.honest is not None:
                honest = HonestRing(found.honest.ring(), found.unseen, found.judged_beside)
            return replace(fit, path=found.path, _honest=honest, _learned=found.judged)

    def _on_device(self, solver: Solver, source: Source) -> tuple[Source, Place | None]:
        """The data where the fit reads them, and the device that passes over them run on (None: in NumPy).

        AWRTRD, SAWRTRD and TRALS work where the data are. What looks at entries one by one needs a copy on the host:
        the other methods, rows drawn one by one, and held-out entries.
        """
        home = source.place if isinstance(source, DeviceSource) else None
        device = home if self.device is None else named_place(self.device, home)
        if home is not None and device != home:
            raise ArgumentError(f"device={self.device!r} is not that of the data, which lie on {home}; leave it out")
        if device is None:
            return source, None
        if self.executor is not None:
            raise ArgumentError(f"executor is not allowed with a device, here {device}; leave one of them out")
        by_passes = solver.by_passes()
        if self.device is not None and not by_passes:
            raise ArgumentError(
                f"device={self.device!r} is not allowed with {solver!r}, which works on the host; AWRTRD, SAWRTRD "
                "with sampling='subtensor' and baselines.TRALS work on devices"
            )
        if by_passes:
            device.check_precision(working_dtype(source.dtype, solver.dtype), source.dtype)
        tuned = solver.tunes(RankChoice.of(self.rank))
        if isinstance(source, DeviceSource) and (tuned or not by_passes):
            source = replace(source.on_host(), labels=None)
            if not by_passes or (device.on_host and self.device is None):
                return source, None
        return source, device

    def _problem(self, solver: Solver, source: Source, device: Place | None) -> Problem:
        """The checked data and arguments; what cannot be fitted is refused before any work."""
        itemsize = working_dtype(source.dtype, solver.dtype).itemsize
        bonds, choice = bonds_of(self.rank, solver, source.shape, itemsize)
        if self.init is not None and not solver.takes_init:
            name = type(solver).__name__
            raise ArgumentError(f"init is not allowed with {name}, which starts by itself; leave it out")
        init = None if self.init is None else _ring_of(self.init)
        if choice is not None and init is not None:
            bonds = _rank_of(init, source.shape, choice.most_parameters(source.shape, itemsize), self.rank)
            if any(bonds[bond] > 1 for bond in choice.still_bonds(len(bonds))):
                raise ArgumentError(f"init has rank {bonds}, but rank={self.rank!r} keeps the bonds of that mode at 1")
        check_number("seed", self.seed, at_least=0, whole=True)
        check_checkpoint(self.checkpoint, self.every, solver)
        executor = _checked_executor(self.executor, solver, source)
        judges = executor is None or source.chunks is not None  # an impossible budget is refused
        planned(solver, choice, source.shape, bonds, source.dtype, source.chunks, judges=judges)
        found = first_look(source, executor)
        if found.observed < prod(source.shape) and not solver.handles_missing:
            raise ArgumentError(
                f"solver={type(solver).__name__}() needs complete data, but {prod(source.shape) - found.observed} "
                "entries are missing (by mask, NaN or numpy.ma); use ringlet.SAWRTRD() or another method with "
                "handles_missing"
            )
        for mode, empty in enumerate(found.empty):
            if empty:
                called = f"{mode} ({source.names[mode]})" if source.names else mode
                warn(
                    f"{len(empty)} slice(s) of mode {called} hold no observed entry (the first at index {empty[0]}); "
                    "they are filled from their neighbours",
                    DataWarning,
                )
        if choice is None and solver.finds_rank:
            _warn_if_underdetermined(bonds, found.observed, source.shape)
        return Problem(source, found, bonds, int(self.seed), init, executor, choice, device)


def with_fields(solver: Solver, given: Mapping[str, Any]) -> Solver:
    """The solver with some hyper-parameters replaced; None keeps its own."""
    wanted = {name: value for name, value in given.items() if value is not None}
    for name in wanted:
        if all(one.name != name for one in fields(solver)):
            raise ArgumentError(f"{name} is not allowed with {type(solver).__name__}, which has no such parameter")
    return replace(solver, **wanted)


def _with_labels(callback: Callback, source: Source, home: Place | None) -> Callback:
    """The callback, shown rings with the names and units that the data have, and where they are."""
    return lambda state: callback(replace(state, _names=source.names, _units=source.units, _place=home))


def _warn_if_underdetermined(rank: tuple[int, ...], observed: int, shape: tuple[int, ...]) -> None:
    """Warn where the slices of a core have more unknowns than observed entries."""
    limits = bond_limits(shape, rank)
    for mode, length in enumerate(shape):
        unknowns, entries = limits[mode] * limits[(mode + 1) % len(shape)], observed / length
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
        on_cluster = source.chunks is not None and solver.distributes and backed_by_dask(source)
        return DaskExecutor.active() if on_cluster else None
    if not isinstance(executor, DaskExecutor):
        raise ArgumentTypeError(f"executor={executor!r} is no executor; give ringlet.DaskExecutor(client)")
    if not solver.distributes:
        raise ArgumentError(
            f"executor is not allowed with {type(solver).__name__}, which works on one machine; leave it out, or use "
            "ringlet.SAWRTRD(), ringlet.AWRTRD() or ringlet.baselines.TRALS()"
        )
    return executor


def bonds_of(
    rank: Rank, solver: Solver, shape: tuple[int, ...], itemsize: int
) -> tuple[tuple[int, ...], RankChoice | None]:
    """The rank to begin with, and what is to be found."""
    choice = RankChoice.of(rank)
    if choice is None:
        if rank is None and solver.finds_rank:
            raise ArgumentError("rank=None is not allowed; give e.g. rank=5, or rank='auto', which finds one")
        return solver.bonds(rank, len(shape)), None  # type: ignore[arg-type]
    if not solver.finds_rank:
        raise ArgumentError(
            f"rank={rank!r} is not allowed with {type(solver).__name__}, which needs a rank, e.g. rank=5; "
            "AWRTRD and SAWRTRD can find one"
        )
    if choice.still is not None and not -len(shape) <= choice.still < len(shape):
        raise ArgumentError(f"rank={rank!r} names mode {choice.still}, but the data have modes 0 to {len(shape) - 1}")
    return choice.start_rank(shape, choice.most_parameters(shape, itemsize)), choice


def device_note(device: Any, solver: Solver, data: np.dtype[Any]) -> str:
    """What of a fit runs on a device, given by its name or by an array that lies there; for plans."""
    place = place_of(device, "device") or named_place(device)
    if not solver.by_passes():
        return f"{type(solver).__name__} works on the host: it copies data that lie on {place}."
    dtype = working_dtype(data, solver.dtype)
    place.check_precision(dtype, data)
    where = "there, too" if place.solves and isinstance(solver, RobustRing) else "on the host"
    return f"Passes over the data run on {place}, in {dtype}; matrices are formed and factored {where}, in float64."


def planned(
    solver: Solver,
    choice: RankChoice | None,
    shape: tuple[int, ...],
    rank: tuple[int, ...],
    dtype: np.dtype[Any],
    chunks: Chunks | None,
    *,
    judges: bool = True,
) -> Plan:
    """What a sweep costs; where held-out entries decide, they are counted, too, and what judging takes.

    Methods other than AWRTRD and SAWRTRD hold the data in memory, and need not know its chunks.
    """
    if not isinstance(solver, RobustRing):
        return solver.plan(shape, rank, dtype)
    stored = chunks is not None
    held = holdout_memory(shape, stored=stored) if solver.tunes(choice) else 0
    judges = judges and solver.tunes(choice) and (choice is None or choice.still is None)
    if judges and (judging := judging_memory(solver, TuningPolicy(), shape, stored=stored)):
        with suppress(BudgetError):  # then a kernel weighs the entries
            return solver.plan(shape, rank, dtype, chunks, beside=held + judging)
    return solver.plan(shape, rank, dtype, chunks, beside=held)


def _rank_of(ring: TensorRing, shape: tuple[int, ...], most: int, rank: Rank) -> tuple[int, ...]:
    """The rank of the ring that a fit is to begin with, if it fits the data and the choice of ranks."""
    if ring.shape != shape:
        raise ArgumentError(f"init has shape {ring.shape}, but the data have shape {shape}")
    if ring.parameters > most:
        raise ArgumentError(
            f"init has {ring.parameters} numbers, but rank={rank!r} allows {most} on shape {shape}; round it first, "
            "e.g. init.round(rank=5)"
        )
    return ring.rank


def _ring_of(init: Init) -> TensorRing:
    """The ring that a fit is to begin with, its cores NumPy's arrays."""
    try:
        return (init if isinstance(init, TensorRing) else TensorRing(init)).to("numpy")
    except (ArgumentError, ArgumentTypeError) as error:
        raise type(error)(f"init is neither a ring nor a list of cores: {error}") from None
