"""The work of a pass on single pieces of it: some slices of mode k, all columns or those of one tile.

A piece needs only its slices of the data and of core k, and the sampled other cores. So pieces may be worked on in any
order and anywhere, and a block of slices is read, turned into residuals, weighted and folded back into rows of the
gradient while it is in the cache.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isinf
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.arrays import Floats
from ringlet.ring.chain import Core
from ringlet.robust import Kernel
from ringlet.solvers.engine.block_arrays import BlockArrays
from ringlet.solvers.engine.block_math import BlockMath, Entries
from ringlet.solvers.engine.core_plan import CorePlan, Piece, SliceBlock
from ringlet.solvers.engine.subchain import Operator, Resources, build_operator
from ringlet.sources import Block

__all__ = ["BlockWork", "PassInputs", "Readable", "Weights", "block_to_read"]


class Readable(Protocol):
    """Entries of a tensor, given as arrays of the library that works on them."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of every mode."""
        ...

    def read(self, block: Block, order: tuple[int, ...] | None = None) -> tuple[Any, Any]:
        """Values of a block, and which of them are observed (None: all)."""
        ...


@dataclass(frozen=True)
class PassInputs:
    """What all pieces of a pass have in common.

    Attributes
    ----------
    index : sequence of int arrays
        Indices used of every mode, all of mode k.
    cores : sequence of arrays
        The cores, at those indices; core k is not used.
    plan : CorePlan
    factor : number of the working precision
        That the data are multiplied by as they are read.
    row_weights : array of length J, or None
        Factor of every column (leverage sampling).
    """

    index: Sequence[NDArray[np.intp]]
    cores: Sequence[Core]
    plan: CorePlan
    factor: np.floating[Any]
    row_weights: Floats | None = None


@dataclass(frozen=True)
class Weights:
    """The weights W o P of a pass, which its gradient and its line search use.

    Attributes
    ----------
    kernel : Kernel
        In units of the data's range.
    room : array or None
        Where NumPy writes them: one number an entry.
    kept : dict or None
        Written by the gradient and read by the line search: the weights of every block by where it begins and ends,
        None if all are one. Those of blocks that are not there are computed again.
    """

    kernel: Kernel
    room: Floats | None = None
    kept: dict[tuple[int, int], Any] | None = None


class BlockWork:
    """Computes what single pieces contribute to a pass.

    Parameters
    ----------
    source : Readable
    inputs : PassInputs
    rows : array (slices, r_k r_{k+1})
        A_k before the update.
    resources : Resources
    arrays : BlockArrays, optional
        The library of rows, cores and entries; by default NumPy, with the workspace of the resources.
    """

    def __init__(
        self,
        source: Readable,
        inputs: PassInputs,
        rows: Any,
        resources: Resources,
        arrays: BlockArrays | None = None,
    ) -> None:
        self._source = source
        self._inputs = inputs
        self._plan = plan = inputs.plan
        self._rows = rows
        self._arrays = arrays = resources.workspace if arrays is None else arrays
        self._factor = arrays.number(inputs.factor)
        self._part = resources.part
        self._math = BlockMath(arrays, None, resources.part)
        self._operator = build_operator(plan, inputs.cores, arrays) if plan.tile_mode is None else None

    def gradient(self, piece: Piece, *, weights: Weights) -> Any:
        """Rows of ``d = (W o P o (X - A S^T)) S``."""
        operator, math, width = self._operator_for(piece), *self._kernel(weights)
        compute = self._arrays.traced(BlockMath.gradient)

        def parts() -> Iterator[Any]:
            for block in piece.blocks:
                room = self._room(block, weights)
                rows, entries = self._rows[block.slices, :], self._read(block.slices, piece.tile)
                part, factors = compute(math, operator, rows, entries, width, room)
                if weights.kept is not None:
                    weights.kept[block.first, block.stop] = factors
                yield part

        return self._arrays.joined(parts(), self._rows[piece.slices, :])

    def right_hand_side(self, piece: Piece) -> Any:
        """Rows of ``X S``."""
        operator, compute = self._operator_for(piece), self._arrays.traced(BlockMath.right_hand_side)
        given = ((self._rows[block.slices, :], self._read(block.slices, piece.tile)) for block in piece.blocks)
        parts = (compute(self._math, operator, rows, entries) for rows, entries in given)
        return self._arrays.joined(parts, self._rows[piece.slices, :])

    def plain_gradient(self, piece: Piece) -> tuple[Any, Any]:
        """Rows of ``(X - A S^T) S`` and ``|| X - A S^T ||_F^2``, for complete data without weights."""
        operator, squares = self._operator_for(piece), []
        compute = self._arrays.traced(BlockMath.plain_gradient)

        def parts() -> Iterator[Any]:
            for block in piece.blocks:
                rows, entries = self._rows[block.slices, :], self._read(block.slices, piece.tile)
                part, square = compute(self._math, operator, rows, entries)
                squares.append(square)
                yield part

        return self._arrays.joined(parts(), self._rows[piece.slices, :]), sum(squares)

    def curvature(self, piece: Piece, *, direction: Any, weights: Weights) -> Any:
        """``|| sqrt(W) o P o (h S^T) ||_F^2``."""
        operator, math, width = self._operator_for(piece), *self._kernel(weights)
        compute, total = self._arrays.traced(BlockMath.curvature), 0.0
        for block in piece.blocks:
            if weights.kept is not None and (block.first, block.stop) in weights.kept:
                factors = weights.kept[block.first, block.stop]
            else:
                entries, residuals = self._residuals(operator, block.slices, piece.tile)
                room = self._room(block, weights)
                factors = self._arrays.traced(BlockMath.weights)(math, residuals, entries, width, room)
            total += compute(math, operator, direction[block.slices, :], factors)
        return total

    def residuals(self, piece: Piece) -> list[Any]:
        """Residuals of the observed entries, a vector for each block."""
        operator, xp, found = self._operator_for(piece), self._arrays.xp, []
        for block in piece.blocks:
            entries, residuals = self._residuals(operator, block.slices, piece.tile)
            if entries.observed is None:
                flat = xp.reshape(residuals, (-1,))
                found.append(flat.copy() if xp is np else flat)  # NumPy writes the next block there
            else:
                found.append(residuals[entries.observed])
        return found

    def _residuals(self, operator: Operator, block: slice, tile: slice | None) -> tuple[Entries, Any]:
        """A block of slices, and ``E = X - A S^T`` of it."""
        entries, compute = self._read(block, tile), self._arrays.traced(BlockMath.residuals)
        return entries, compute(self._math, operator, self._rows[block, :], entries)

    def _kernel(self, weights: Weights) -> tuple[BlockMath, Any]:
        """The mathematics with the loss of a kernel, and its width."""
        kernel = weights.kernel
        if isinf(kernel.width):
            return self._math, inf
        return BlockMath(self._arrays, kernel.loss, self._part), self._arrays.number(kernel.width)

    def _room(self, block: SliceBlock, weights: Weights) -> Any:
        """Where NumPy writes the weights of a block."""
        count = block.slices.stop - block.slices.start
        if weights.room is not None:
            return weights.room[block.first : block.stop].reshape(count, -1)
        return self._arrays.array("weights", (count, (block.stop - block.first) // count), self._rows.dtype)

    def _read(self, block: slice, tile: slice | None) -> Entries:
        """A block of slices of the data, or of a tile of them."""
        plan, row_weights = self._plan, self._inputs.row_weights
        with self._part("gather"):
            read = block_to_read(plan, self._inputs.index, self._source.shape, block, tile)
            values, observed = self._source.read(read, plan.order)
            if observed is not None:
                observed = self._arrays.xp.reshape(observed, (values.shape[0], -1))
        if row_weights is not None and tile is not None:
            row_weights = row_weights[tile]
        return Entries(values, observed, self._factor, row_weights)

    def _operator_for(self, piece: Piece) -> Operator:
        if self._operator is not None:
            return self._operator
        cores, mode = list(self._inputs.cores), self._plan.tile_mode
        if mode is not None and piece.tile is not None:
            cores[mode] = cores[mode][:, piece.tile, :]
        return build_operator(self._plan, cores, self._arrays)


def block_to_read(
    plan: CorePlan, index: Sequence[NDArray[np.intp]], shape: Sequence[int], slices: slice, tile: slice | None
) -> Block:
    """Indices of every mode that some slices of mode k read from a source of this shape: all columns, or one tile.

    `index` has the indices used of every mode.
    """
    chosen: list[slice | NDArray[np.intp]] = []
    for mode, (indices, length) in enumerate(zip(index, shape, strict=True)):
        within = slice(0, len(indices))
        if mode == plan.mode:
            within = slices
        elif mode == plan.tile_mode and tile is not None:
            within = tile
        chosen.append(within if len(indices) == length else indices[within])
    return tuple(chosen)
