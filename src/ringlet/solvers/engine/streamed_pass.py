"""One pass over the slices of mode k: everything row i of an update needs comes from slice i of the data.

So no array of the size (slices x columns) is formed. The work is cut into pieces. Their contributions are summed
here, always in the same order, wherever they were computed.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.arrays import Floats, Mapper
from ringlet.ring.chain import Core, unfold
from ringlet.robust import Kernel
from ringlet.solvers.engine.block_work import BlockWork, PassInputs, Weights
from ringlet.solvers.engine.core_plan import plan_core
from ringlet.solvers.engine.subchain import Resources
from ringlet.solvers.engine.worker_batches import batch_count, split_pieces, work_on_batch
from ringlet.sources import Source

__all__ = ["Pass", "Sketch", "StreamedPass"]

Result = TypeVar("Result")


@dataclass(frozen=True)
class Sketch:
    """The entries that one core update uses.

    Attributes
    ----------
    source : Source
    mode : int
        The core that is updated, k.
    index : tuple of int arrays
        Indices used of every mode, all of mode k.
    cores : list of arrays
        The cores at those indices.
    row_weights : array of length J, optional
        Factor of every column (leverage sampling).
    """

    source: Source
    mode: int
    index: tuple[NDArray[np.intp], ...]
    cores: list[Core]
    row_weights: NDArray[np.floating[Any]] | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Indices used of every mode."""
        return tuple(map(len, self.index))


class Pass(Protocol):
    """What a core update needs from its entries of the data, wherever they are."""

    @property
    def rows(self) -> Floats:
        """A_k before the update."""
        ...

    def gradient(self, kernel: Kernel) -> tuple[Floats, Weights]:
        """Rows of ``d = (W o P o (X - A S^T)) S``, and the weights W o P for the line search."""
        ...

    def curvature(self, direction: Floats, weights: Weights) -> float:
        """``|| sqrt(W) o P o (h S^T) ||_F^2``, the denominator of the exact line search."""
        ...


class StreamedPass:
    """A pass over one sketch, in pieces: over threads, or in batches over the workers of a cluster.

    Parameters
    ----------
    sketch : Sketch
    data_range : float
        The data are divided by it as they are read.
    resources : Resources
    weights_room : array, optional
        At least one number per entry: keeps the weights from the gradient to the line search.
    """

    def __init__(
        self, sketch: Sketch, data_range: float, resources: Resources, weights_room: Floats | None = None
    ) -> None:
        mode, cores = sketch.mode, sketch.cores
        plan = plan_core(sketch.sizes, tuple([core.shape[0] for core in cores]), mode)
        self.rows = unfold(cores[mode])
        self._pieces = plan.pieces
        self._source = sketch.source
        others = [np.ascontiguousarray(core[:, :0] if k == mode else core) for k, core in enumerate(cores)]
        factor = self.rows.dtype.type(1.0 / data_range)
        self._inputs = PassInputs(sketch.index, others, plan, factor, sketch.row_weights)
        self._resources = resources
        self._weights_room = weights_room
        self._work: BlockWork | None = None  # here, where it is needed
        self._plan = plan
        self._batches = 1 if resources.placement is None else self._batch_count()

    def gradient(self, kernel: Kernel) -> tuple[Floats, Weights]:
        """Rows of ``d = (W o P o (X - A S^T)) S``, and the weights W o P; on a cluster these are not kept."""
        room = self._weights_room if self._batches == 1 else None
        weights = Weights(kernel, room, None if room is None else {})
        return self._summed(self._each(partial(BlockWork.gradient, weights=weights))), weights

    def curvature(self, direction: Floats, weights: Weights) -> float:
        """``|| sqrt(W) o P o (h S^T) ||_F^2``, the denominator of the exact line search."""
        one_of, stored = weights.one_of, self._source.chunks is not None  # workers read a store once a batch
        batches = self._batches if stored or one_of == 1 else self._batch_count(one_of)
        return float(sum(self._each(partial(BlockWork.curvature, weights=weights), direction, batches)))

    def residuals(self) -> Floats:
        """Residuals of all observed entries, as one vector: only for passes over few entries."""
        return np.concatenate([block for blocks in self._each(BlockWork.residuals) for block in blocks])

    def right_hand_side(self) -> Floats:
        """Rows of ``X S``, the right-hand side of the normal equations of plain least squares."""
        return self._summed(self._each(BlockWork.right_hand_side))

    def plain_gradient(self) -> tuple[Floats, float]:
        """Rows of ``(X - A S^T) S`` and ``|| X - A S^T ||_F^2``, for complete data without weights."""
        squares: list[float] = []

        def rows() -> Iterable[list[Floats]]:
            for part, square in self._each(BlockWork.plain_gradient):
                squares.append(square)
                yield part

        return self._summed(rows()), sum(squares)

    def _batch_count(self, one_of: int = 1) -> int:
        """Batches of a pass over the cluster that uses one of this number of slices; 1: the pass runs here."""
        place, pieces = self._resources.placement, len(self._pieces)
        return 1 if place is None else batch_count(self._plan, pieces, place.slots, place.least_seconds, one_of)

    def _each(
        self, compute: Callable[..., Result], direction: Floats | None = None, count: int | None = None
    ) -> Iterable[Result]:
        """What every piece contributes, in the order of the pieces; `compute` is a method of `BlockWork`."""
        placement = self._resources.placement
        count = self._batches if count is None else count
        if placement is not None and count > 1:
            batches = split_pieces(self._pieces, count, self.rows, direction)
            return chain.from_iterable(placement.map(work_on_batch, (self._inputs, compute), batches))
        if self._work is None:
            self._work = BlockWork(self._source, self._inputs, self.rows, self._resources)
        given = {} if direction is None else {"direction": direction}
        mapper: Mapper = self._resources.mapper
        return mapper(partial(compute, self._work, **given), self._pieces)

    def _summed(self, parts: Iterable[list[Floats]]) -> Floats:
        """Rows of all slices, from those of the blocks of every piece; tiles add up."""
        out = np.zeros_like(self.rows)
        for piece, of_blocks in zip(self._pieces, parts, strict=True):
            for block, rows in zip(piece.blocks, of_blocks, strict=True):
                out[block.slices] += rows
        return out
