"""New slices for a fitted ring: solved with the other cores fixed, then the other cores are moved towards them.

The data of earlier slices are not needed, nor is their number of any consequence: what the other cores must leave as it
is enters through the Gram matrix of the condensed past.
"""

from dataclasses import dataclass, replace
from math import inf, isfinite, prod
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.execution import Profile, Threads
from ringlet.ring import GramChain, TensorRing
from ringlet.ring.arrays import Run
from ringlet.ring.chain import Core
from ringlet.ring.kronecker import KroneckerSum
from ringlet.ring.mixed import mixed_gram
from ringlet.robust import LOSSES, Kernel
from ringlet.sampling import Purpose, draw_subtensor, stream
from ringlet.solvers.continuation import Continuation, Past
from ringlet.solvers.direction import GramFactor
from ringlet.solvers.driver import SweepRecord, relative_change
from ringlet.solvers.new_slices import Slices
from ringlet.solvers.operators import Workspace
from ringlet.solvers.plan import plan_core
from ringlet.solvers.robust_run import Sketch, automatic_ridge, fill_empty, unknowns_per_entry
from ringlet.solvers.streamed_pass import StreamedPass, refold, unfold
from ringlet.solvers.trust import NARROWING, Trust, draw_pilot, rule_width

__all__ = ["Extension", "extend_ring"]

Floats: TypeAlias = NDArray[np.floating[Any]]
Indices: TypeAlias = tuple[NDArray[np.intp], ...]

_ENTRIES_PER_UNKNOWN = 256  # a sketch of a new slice has at least so many: its slice is solved from that sketch alone
_KEPT_WEIGHTS = 1 << 24  # weights of so many entries are kept from the gradient to the line search


@dataclass(frozen=True)
class Extension:
    """A ring with slices appended, and how that went."""

    ring: TensorRing
    history: tuple[SweepRecord, ...]
    kernel: Kernel
    continuation: Continuation


def extend_ring(
    ring: TensorRing, continuation: Continuation, slices: Slices, *, seed: int, refresh: int, forget: float
) -> Extension:
    """Append slices to a ring.

    Parameters
    ----------
    ring : TensorRing
        In the data's units.
    continuation : Continuation
    slices : Slices
    seed : int
    refresh : int
        Rounds over the other cores.
    forget : float
        Share of the say of earlier slices that every new one takes away.
    """
    history: list[SweepRecord] = []
    with Threads(continuation.solver.threads) as threads:
        work = _ExtensionRun(ring, continuation, slices, seed, forget, threads.run)
        for number in range(1, refresh + 2):
            start, before = perf_counter(), work.rows
            if number > 1:
                work.refresh()
            trust = work.settle()
            change = relative_change(work.rows, before)
            loss, sigma = trust.loss * continuation.size**2, trust.width * continuation.size
            history.append(SweepRecord(number, perf_counter() - start, change, loss, sigma, trust.mean_weight))
        past = work.past.with_slices(work.cores[slices.mode], work.trusted)
    kernel = Kernel(history[-1].sigma, LOSSES[continuation.solver.loss])
    return Extension(work.ring(), tuple(history), kernel, replace(continuation, past=past))


class _ExtensionRun:
    """An extension under way. `cores[mode]` holds the new slices only; cores describe data divided by their size."""

    def __init__(
        self, ring: TensorRing, continuation: Continuation, slices: Slices, seed: int, forget: float, run: Run
    ) -> None:
        self._given = ring
        self._continuation = continuation
        self._solver = continuation.solver
        self._loss = LOSSES[self._solver.loss]
        self._slices = slices
        self._mode = mode = slices.mode
        self._run = run
        self._rng = stream(seed, Purpose.EXTENSION, ring.shape[mode], mode)
        self._workspace, self._profile = Workspace(), Profile()
        self._unit = ring.dtype.type(continuation.size ** (1 / ring.ndim))
        past = continuation.past
        if past is None or past.mode != mode:
            past = Past.of(mode, ring.cores[mode] / self._unit, continuation.trusted)
        count = slices.source.shape[mode]
        self.past = past.faded((1.0 - forget) ** count)
        last = ring.cores[mode][:, -1:, :]
        self._before = [core / self._unit for core in (*ring.cores[:mode], last, *ring.cores[mode + 1 :])]
        self.cores = list(self._before)
        self.cores[mode] = np.repeat(self.cores[mode], count, axis=1)  # new slices begin as the last one
        shape = (*ring.shape[:mode], ring.shape[mode] + count, *ring.shape[mode + 1 :])
        self._unknowns = unknowns_per_entry(shape, ring.rank)
        self._index = self._draw(mode)  # the same for all steps, so that they lead somewhere
        self._trust = Trust(inf, 0.0, 1.0)
        self._narrowest = 0.0

    @property
    def rows(self) -> Floats:
        """The new slices."""
        return unfold(self.cores[self._mode])

    @property
    def trusted(self) -> float:
        """Share of the new entries that is observed and trusted."""
        return self._trust.mean_weight * self._slices.observed

    def ring(self) -> TensorRing:
        """The whole ring in the data's units; what did not change keeps its bits."""
        cores = [
            given if core is before else core * self._unit
            for given, before, core in zip(self._given.cores, self._before, self.cores, strict=True)
        ]
        cores[self._mode] = np.concatenate([self._given.cores[self._mode], cores[self._mode]], axis=1)
        return TensorRing(cores, names=self._given.names, units=self._given.units)

    def settle(self) -> Trust:
        """Solve the new slices with the other cores fixed: a robust regression, by scaled steepest descent."""
        mode, solver = self._mode, self._solver
        a, _, b = self.cores[mode].shape
        gram = GramChain(self.cores, self._run).kronecker_without(mode)
        level = gram.trace() / gram.size
        observed, settling = self._judge()
        if not (observed and isfinite(level) and level > 0.0):
            return self._trust
        factor, factored, quiet = None, 0.0, 0
        for _ in range(solver.sweeps):
            sketch = self._sketch(mode, self._index)
            streamed = self._stream(sketch)
            ridge = self._ridge() * level
            if factor is None or not factored / 2 <= ridge <= 2 * factored:
                factor, factored = GramFactor(gram, ridge, self.cores[mode].dtype, self._run), ridge
            penalty = ridge * self.trusted / self._entries_each(sketch)  # mu
            gradient = streamed.gradient(self._loss, self._trust.width, self._run)  # d = (W o P o (X - A S^T)) S
            gradient -= gradient.dtype.type(penalty) * streamed.rows
            direction = factor.solve(gradient, self._run)  # h = d (G + lambda I)^-1
            curvature = streamed.curvature(direction, self._loss, self._trust.width, self._run)
            rows = streamed.rows + _step(gradient, direction, curvature, penalty)
            self.cores[mode] = refold(rows, a, b)
            quiet = quiet + 1 if relative_change(rows, streamed.rows) < solver.tol and not settling else 0
            if quiet >= solver.patience:
                break
            _, settling = self._judge()
        self._fill_empty()
        return self._trust

    def refresh(self) -> None:
        """Move every other core once, towards the new slices and away from earlier values as little as possible.

        Core k minimises, to second order, the robust loss of the new slices plus what the change does to the earlier
        ones, ``|| A S^T - A_0 S_0^T ||^2`` summed over the past (0: before the extension). At a minimum of the earlier
        loss that sum is its second-order expansion, so the data of earlier slices are not needed.
        """
        mode = self._mode
        a, _, b = self.cores[mode].shape
        past = refold(self.past.rows, a, b)
        new = np.sqrt(self.trusted) * self.cores[mode].astype(np.float64)
        of_past = GramChain(_with(self.cores, mode, past), self._run)
        of_all = GramChain(_with(self.cores, mode, np.concatenate([past, new], axis=1)), self._run)
        for k in range(len(self.cores)):
            if k != mode:
                core = self._moved(k, past, of_past.kronecker_without(k), of_all.kronecker_without(k))
                if core is not None:
                    self.cores[k] = core
                    of_past.replace(k, core)
                    of_all.replace(k, core)

    def _moved(self, k: int, past: Core, gram_past: KroneckerSum, gram: KroneckerSum) -> Core | None:
        """Core k after one scaled steepest descent step with exact line search."""
        level = gram.trace() / gram.size
        if not (isfinite(level) and level > 0.0):
            return None
        a, _, b = self.cores[k].shape
        sketch = self._sketch(k, self._draw(k))
        streamed = self._stream(sketch)
        each = self._entries_each(sketch)  # a sampled entry speaks for so many
        dtype, rows = streamed.rows.dtype, streamed.rows.astype(np.float64)
        gradient = each * streamed.gradient(self._loss, self._trust.width, self._run).astype(np.float64)
        penalty = self._ridge() * level  # mu || A - A_0 ||^2: the ridge had its say on A_0 already
        if any(core is not was for core, was in zip(self._others(self.cores), self._others(self._before), strict=True)):
            first = unfold(self._before[k]).astype(np.float64)
            mixed = mixed_gram(_with(self._before, self._mode, past), _with(self.cores, self._mode, past), k)
            gradient += mixed.apply(first, self._run) - gram_past.apply(rows, self._run) - penalty * (rows - first)
        factor = GramFactor(gram, penalty, dtype, self._run)
        direction = factor.solve(gradient.astype(dtype), self._run)
        curvature = each * streamed.curvature(direction, self._loss, self._trust.width, self._run)
        wide = direction.astype(np.float64)
        curvature += float(np.vdot(wide, gram_past.apply(wide, self._run)))
        return refold(streamed.rows + _step(gradient, direction, curvature, penalty), a, b)

    def _judge(self) -> tuple[bool, bool]:
        """Measure the kernel width on a pilot; tell if it holds any data, and if the width is still narrowing."""
        chosen = draw_pilot([len(indices) for indices in self._index], self._rng)
        index = tuple(indices[part] for indices, part in zip(self._index, chosen, strict=True))
        pilot = self._stream(self._sketch(self._mode, index)).residuals()
        if not pilot.size:
            return False, False
        width = rule_width(self._solver, pilot, self._continuation.size)
        settling = isinstance(self._solver.sigma, str) and width <= self._narrowest < inf
        if isinstance(self._solver.sigma, str):
            width = max(width, self._narrowest)
        self._trust = Trust.of(pilot, self._loss, width)
        self._narrowest = NARROWING * width
        return True, settling

    def _ridge(self) -> float:
        """The penalty relative to the mean diagonal of the Gram matrix, as in a fit."""
        if not isinstance(self._solver.ridge, str):
            return float(self._solver.ridge)
        return automatic_ridge(self._unknowns, self.trusted, self._continuation.level)

    def _draw(self, k: int) -> Indices:
        """Indices of the new slices that an update of core k looks at: as many as in a fit, or all."""
        shape = self._slices.source.shape
        samples, _ = self._solver.columns()
        if samples is None:
            return tuple(np.arange(length) for length in shape)
        if k == self._mode:
            samples = max(samples, _ENTRIES_PER_UNKNOWN * self.cores[k][:, 0].size)
        return draw_subtensor(shape, samples, self._rng, whole=k)

    def _sketch(self, k: int, index: Indices) -> Sketch:
        return Sketch(
            self._slices.source, k, index, [core[:, part] for core, part in zip(self.cores, index, strict=True)]
        )

    def _stream(self, sketch: Sketch) -> StreamedPass:
        plan = plan_core(sketch.sizes, tuple(core.shape[0] for core in sketch.cores), sketch.mode)
        return StreamedPass(
            sketch.source,
            sketch.index,
            sketch.cores,
            plan,
            scale=self._continuation.size,
            row_weights=None,
            weights_room=np.empty(plan.entries, self._given.dtype) if plan.entries <= _KEPT_WEIGHTS else None,
            workspace=self._workspace,
            profile=self._profile,
        )

    def _entries_each(self, sketch: Sketch) -> float:
        """New entries for every entry of the sketch."""
        return prod(self._slices.source.shape) / prod(sketch.sizes)

    def _others(self, cores: list[Core]) -> list[Core]:
        return [core for k, core in enumerate(cores) if k != self._mode]

    def _fill_empty(self) -> None:
        """Slices that no entry speaks for are made from their neighbours; the last earlier slice is one."""
        empty = self._slices.survey.empty[self._mode]
        if empty:
            known = np.concatenate([self._before[self._mode], self.cores[self._mode]], axis=1)
            self.cores[self._mode] = fill_empty(known, [i + 1 for i in empty])[:, 1:]


def _with(cores: list[Core], mode: int, core: Core) -> list[Core]:
    return [*cores[:mode], core, *cores[mode + 1 :]]


def _step(gradient: Floats, direction: Floats, curvature: float, penalty: float) -> Floats:
    """``eta h`` with ``eta = <d, h> / (<h, H h> + mu <h, h>)``; nothing where there is nowhere to go."""
    curvature += penalty * float(np.vdot(direction, direction))
    size = float(np.vdot(gradient, direction)) / curvature if curvature > 0.0 else 0.0
    return direction * direction.dtype.type(size if isfinite(size) else 0.0)
