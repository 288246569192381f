"""One pass over a sketch on a device: what `StreamedPass` does on the host, on arrays of any library.

If equations are solved on the device, cores, gradients and directions are there, too. Otherwise the sampled cores and
the rows of a direction are sent there, and the rows of the gradient come back. Entries of the data stay where they are,
or are sent a block at a time if they are on the host.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from ringlet.arrays import Place
from ringlet.ring.arrays import Floats
from ringlet.ring.chain import unfold
from ringlet.robust import Kernel
from ringlet.solvers.engine.block_work import Weights, block_to_read
from ringlet.solvers.engine.core_plan import CorePlan, Piece, SliceBlock, plan_core
from ringlet.solvers.engine.device_work import scaled_entries, weights_of
from ringlet.solvers.engine.streamed_pass import Sketch
from ringlet.solvers.engine.subchain import FreshProducts, Operator, Resources, build_operator
from ringlet.sources import Block, DeviceSource, Source

__all__ = ["DevicePass", "DeviceWeights", "device_plan"]

_KEPT_ENTRIES = 1 << 26  # whose weights are kept on the device from the gradient to the line search
_BYTES_AN_ENTRY = 6  # arrays of the working precision that a block takes at once: entries, model, weights, ...

_Kept: TypeAlias = dict[tuple[int, int], Any]  # weights by where their block begins and ends; None: all are one


Result = TypeVar("Result")


class _Entries(Protocol):
    """Entries of a tensor, given as arrays of a device."""

    def gather(self, block: Block, order: tuple[int, ...] | None = None) -> tuple[Any, Any]:
        """Values of a block, and which of them are observed (None: all)."""
        ...


@dataclass(frozen=True)
class _Sent:
    """Entries of a source on the host, sent to a device when they are needed."""

    source: Source
    place: Place

    def gather(self, block: Block, order: tuple[int, ...] | None = None) -> tuple[Any, Any]:
        values, observed = self.source.read(block, order)
        if values.dtype.kind == "u" and values.dtype.itemsize > 1:  # torch computes little with these dtypes
            values = values.astype(np.float32 if values.dtype.itemsize == 2 else np.float64)
        return self.place.send(values), None if observed is None else self.place.send(observed)


@dataclass(frozen=True)
class DeviceWeights(Weights):
    """The weights of a pass by where their blocks begin and end; those that are not kept are computed twice."""

    blocks: _Kept = field(default_factory=dict)


class DevicePass:
    """A pass over one sketch on a device, in blocks that are halved if its memory is used up.

    Parameters
    ----------
    sketch : Sketch
        Of any source; one on the same device is read in place.
    data_range : float
        The data are divided by it as they are read.
    resources : Resources
        With a device. If this is the processor of the host, pieces run on these threads.
    """

    def __init__(self, sketch: Sketch, data_range: float, resources: Resources) -> None:
        device = resources.device
        assert device is not None  # noqa: S101 - of resources without one, `StreamedPass` makes use
        mode, cores, place = sketch.mode, sketch.cores, device.place
        self._host = isinstance(cores[mode], np.ndarray)  # where the cores are, and equations are solved
        self.rows = unfold(cores[mode], xp=np if self._host else place.xp)
        self._dtype = self.rows.dtype if self._host else place.numpy_dtype(cores[mode])
        self._plan = plan_core(sketch.sizes, tuple([core.shape[0] for core in cores]), mode)
        self._sketch = sketch
        source = sketch.source
        self._entries: _Entries = source if isinstance(source, DeviceSource) else _Sent(source, place)
        self._data_range = data_range
        self._place, self._memory = place, device.memory
        self._mapper = resources.mapper if place.on_host else map
        self._cores = [None if k == mode else place.put(core) for k, core in enumerate(cores)]
        self._rows = place.put(self.rows)
        self._whole_plan = device.memory.entries

    def gradient(self, kernel: Kernel) -> tuple[Floats, Weights]:
        """Rows of ``d = (W o P o (X - A S^T)) S``, and the weights W o P."""
        return self._within(lambda plan: self._gradient(plan, kernel))

    def curvature(self, direction: Floats, weights: Weights) -> float:
        """``|| sqrt(W) o P o (h S^T) ||_F^2``, the denominator of the exact line search."""
        rows = self._place.put(direction)
        kept = weights.blocks if isinstance(weights, DeviceWeights) else {}
        return float(self._within(lambda plan: self._curvature(plan, rows, weights.kernel, kept)))

    def residuals(self) -> Floats:
        """Residuals of all observed entries, as one vector on the host: only for passes over few entries."""
        return self._within(self._observed_residuals)

    def _within(self, work: Callable[[CorePlan], Result]) -> Result:
        """Work in blocks that fit the device."""
        plan, whole = self._plan, self._whole_plan
        least = max(1, plan.columns // max(plan.sizes[mode] for mode in plan.first + plan.second))
        keeps = self._place.on_host  # blocks of the host's own plan
        return self._memory.within(
            lambda entries: work(plan if keeps and entries == whole else device_plan(plan, entries)),
            least,
            _BYTES_AN_ENTRY * self._dtype.itemsize,
        )

    def _gradient(self, plan: CorePlan, kernel: Kernel) -> tuple[Floats, Weights]:
        xp, weights = self._place.xp, DeviceWeights(kernel)
        keeps = plan.entries <= _KEPT_ENTRIES

        def of_piece(piece: Piece) -> Any:
            operator, parts = self._operator(plan, piece), []
            for block in piece.blocks:
                residuals, factors = self._weighted(plan, operator, piece, block, kernel)
                if factors is not None:
                    residuals *= factors
                if keeps:
                    weights.blocks[block.first, block.stop] = factors
                parts.append(operator.adjoint(residuals))
            return parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)

        pieces = list(self._mapper(of_piece, plan.pieces))
        rows = xp.concat(pieces, axis=0) if plan.tile_mode is None else sum(pieces[1:], pieces[0])
        return np.array(self._place.fetch(rows), order="C") if self._host else rows, weights  # to be written to

    def _curvature(self, plan: CorePlan, direction: Any, kernel: Kernel, kept: _Kept) -> float:
        xp = self._place.xp

        def of_piece(piece: Piece) -> list[Any]:
            operator, parts = self._operator(plan, piece), []
            for block in piece.blocks:
                place = block.first, block.stop
                if place in kept:
                    factors = kept[place]
                else:
                    _, factors = self._weighted(plan, operator, piece, block, kernel)
                step = operator.forward(direction[block.slices, :], "step")
                step *= step
                parts.append(xp.sum(step if factors is None else step * factors))
            return parts

        sums = [part for parts in self._mapper(of_piece, plan.pieces) for part in parts]
        return float(np.sum(self._place.fetch(xp.stack(sums)), dtype=np.float64))

    def _observed_residuals(self, plan: CorePlan) -> Floats:
        found: list[Floats] = []
        for piece in plan.pieces:
            operator = self._operator(plan, piece)
            for block in piece.blocks:
                residuals, observed = self._residuals(plan, operator, piece, block)
                values = self._place.fetch(residuals).ravel()
                found.append(values if observed is None else values[self._place.fetch(observed).ravel()])
        return np.concatenate(found)

    def _weighted(
        self, plan: CorePlan, operator: Operator, piece: Piece, block: SliceBlock, kernel: Kernel
    ) -> tuple[Any, Any]:
        residuals, observed = self._residuals(plan, operator, piece, block)
        return residuals, weights_of(self._place, residuals, observed, kernel)

    def _residuals(self, plan: CorePlan, operator: Operator, piece: Piece, block: SliceBlock) -> tuple[Any, Any]:
        """``E = X - A S^T`` of a block of slices, shape (B, J), and what is observed of them (None: all)."""
        xp = self._place.xp
        read = block_to_read(plan, self._sketch.index, self._sketch.source.shape, block.slices, piece.tile)
        values, observed = self._entries.gather(read, plan.order)
        residuals = scaled_entries(self._place, values, observed, self._data_range, self._dtype)
        shape = (values.shape[0], -1)
        residuals = xp.reshape(residuals, shape)
        residuals -= operator.forward(self._rows[block.slices, :], "model")
        return residuals, None if observed is None else xp.reshape(observed, shape)

    def _operator(self, plan: CorePlan, piece: Piece) -> Operator:
        cores: Sequence[Any] = self._cores
        if plan.tile_mode is not None and piece.tile is not None:
            cores = [core[:, piece.tile, :] if k == plan.tile_mode else core for k, core in enumerate(cores)]
        return build_operator(plan, cores, FreshProducts(self._place.xp))


def device_plan(plan: CorePlan, entries: int) -> CorePlan:
    """The same products in blocks of about this number of entries.

    Examples
    --------
    >>> plan = plan_core((1920, 200, 3, 50), (80, 80, 3, 20), 0)
    >>> large = device_plan(plan, 1 << 24)
    >>> large.block, large.tile_mode, device_plan(plan, 1000).tile
    (466, None, 6)
    """
    free = replace(plan, tile_mode=None, tile=0)
    if plan.columns > entries:
        mode = max(plan.first + plan.second, key=lambda mode: plan.sizes[mode])
        length = plan.sizes[mode]
        free = replace(plan, tile_mode=mode, tile=max(1, length * entries // plan.columns))
    between = plan.alpha * plan.bond * free.tile_first if plan.second else 0
    block = max(1, entries // max(free.tile_columns, between))
    return replace(free, block=min(plan.slices, block))
