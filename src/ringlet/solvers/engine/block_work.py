"""The work of a pass on single pieces of it: some slices of mode k, all columns or those of one tile.

`BlockMath` has the mathematics of a block of slices, on arrays of any library. `BlockWork` reads the blocks of a piece.
A piece needs only its slices of the data and of core k, and the sampled other cores. So pieces may be worked on in any
order and anywhere, and a block of slices is read, turned into residuals, weighted and folded back into rows of the
gradient while it is in the cache.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.arrays import Floats
from ringlet.ring.chain import Core
from ringlet.robust import LOSSES, Kernel
from ringlet.solvers.engine.core_plan import CorePlan, Piece
from ringlet.solvers.engine.subchain import BlockArrays, Operator, Resources, build_operator
from ringlet.sources import Block

__all__ = ["BlockMath", "BlockWork", "Entries", "PassInputs", "Readable", "Weights", "block_to_read"]

Slices: TypeAlias = slice | NDArray[np.intp]  # of mode k


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
    factor : number
        That the data are multiplied by as they are read: of the working precision for NumPy, else a Python number.
    row_weights : array of length J, or None
        Factor of every column (leverage sampling).
    """

    index: Sequence[NDArray[np.intp]]
    cores: Sequence[Core]
    plan: CorePlan
    factor: float | np.floating[Any]
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
    one_of : int
        1: the line search uses all slices. Otherwise it skips slices along which the direction is zero, and about one
        of this number is left. Nothing is kept then: fewer rows in a product may change the last bits of the others.
    """

    kernel: Kernel
    room: Floats | None = None
    kept: dict[tuple[int, int], Any] | None = None
    one_of: int = 1


class Entries(NamedTuple):
    """A block of slices of the data.

    Attributes
    ----------
    values : array, shape (slices, ...)
    observed : bool array, shape (slices, columns), or None
        None: all are.
    factor : number
        That brings the values to units of the data's range.
    row_weights : array, or None
        Factor of every column.
    """

    values: Any
    observed: Any
    factor: Any
    row_weights: Any = None


class BlockMath(NamedTuple):
    """Computes what one block contributes to a pass.

    Attributes
    ----------
    arrays : BlockArrays
    part : callable
        ``part(name)`` is a context whose time counts towards a part of a profile.
    """

    arrays: BlockArrays
    part: Callable[[str], AbstractContextManager[Any]] = nullcontext

    def residuals(self, operator: Operator, rows: Any, entries: Entries) -> Any:
        """``E = X - A S^T``, shape (B, J); anything finite where nothing is observed."""
        with self.part("forward"):
            model = operator.forward(rows, "model")
        with self.part("gather"):
            residuals = self.arrays.scaled(entries.values, entries.observed, entries.factor, rows.dtype)
        residuals -= model
        return residuals

    def weights(self, residuals: Any, entries: Entries, kernel: Kernel | None, room: Any = None) -> Any:
        """W o P, in `room` if that is an array; None: all are one. Missing entries have weight zero."""
        if kernel is None and entries.observed is None and entries.row_weights is None:
            return None
        with self.part("weights"):
            if room is None:
                room = self.arrays.array("weights", residuals.shape, residuals.dtype)
            else:
                room = room.reshape(residuals.shape)
            loss, width = (LOSSES["l2"], inf) if kernel is None else (kernel.loss, kernel.width)
            factors = loss.weight(residuals, width, room, self.arrays.xp)
            if entries.observed is not None:
                factors = self.arrays.masked(factors, entries.observed)
            if entries.row_weights is not None:
                factors *= entries.row_weights
        return factors

    def gradient(
        self, operator: Operator, rows: Any, entries: Entries, kernel: Kernel | None, room: Any = None
    ) -> tuple[Any, Any]:
        """Rows of ``(W o P o E) S``, and the weights."""
        residuals = self.residuals(operator, rows, entries)
        factors = self.weights(residuals, entries, kernel, room)
        if factors is not None:
            with self.part("weights"):
                residuals *= factors
        with self.part("adjoint"):
            return operator.adjoint(residuals), factors

    def plain_gradient(self, operator: Operator, rows: Any, entries: Entries) -> tuple[Any, Any]:
        """Rows of ``E S``, and ``||E||_F^2``, for complete data without weights."""
        residuals = self.residuals(operator, rows, entries)
        return operator.adjoint(residuals), self.arrays.inner(residuals, residuals)

    def right_hand_side(self, operator: Operator, rows: Any, entries: Entries) -> Any:
        """Rows of ``X S``."""
        return operator.adjoint(self.arrays.scaled(entries.values, entries.observed, entries.factor, rows.dtype))

    def curvature(self, operator: Operator, direction: Any, factors: Any) -> Any:
        """``|| sqrt(W) o P o (h S^T) ||_F^2`` from the weights; None: all are one."""
        with self.part("search"):
            step = operator.forward(direction, "step")
            if factors is None:
                return self.arrays.inner(step, step)
            step *= step
            return self.arrays.inner(factors, step)


class BlockWork:
    """Computes what single pieces contribute to a pass.

    Parameters
    ----------
    source : Readable
    inputs : PassInputs
    rows : array (slices, r_k r_{k+1})
        A_k before the update.
    resources : Resources
    math : BlockMath, optional
        Of the library of rows, cores and entries; by default NumPy's, in the workspace of the resources.
    """

    def __init__(
        self,
        source: Readable,
        inputs: PassInputs,
        rows: Any,
        resources: Resources,
        math: Any = None,
    ) -> None:
        self._source = source
        self._inputs = inputs
        self._plan = plan = inputs.plan
        self._rows = rows
        self._part = resources.part
        self._math = BlockMath(resources.workspace, part=resources.part) if math is None else math
        self._arrays = self._math.arrays
        self._operator = build_operator(plan, inputs.cores, self._arrays) if plan.tile_mode is None else None

    def gradient(self, piece: Piece, *, weights: Weights) -> list[Any]:
        """Rows of ``d = (W o P o (X - A S^T)) S``, an array for each block."""
        operator, room, parts = self._operator or self._tiled_operator(piece), None, []
        kernel = weights.kernel if weights.kernel.width < inf else None
        for block in piece.blocks:
            rows, entries = self._rows[block.slices, :], self._read(block.slices, piece.tile)
            if weights.room is not None:
                room = weights.room[block.first : block.stop]
            part, factors = self._math.gradient(operator, rows, entries, kernel, room)
            if weights.kept is not None:
                weights.kept[block.first, block.stop] = factors
            parts.append(part)
        return parts

    def right_hand_side(self, piece: Piece) -> list[Any]:
        """Rows of ``X S``, an array for each block."""
        operator, parts = self._operator or self._tiled_operator(piece), []
        for block in piece.blocks:
            rows, entries = self._rows[block.slices, :], self._read(block.slices, piece.tile)
            parts.append(self._math.right_hand_side(operator, rows, entries))
        return parts

    def plain_gradient(self, piece: Piece) -> tuple[list[Any], Any]:
        """Rows of ``(X - A S^T) S`` for each block, and ``|| X - A S^T ||_F^2``, for complete data without weights."""
        operator, parts, squares = self._operator or self._tiled_operator(piece), [], []
        for block in piece.blocks:
            rows, entries = self._rows[block.slices, :], self._read(block.slices, piece.tile)
            part, square = self._math.plain_gradient(operator, rows, entries)
            parts.append(part)
            squares.append(square)
        return parts, sum(squares)

    def curvature(self, piece: Piece, *, direction: Any, weights: Weights) -> Any:
        """``|| sqrt(W) o P o (h S^T) ||_F^2``."""
        operator, total = self._operator or self._tiled_operator(piece), 0.0
        kernel = weights.kernel if weights.kernel.width < inf else None
        for block in piece.blocks:
            slices: Slices = block.slices
            if weights.one_of > 1:
                moving = np.flatnonzero(direction[block.slices].any(axis=1))
                if not moving.size:
                    continue
                slices = block.slices.start + moving
            if weights.kept is not None and (block.first, block.stop) in weights.kept:
                factors = weights.kept[block.first, block.stop]
            else:
                entries = self._read(slices, piece.tile)
                residuals = self._math.residuals(operator, self._rows[slices, :], entries)
                factors = self._math.weights(residuals, entries, kernel)
            total += self._math.curvature(operator, direction[slices, :], factors)
        return total

    def residuals(self, piece: Piece) -> list[Any]:
        """Residuals of the observed entries, a vector for each block."""
        operator, xp, found = self._operator or self._tiled_operator(piece), self._arrays.xp, []
        for block in piece.blocks:
            entries = self._read(block.slices, piece.tile)
            residuals = self._math.residuals(operator, self._rows[block.slices, :], entries)
            if entries.observed is None:
                flat = xp.reshape(residuals, (-1,))
                found.append(flat.copy() if xp is np else flat)  # NumPy writes the next block there
            else:
                found.append(residuals[entries.observed])
        return found

    def _read(self, block: Slices, tile: slice | None) -> Entries:
        """A block of slices of the data, or of a tile of them."""
        plan, row_weights = self._plan, self._inputs.row_weights
        with self._part("gather"):
            read = block_to_read(plan, self._inputs.index, self._source.shape, block, tile)
            values, observed = self._source.read(read, plan.order)
            if observed is not None:
                observed = self._arrays.xp.reshape(observed, (values.shape[0], -1))
        if row_weights is not None and tile is not None:
            row_weights = row_weights[tile]
        return Entries(values, observed, self._inputs.factor, row_weights)

    def _tiled_operator(self, piece: Piece) -> Operator:
        cores, mode = list(self._inputs.cores), self._plan.tile_mode
        if mode is not None and piece.tile is not None:
            cores[mode] = cores[mode][:, piece.tile, :]
        return build_operator(self._plan, cores, self._arrays)


def block_to_read(
    plan: CorePlan, index: Sequence[NDArray[np.intp]], shape: Sequence[int], slices: Slices, tile: slice | None
) -> Block:
    """Indices of every mode that some slices of mode k read from a source of this shape: all columns, or one tile.

    `index` has the indices used of every mode.
    """
    chosen: list[slice | NDArray[np.intp]] = []
    for mode, (indices, length) in enumerate(zip(index, shape, strict=True)):
        within: Slices = slice(0, len(indices))
        if mode == plan.mode:
            within = slices
        elif mode == plan.tile_mode and tile is not None:
            within = tile
        chosen.append(within if len(indices) == length else indices[within])
    return tuple(chosen)
