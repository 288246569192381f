"""An extension under way: the new slices, and the other cores, as they move towards them."""

from math import inf, isfinite, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.execution import Profile
from ringlet.ring import GramChain, TensorRing
from ringlet.ring.arrays import Run
from ringlet.ring.chain import Core
from ringlet.ring.kronecker import KroneckerSum
from ringlet.ring.mixed import mixed_gram
from ringlet.robust import LOSSES, Kernel
from ringlet.sampling import Purpose, draw_subtensor, stream
from ringlet.solvers.engine.core_plan import plan_core
from ringlet.solvers.engine.gram_solve import GramFactor
from ringlet.solvers.engine.sketch import Sketch
from ringlet.solvers.engine.smoothness import FollowingFactor, laplacian, roughness, smooth_solve
from ringlet.solvers.engine.streamed_pass import StreamedPass, refold, unfold
from ringlet.solvers.engine.subchain import Workspace
from ringlet.solvers.ring_snapshot import fill_empty
from ringlet.solvers.sawrtrd.convergence import relative_change
from ringlet.solvers.sawrtrd.pilot import NARROWING, Trust, draw_pilot, rule_width
from ringlet.solvers.sawrtrd.ridge import automatic_ridge, unknowns_per_entry
from ringlet.solvers.streaming.extension_state import Continuation
from ringlet.solvers.streaming.new_slices import Slices

__all__ = ["ExtensionRun"]

Floats: TypeAlias = NDArray[np.floating[Any]]
Indices: TypeAlias = tuple[NDArray[np.intp], ...]

_ENTRIES_PER_UNKNOWN = 256  # a sketch of a new slice has at least so many: its slice is solved from that sketch alone
_KEPT_WEIGHTS = 1 << 24  # weights of so many entries are kept from the gradient to the line search


class ExtensionRun:
    """An extension under way. `cores[mode]` holds the new slices only; cores describe data divided by their size."""

    def __init__(
        self,
        ring: TensorRing,
        kernel: Kernel,
        continuation: Continuation,
        slices: Slices,
        run: Run,
        *,
        seed: int,
        forget: float,
        refreshes: bool,
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
        self._unit = continuation.unit(ring)
        past, count = continuation.past_along(mode, ring.cores[mode] / self._unit), slices.count
        self.past = past.faded((1.0 - forget) ** (count - len(slices.empty)))
        last = ring.cores[mode][:, -1:, :]
        self._before = [core / self._unit for core in (*ring.cores[:mode], last, *ring.cores[mode + 1 :])]
        self.cores = list(self._before)
        self.cores[mode] = np.repeat(self.cores[mode], count, axis=1)  # new slices begin as the last one
        shape = (*ring.shape[:mode], ring.shape[mode] + count, *ring.shape[mode + 1 :])
        self._unknowns = unknowns_per_entry(shape, ring.rank)
        self._index = self._draw(mode)  # the same for all steps, so that they lead somewhere
        self._trust = Trust.unmeasured(kernel.width / continuation.size)
        self._narrowest = 0.0
        # What the other cores do not hold yet would be taken for wrong: a narrower kernel waits until they have moved.
        chosen = continuation.penalties.width
        self._width_factor = max(1.0, chosen) if refreshes else chosen

    @property
    def rows(self) -> Floats:
        """The new slices."""
        return unfold(self.cores[self._mode])

    @property
    def trusted(self) -> float:
        """Share of the new entries that is observed and trusted."""
        return self._trust.mean_weight * self._slices.observed

    def _slice_shares(self) -> Floats:
        """The trusted part of every new slice, as a column."""
        shares = self._trust.mean_weight * self._slices.shares
        return shares.astype(self._given.dtype)[:, np.newaxis]

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
        level = self._continuation.penalty_unit * gram.trace() / gram.size
        settling = self._judge()
        if not (isfinite(level) and level > 0.0):
            return self._trust
        last, smooth = unfold(self._before[mode]), self._continuation.penalties.smooth[mode] * level
        factor, factored, quiet = None, 0.0, 0
        for _ in range(solver.sweeps):
            sketch = self._sketch(mode, self._index)
            streamed = self._stream(sketch)
            ridge = self._ridge() * level
            if factor is None or not factored / 2 <= ridge <= 2 * factored:
                factor, factored = self._factor(gram, ridge, smooth), ridge
            each = self._entries_each(sketch)  # penalties count by the trusted part of the sketch, as in a fit
            share, shares = self.trusted / each, self._slice_shares() / each
            gradient = streamed.gradient(self._loss, self._trust.width, self._run)  # d = (W o P o (X - A S^T)) S
            gradient -= (gradient.dtype.type(ridge) * shares) * streamed.rows
            if smooth:
                gradient -= gradient.dtype.type(share * smooth) * laplacian(np.concatenate([last, streamed.rows]))[1:]
            direction = factor.solve(gradient, self._run)  # h = d (G + lambda I)^-1
            curvature = streamed.curvature(direction, self._loss, self._trust.width, self._run)
            curvature += ridge * float(np.vdot(shares * direction, direction))
            curvature += share * smooth * roughness(np.concatenate([np.zeros_like(last), direction]))
            rows = streamed.rows + _step(gradient, direction, curvature)
            self.cores[mode] = refold(rows, a, b)
            quiet = quiet + 1 if relative_change(rows, streamed.rows) < solver.tol and not settling else 0
            if quiet >= solver.patience:
                break
            settling = self._judge()
        self._fill_empty()
        return self._trust

    def _factor(self, gram: KroneckerSum, ridge: float, smooth: float) -> GramFactor | FollowingFactor:
        """Scales the gradient of the new slices; neighbours in time pull at each other if the mode is smooth."""
        dtype = self._given.dtype
        if not smooth:
            return GramFactor(gram, ridge, dtype, self._run)
        return FollowingFactor(gram, ridge, smooth, self._slices.count, dtype, self._run)

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
        self._width_factor = self._continuation.penalties.width

    def _moved(self, k: int, past: Core, gram_past: KroneckerSum, gram: KroneckerSum) -> Core | None:
        """Core k after one scaled steepest descent step with exact line search."""
        level = self._continuation.penalty_unit * gram.trace() / gram.size
        if not (isfinite(level) and level > 0.0):
            return None
        a, _, b = self.cores[k].shape
        sketch = self._sketch(k, self._draw(k))
        streamed = self._stream(sketch)
        each = self._entries_each(sketch)  # a sampled entry speaks for so many
        dtype, rows = streamed.rows.dtype, streamed.rows.astype(np.float64)
        gradient = each * streamed.gradient(self._loss, self._trust.width, self._run).astype(np.float64)
        # mu || A - A_0 ||^2, and as smooth as A has to be: the penalties had their say on A_0 already
        penalty, smooth = self._ridge() * level, self._continuation.penalties.smooth[k] * level
        if any(core is not was for core, was in zip(self._others(self.cores), self._others(self._before), strict=True)):
            first = unfold(self._before[k]).astype(np.float64)
            mixed = mixed_gram(_with(self._before, self._mode, past), _with(self.cores, self._mode, past), k)
            gradient += mixed.apply(first, self._run) - gram_past.apply(rows, self._run)
            gradient -= penalty * (rows - first) + smooth * laplacian(rows - first)
        if smooth:
            direction = smooth_solve(gram, penalty, smooth, gradient.astype(dtype), self._run)
        else:
            direction = GramFactor(gram, penalty, dtype, self._run).solve(gradient.astype(dtype), self._run)
        curvature = each * streamed.curvature(direction, self._loss, self._trust.width, self._run)
        wide = direction.astype(np.float64)
        curvature += float(np.vdot(wide, gram_past.apply(wide, self._run)))
        curvature += penalty * float(np.vdot(direction, direction)) + smooth * roughness(wide)
        return refold(streamed.rows + _step(gradient, direction, curvature), a, b)

    def _judge(self) -> bool:
        """Measure the kernel width on a pilot, if that holds data; tell if the width is still narrowing."""
        chosen = draw_pilot([len(indices) for indices in self._index], self._rng)
        index = tuple(indices[part] for indices, part in zip(self._index, chosen, strict=True))
        pilot = self._stream(self._sketch(self._mode, index)).residuals()
        if not pilot.size:
            return False
        width, settling = rule_width(self._solver, pilot, self._continuation.size), False
        if isinstance(self._solver.sigma, str):
            width *= self._width_factor
            settling = width <= self._narrowest < inf
            width = max(width, self._narrowest)
        self._trust = Trust.of(pilot, self._loss, width)
        self._narrowest = NARROWING * width
        return settling

    def _ridge(self) -> float:
        """The penalty on a core, as in a fit."""
        if self._continuation.penalties.ridge is not None:
            return self._continuation.penalties.ridge
        return automatic_ridge(self._unknowns, self.trusted)

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
        if self._slices.empty:
            known = np.concatenate([self._before[self._mode], self.cores[self._mode]], axis=1)
            self.cores[self._mode] = fill_empty(known, [i + 1 for i in self._slices.empty])[:, 1:]


def _with(cores: list[Core], mode: int, core: Core) -> list[Core]:
    return [*cores[:mode], core, *cores[mode + 1 :]]


def _step(gradient: Floats, direction: Floats, curvature: float) -> Floats:
    """``eta h`` with ``eta = <d, h> / <h, H h>``; nothing where there is nowhere to go."""
    size = float(np.vdot(gradient, direction)) / curvature if curvature > 0.0 else 0.0
    return direction * direction.dtype.type(size if isfinite(size) else 0.0)
