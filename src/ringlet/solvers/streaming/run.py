"""A running extension: the new slices, and the other cores, which are adapted to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.results.fit import ExtendOptions
from ringlet.results.ring_snapshot import fill_empty
from ringlet.ring import GramChain, TensorRing
from ringlet.ring.arrays import Array64, Floats, Mapper
from ringlet.ring.chain import Core, refold, unfold
from ringlet.ring.gram import KroneckerSum, relative_change
from ringlet.ring.mixed import mixed_gram
from ringlet.ring.ranks import unknowns_per_entry
from ringlet.robust import NARROWING, Kernel, PilotStats
from ringlet.sampling import Purpose, draw_subtensor, stream
from ringlet.solvers.engine.block_work import Weights
from ringlet.solvers.engine.engine import pilot_entries
from ringlet.solvers.engine.gram_solve import GramFactor
from ringlet.solvers.engine.scaled_step import CorePenalty, Descent, scaled_step, solver_of
from ringlet.solvers.engine.smoothness import FollowingFactor, laplacian, roughness
from ringlet.solvers.engine.streamed_pass import Sketch, StreamedPass
from ringlet.solvers.engine.subchain import Resources
from ringlet.solvers.streaming.extension_state import ExtensionState
from ringlet.solvers.streaming.new_slices import Slices

__all__ = ["ExtensionRun"]

Indices: TypeAlias = tuple[NDArray[np.intp], ...]

_ENTRIES_PER_UNKNOWN = 256  # least entries of a sketch of a new slice, which is solved from this sketch alone
_KEPT_WEIGHTS = 1 << 24  # entries of which the weights are kept from the gradient to the line search


class ExtensionRun:
    """A running extension. `cores[mode]` holds the new slices only; cores are for data divided by their range.

    Parameters
    ----------
    ring : TensorRing
        In the data's units.
    kernel : Kernel
        Of the fit so far.
    state : ExtensionState
    slices : Slices
    options : ExtendOptions
    mapper : callable
        Used like `map` for independent pieces.
    """

    def __init__(
        self,
        ring: TensorRing,
        kernel: Kernel,
        state: ExtensionState,
        slices: Slices,
        options: ExtendOptions,
        mapper: Mapper,
    ) -> None:
        self._given = ring
        self._extension = state
        self._solver = state.solver
        self._slices = slices
        self._mode = mode = slices.mode
        self._resources = Resources(mapper)
        self._rng = stream(options.seed, Purpose.EXTENSION, ring.shape[mode], mode)
        self._unit = state.core_unit(ring)
        past, count = state.past_along(mode, ring.cores[mode] / self._unit), slices.count
        self.past = past.faded((1.0 - options.forget) ** (count - len(slices.empty)))
        last = ring.cores[mode][:, -1:, :]
        self._before = [core / self._unit for core in (*ring.cores[:mode], last, *ring.cores[mode + 1 :])]
        self.cores = list(self._before)
        self.cores[mode] = np.repeat(self.cores[mode], count, axis=1)  # new slices begin as copies of the last one
        shape = (*ring.shape[:mode], ring.shape[mode] + count, *ring.shape[mode + 1 :])
        self._unknowns = unknowns_per_entry(shape, ring.rank)
        self._index = self._draw(mode)  # the same for all steps, so that they converge
        self._pilot = PilotStats(Kernel(kernel.width / state.data_range, self._solver.kernel_loss))
        self._narrowest = 0.0
        # What the other cores cannot describe yet would be judged wrong, so the kernel narrows after they have moved.
        chosen = state.penalties.width
        self._width_factor = max(1.0, chosen) if options.refresh else chosen

    @property
    def rows(self) -> Floats:
        """The new slices."""
        return unfold(self.cores[self._mode])

    @property
    def trusted(self) -> float:
        """Share of the new entries that is observed and trusted."""
        return self._pilot.mean_weight * self._slices.observed

    def ring(self) -> TensorRing:
        """The whole ring in the data's units; unchanged cores keep their bits."""
        cores = [
            given if core is before else core * self._unit
            for given, before, core in zip(self._given.cores, self._before, self.cores, strict=True)
        ]
        cores[self._mode] = np.concatenate([self._given.cores[self._mode], cores[self._mode]], axis=1)
        return TensorRing(cores, names=self._given.names, units=self._given.units)

    def settle(self) -> PilotStats:
        """Solve the new slices with the other cores fixed: a robust regression, by scaled steepest descent."""
        mode, solver, mapper = self._mode, self._solver, self._resources.mapper
        a, _, b = self.cores[mode].shape
        gram = GramChain(self.cores, mapper).without(mode)
        level = self._extension.penalty_unit * gram.trace() / gram.size
        settling = self._measure()
        if not (isfinite(level) and level > 0.0):
            return self._pilot
        last, smooth = unfold(self._before[mode]), self._extension.penalties.smooth[mode] * level
        factor, factored, quiet = None, 0.0, 0
        for _ in range(solver.sweeps):
            sketch = self._sketch(mode, self._index)
            streamed, ridge = self._stream(sketch), self._ridge() * level
            if factor is None or not factored / 2 <= ridge <= 2 * factored:
                factor, factored = self._factor(gram, ridge, smooth), ridge
            shares = (self._pilot.mean_weight * self._slices.shares).astype(self._given.dtype)[:, np.newaxis]
            shares /= self._entries_each(sketch)  # penalties count by the trusted part of the sketch, as in a fit
            penalty = CorePenalty(ridge, smooth, shares, before=last)
            moved = scaled_step(Descent(streamed, *streamed.gradient(self._pilot.kernel)), penalty, factor.solve)
            rows = streamed.rows if moved is None else moved
            self.cores[mode] = refold(rows, a, b)
            quiet = quiet + 1 if relative_change(rows, streamed.rows) < solver.tol and not settling else 0
            if quiet >= solver.patience:
                break
            settling = self._measure()
        self._fill_empty()
        return self._pilot

    def _factor(self, gram: KroneckerSum, ridge: float, smooth: float) -> GramFactor | FollowingFactor:
        """Scales the gradient of the new slices; along a smooth mode neighbouring slices are coupled."""
        dtype, mapper = self._given.dtype, self._resources.mapper
        if not smooth:
            return GramFactor(gram, ridge, dtype, mapper)
        return FollowingFactor(gram, ridge, smooth, self._slices.count, dtype, mapper)

    def refresh(self) -> None:
        """Move every other core once, towards the new slices and away from earlier values as little as possible.

        Core k minimises, to second order, the robust loss of the new slices plus what the change does to the earlier
        ones, ``|| A S^T - A_0 S_0^T ||^2`` summed over the past (0: before the extension). At a minimum of the earlier
        loss that sum is its second-order expansion, so the data of earlier slices are not needed.
        """
        mode, mapper = self._mode, self._resources.mapper
        a, _, b = self.cores[mode].shape
        past = refold(self.past.rows, a, b)
        new = np.sqrt(self.trusted) * self.cores[mode].astype(np.float64)
        of_past = GramChain(_with(self.cores, mode, past), mapper)
        of_all = GramChain(_with(self.cores, mode, np.concatenate([past, new], axis=1)), mapper)
        for k in range(len(self.cores)):
            if k != mode:
                core = self._moved(k, past, of_past.without(k), of_all.without(k))
                if core is not None:
                    self.cores[k] = core
                    of_past, of_all = of_past.with_core(k, core), of_all.with_core(k, core)
        self._width_factor = self._extension.penalties.width

    def _moved(self, k: int, past: Core, gram_past: KroneckerSum, gram: KroneckerSum) -> Core | None:
        """Core k after one scaled step; None if it cannot move."""
        level = self._extension.penalty_unit * gram.trace() / gram.size
        if not (isfinite(level) and level > 0.0):
            return None
        a, _, b = self.cores[k].shape
        sketch, mapper = self._sketch(k, self._draw(k)), self._resources.mapper
        ridge, smooth = self._ridge() * level, self._extension.penalties.smooth[k] * level
        first = pull = None
        if any(core is not was for core, was in zip(self._others(self.cores), self._others(self._before), strict=True)):
            first = unfold(self._before[k], np.float64)
            mixed = mixed_gram(_with(self._before, self._mode, past), _with(self.cores, self._mode, past), k)
            pull = mixed.apply(first, mapper)
        data = _RepeatedPass(self._stream(sketch), self._entries_each(sketch))
        solve = solver_of(gram, ridge, smooth, mapper)
        rows = scaled_step(
            Descent(data, *data.gradient(self._pilot.kernel)),
            _PastPenalty(gram_past, ridge, smooth, first, pull),
            lambda d: solve(d.astype(data.rows.dtype)),
        )
        return refold(data.rows if rows is None else rows, a, b)

    def _measure(self) -> bool:
        """Measure the kernel width on a pilot, if it has data; return whether the width still becomes narrower."""
        sizes = [len(indices) for indices in self._index]
        chosen = draw_subtensor(sizes, pilot_entries(sizes), self._rng)
        index = tuple(indices[part] for indices, part in zip(self._index, chosen, strict=True))
        residuals = self._stream(self._sketch(self._mode, index)).residuals()
        if not residuals.size:
            return False
        rule, data_range = self._solver.width_rule(), self._extension.data_range
        self._pilot = rule.pilot(residuals, data_range, self._narrowest, self._width_factor)
        self._narrowest = NARROWING * self._pilot.kernel.width
        return self._pilot.settling

    def _ridge(self) -> float:
        """The strength of the ridge, as in a fit."""
        return self._extension.penalties.ridge_for(self._unknowns, self.trusted)

    def _draw(self, k: int) -> Indices:
        """Indices of the new slices that an update of core k uses: as many as in a fit, or all."""
        shape, samples = self._slices.source.shape, self._solver.sampling_rule().samples
        if samples is None:
            return tuple(np.arange(length) for length in shape)
        if k == self._mode:
            samples = max(samples, _ENTRIES_PER_UNKNOWN * self.cores[k][:, 0].size)
        return draw_subtensor(shape, samples, self._rng, whole=k)

    def _sketch(self, k: int, index: Indices) -> Sketch:
        cores = [core[:, part] for core, part in zip(self.cores, index, strict=True)]
        return Sketch(self._slices.source, k, index, cores)

    def _stream(self, sketch: Sketch) -> StreamedPass:
        entries = prod(sketch.sizes)
        room = np.empty(entries, self._given.dtype) if entries <= _KEPT_WEIGHTS else None
        return StreamedPass(sketch, self._extension.data_range, self._resources, room)

    def _entries_each(self, sketch: Sketch) -> float:
        """New entries for every entry of the sketch."""
        return prod(self._slices.source.shape) / prod(sketch.sizes)

    def _others(self, cores: Sequence[Core]) -> list[Core]:
        return [core for k, core in enumerate(cores) if k != self._mode]

    def _fill_empty(self) -> None:
        """Interpolate slices without any observed entry; the last earlier slice is a neighbour, too."""
        if self._slices.empty:
            known = np.concatenate([self._before[self._mode], self.cores[self._mode]], axis=1)
            self.cores[self._mode] = fill_empty(known, [i + 1 for i in self._slices.empty])[:, 1:]


@dataclass(frozen=True)
class _RepeatedPass:
    """A pass over a sample in which each entry counts `times`; in float64, because penalties are large."""

    streamed: StreamedPass
    times: float

    @property
    def rows(self) -> Floats:
        return self.streamed.rows

    def gradient(self, kernel: Kernel) -> tuple[Floats, Weights]:
        gradient, weights = self.streamed.gradient(kernel)
        return self.times * gradient.astype(np.float64), weights

    def curvature(self, direction: Floats, weights: Weights) -> float:
        return self.times * self.streamed.curvature(direction, weights)


@dataclass(frozen=True)
class _PastPenalty:
    """The penalty on a change of core k: the change of earlier slices, and the penalties, which A_0 already balances.

    Attributes
    ----------
    gram_past : KroneckerSum
        ``S^T S`` of the past, with the other cores as they are now.
    ridge, smooth : float
    first : array or None
        A_0; None while no other core has moved, because the step then begins at A_0.
    pull_back : array or None
        ``A_0 S_0^T S`` of the past.
    """

    gram_past: KroneckerSum
    ridge: float
    smooth: float
    first: Array64 | None
    pull_back: Array64 | None

    def pull(self, gradient: Floats, rows: Floats) -> Floats:
        if self.first is not None and self.pull_back is not None:
            wide = rows.astype(np.float64)
            gradient += self.pull_back - self.gram_past.apply(wide)
            gradient -= self.ridge * (wide - self.first) + self.smooth * laplacian(wide - self.first)
        return gradient

    def curvature(self, direction: Floats) -> float:
        wide = direction.astype(np.float64)
        total = float(np.vdot(wide, self.gram_past.apply(wide)))
        return total + self.ridge * float(np.vdot(direction, direction)) + self.smooth * roughness(wide)


def _with(cores: list[Core], mode: int, core: Core) -> list[Core]:
    return [*cores[:mode], core, *cores[mode + 1 :]]
