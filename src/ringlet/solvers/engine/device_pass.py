"""One pass over a sketch on a device: what `StreamedPass` does on the host, on arrays of any library.

If equations are solved on the device, cores, gradients and directions are there, too. Otherwise the sampled cores and
the rows of a direction are sent there, and the rows of the gradient come back. Entries of the data stay where they are,
or are sent a block at a time if they are on the host.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from ringlet.arrays import Sender
from ringlet.ring.arrays import Floats, Mapper
from ringlet.ring.chain import unfold
from ringlet.robust import Kernel
from ringlet.solvers.engine.block_work import BlockMath, BlockWork, PassInputs, Readable, Weights
from ringlet.solvers.engine.core_plan import CorePlan, plan_core
from ringlet.solvers.engine.fresh_arrays import FreshArrays, TracedMath
from ringlet.solvers.engine.streamed_pass import Sketch
from ringlet.solvers.engine.subchain import Resources
from ringlet.sources import Block, DeviceSource, Source

__all__ = ["DevicePass", "device_plan"]

_KEPT_ENTRIES = 1 << 26  # whose weights are kept on the device from the gradient to the line search
_BYTES_AN_ENTRY = 6  # arrays of the working precision that a block takes at once: entries, model, weights, ...

Result = TypeVar("Result")


@dataclass(frozen=True)
class _Placed:
    """Entries that lie on the device."""

    source: DeviceSource

    @property
    def shape(self) -> tuple[int, ...]:
        return self.source.shape

    def read(self, block: Block, order: tuple[int, ...] | None = None) -> tuple[Any, Any]:
        return self.source.gather(block, order)


@dataclass(frozen=True)
class _Sent:
    """Entries of a source on the host, sent to a device when they are needed."""

    source: Source
    send: Sender

    @property
    def shape(self) -> tuple[int, ...]:
        return self.source.shape

    def read(self, block: Block, order: tuple[int, ...] | None = None) -> tuple[Any, Any]:
        values, observed = self.source.read(block, order)
        if values.dtype.kind == "u" and values.dtype.itemsize > 1:  # torch computes little with these dtypes
            values = values.astype(np.float32 if values.dtype.itemsize == 2 else np.float64)
        return self.send(values, observed)


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
        mode, cores, place, source = sketch.mode, sketch.cores, device.place, sketch.source
        self._host = isinstance(cores[mode], np.ndarray)  # where the cores are, and equations are solved
        self.rows = unfold(cores[mode], xp=np if self._host else place.xp)
        dtype = self.rows.dtype if self._host else place.numpy_dtype(cores[mode])
        plan = plan_core(sketch.sizes, tuple([core.shape[0] for core in cores]), mode)
        self._entries: Readable = _Sent(source, device.send)
        if isinstance(source, DeviceSource):
            self._entries = _Placed(source)
        self._place, self._memory, self._whole_plan = place, device.memory, device.memory.entries
        self._bytes = _BYTES_AN_ENTRY * dtype.itemsize
        self._mapper: Mapper = resources.mapper if place.on_host else map
        self._resources = resources
        others = [core[:, :0, :] if k == mode else place.put(core) for k, core in enumerate(cores)]
        self._inputs = PassInputs(sketch.index, others, plan, float(dtype.type(1.0 / data_range)))
        self._rows = place.put(self.rows)

    def gradient(self, kernel: Kernel) -> tuple[Floats, Weights]:
        """Rows of ``d = (W o P o (X - A S^T)) S``, and the weights W o P."""
        keeps = self._inputs.plan.entries <= _KEPT_ENTRIES

        def work(plan: CorePlan) -> tuple[Any, Weights]:
            weights = Weights(kernel, kept={} if keeps else None)
            return self._joined(plan, list(self._each(plan, partial(BlockWork.gradient, weights=weights)))), weights

        rows, weights = self._within(work)
        return np.array(self._place.fetch(rows), order="C") if self._host else rows, weights  # to be written to

    def right_hand_side(self) -> Floats:
        """Rows of ``X S``, on the host."""
        rows = self._within(lambda plan: self._joined(plan, list(self._each(plan, BlockWork.right_hand_side))))
        return np.array(self._place.fetch(rows), order="C")

    def plain_gradient(self) -> tuple[Floats, float]:
        """Rows of ``(X - A S^T) S``, on the host, and ``|| X - A S^T ||_F^2``, for complete data without weights."""
        fetch, xp = self._place.fetch, self._place.xp

        def work(plan: CorePlan) -> tuple[Any, Any]:
            parts = list(self._each(plan, BlockWork.plain_gradient))
            return self._joined(plan, [rows for rows, _ in parts]), xp.stack([square for _, square in parts])

        rows, squares = self._within(work)
        return np.array(fetch(rows), order="C"), float(np.sum(fetch(squares), dtype=np.float64))

    def curvature(self, direction: Floats, weights: Weights) -> float:
        """``|| sqrt(W) o P o (h S^T) ||_F^2``, the denominator of the exact line search."""
        compute = partial(BlockWork.curvature, direction=self._place.put(direction), weights=weights)
        sums = self._within(lambda plan: self._place.fetch(self._place.xp.stack(list(self._each(plan, compute)))))
        return float(np.sum(sums, dtype=np.float64))

    def residuals(self) -> Floats:
        """Residuals of all observed entries, as one vector on the host: only for passes over few entries."""
        found = self._within(lambda plan: list(self._each(plan, BlockWork.residuals)))
        return np.concatenate([self._place.fetch(block) for blocks in found for block in blocks])

    def _within(self, work: Callable[[CorePlan], Result]) -> Result:
        """Work in blocks that fit the device."""
        plan, whole = self._inputs.plan, self._whole_plan
        least = max(1, plan.columns // max(plan.sizes[mode] for mode in plan.first + plan.second))
        keeps = self._place.on_host  # blocks of the host's own plan
        return self._memory.within(
            lambda entries: work(plan if keeps and entries == whole else device_plan(plan, entries)), least, self._bytes
        )

    def _each(self, plan: CorePlan, compute: Callable[..., Result]) -> Iterable[Result]:
        """What every piece contributes, in the order of the pieces; `compute` is a method of `BlockWork`."""
        math = TracedMath(BlockMath(FreshArrays(self._place.xp), self._resources.part))
        work = BlockWork(self._entries, replace(self._inputs, plan=plan), self._rows, self._resources, math)
        return self._mapper(partial(compute, work), plan.pieces)

    def _joined(self, plan: CorePlan, parts: Sequence[list[Any]]) -> Any:
        """Rows of all slices, from those of the blocks of every piece; tiles add up."""
        pieces = [self._place.xp.concat(of_blocks, axis=0) for of_blocks in parts]
        return self._place.xp.concat(pieces, axis=0) if plan.tile_mode is None else sum(pieces[1:], pieces[0])


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
