"""The work of a pass on single pieces of it: some slices of mode k, all columns or those of one tile.

A piece needs only its slices of the data and of core k, and the sampled other cores. So pieces may be worked on in any
order and anywhere, and a block of slices is read, turned into residuals, weighted and folded back into rows of the
gradient while it is in the cache.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.arrays import Floats
from ringlet.ring.chain import Core
from ringlet.robust import Kernel
from ringlet.solvers.engine.core_plan import CorePlan, Piece, SliceBlock
from ringlet.solvers.engine.subchain import Operator, Resources, build_operator
from ringlet.sources import Block, Source

__all__ = ["LARGEST_ENTRY", "BlockWork", "PassInputs", "Weights", "block_to_read"]

Observed: TypeAlias = NDArray[np.bool_] | None
Slices: TypeAlias = slice | NDArray[np.intp]  # of mode k

LARGEST_ENTRY = {4: 1e12, 8: 1e100}  # in data ranges, by bytes of the working precision: no square of them overflows


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
    data_range : float
        The data are divided by it as they are read.
    row_weights : array of length J, or None
        Factor of every column (leverage sampling).
    """

    index: Sequence[NDArray[np.intp]]
    cores: Sequence[Core]
    plan: CorePlan
    data_range: float
    row_weights: Floats | None = None


@dataclass(frozen=True)
class Weights:
    """The weights W o P of a pass, which its gradient and its line search use.

    Attributes
    ----------
    kernel : Kernel
        In units of the data's range.
    kept : array or None
        One number per entry: the gradient writes it, the line search reads it. None: weights are computed twice.
    all_one : set of int
        Where blocks begin in which all weights are one.
    one_of : int
        1: the line search uses all slices. Otherwise it skips slices along which the direction is zero, and about one
        of this number is left. Kept weights are not used then: fewer rows in a product may change the last bits of the
        others, so that kept weights would differ from computed ones.
    """

    kernel: Kernel
    kept: Floats | None = None
    all_one: set[int] = field(default_factory=set)
    one_of: int = 1


class BlockWork:
    """Computes what single pieces contribute to a pass.

    Parameters
    ----------
    source : Source
    inputs : PassInputs
    rows : array (slices, r_k r_{k+1})
        A_k before the update.
    resources : Resources
    """

    def __init__(self, source: Source, inputs: PassInputs, rows: Floats, resources: Resources) -> None:
        self._source = source
        self._inputs = inputs
        self._plan = plan = inputs.plan
        self._rows = rows
        self._inverse_range = rows.dtype.type(1.0 / inputs.data_range)
        self._workspace = resources.workspace
        self._part = resources.part
        self._operator = build_operator(plan, inputs.cores, self._workspace) if plan.tile_mode is None else None

    def gradient(self, piece: Piece, *, weights: Weights) -> Floats:
        """Rows of ``d = (W o P o (X - A S^T)) S``."""
        operator, first = self._operator_for(piece), piece.slices.start
        rows = np.empty_like(self._rows[piece.slices])
        for block in piece.blocks:
            residuals, observed = self._residuals(operator, block.slices, piece.tile)
            factors = self._factors(residuals, observed, block, piece.tile, weights)
            if factors is not None:
                with self._part("weights"):
                    residuals *= factors
            with self._part("adjoint"):
                rows[block.slices.start - first : block.slices.stop - first] = operator.adjoint(residuals)
        return rows

    def right_hand_side(self, piece: Piece) -> Floats:
        """Rows of ``X S``."""
        operator, first = self._operator_for(piece), piece.slices.start
        rows = np.empty_like(self._rows[piece.slices])
        for block in piece.blocks:
            rows[block.slices.start - first : block.slices.stop - first] = operator.adjoint(
                self._gather(block.slices, piece.tile)[0]
            )
        return rows

    def plain_gradient(self, piece: Piece) -> tuple[Floats, float]:
        """Rows of ``(X - A S^T) S`` and ``|| X - A S^T ||_F^2``, for complete data without weights."""
        operator, first, squares = self._operator_for(piece), piece.slices.start, 0.0
        rows = np.empty_like(self._rows[piece.slices])
        for block in piece.blocks:
            residuals, _ = self._residuals(operator, block.slices, piece.tile)
            squares += float(np.vdot(residuals, residuals))
            rows[block.slices.start - first : block.slices.stop - first] = operator.adjoint(residuals)
        return rows, squares

    def curvature(self, piece: Piece, *, direction: Floats, weights: Weights) -> float:
        """``|| sqrt(W) o P o (h S^T) ||_F^2``."""
        operator, total = self._operator_for(piece), 0.0
        for block in piece.blocks:
            slices: Slices = block.slices
            if weights.one_of > 1:
                moving = np.flatnonzero(direction[block.slices].any(axis=1))
                if not moving.size:
                    continue
                slices = block.slices.start + moving
            if block.first in weights.all_one:
                factors = None
            elif weights.kept is None:
                residuals, observed = self._residuals(operator, slices, piece.tile)
                factors = self._factors(residuals, observed, block, piece.tile, weights)
            else:
                factors = weights.kept[block.first : block.stop]
            with self._part("search"):
                step = operator.forward(direction[slices], "step")
                if factors is None:
                    total += float(np.vdot(step, step))
                else:
                    np.multiply(step, step, out=step)
                    total += float(np.vdot(factors, step))
        return total

    def residuals(self, piece: Piece) -> list[Floats]:
        """Residuals of the observed entries, a vector for each block."""
        operator, found = self._operator_for(piece), []
        for block in piece.blocks:
            residuals, observed = self._residuals(operator, block.slices, piece.tile)
            found.append(residuals.ravel().copy() if observed is None else residuals[observed])
        return found

    def _factors(
        self, residuals: Floats, observed: Observed, block: SliceBlock, tile: slice | None, weights: Weights
    ) -> Floats | None:
        """The weights W o P of residuals; None: all one. Missing entries have weight zero."""
        kernel, row_weights = weights.kernel, self._inputs.row_weights
        if np.isinf(kernel.width) and observed is None and row_weights is None:
            weights.all_one.add(block.first)
            return None
        with self._part("weights"):
            if weights.kept is None:
                factors = self._workspace.array("weights", residuals.shape, residuals.dtype)
            else:
                factors = weights.kept[block.first : block.stop].reshape(residuals.shape)
            if np.isinf(kernel.width):
                factors.fill(1.0)
            else:
                kernel.loss.weight(residuals, kernel.width, factors)
            if observed is not None:
                factors *= observed
            if row_weights is not None:
                factors *= row_weights if tile is None else row_weights[tile]
        return factors

    def _residuals(self, operator: Operator, block: Slices, tile: slice | None) -> tuple[Floats, Observed]:
        """``E = X - A S^T`` for a block of slices, shape (B, J); anything finite where nothing is observed."""
        with self._part("forward"):
            model = operator.forward(self._rows[block], "model")
        residuals, observed = self._gather(block, tile)
        np.subtract(residuals, model, out=residuals)
        return residuals, observed

    def _gather(self, block: Slices, tile: slice | None) -> tuple[Floats, Observed]:
        """A block of slices of the data, shape (B, J), in units of their range; zero where nothing is observed."""
        source, plan = self._source, self._plan
        with self._part("gather"):
            read = block_to_read(plan, self._inputs.index, source.shape, block, tile)
            values, observed = source.read(read, plan.order)
            gathered = self._workspace.array("residuals", (len(values), values.size // len(values)), self._rows.dtype)
            with np.errstate(over="ignore"):  # of floats: entries beyond float32 are cut off below
                scaled = gathered.reshape(values.shape)
                np.multiply(values, self._inverse_range, out=scaled, casting="unsafe")
            if values.dtype.kind == "f":
                largest = LARGEST_ENTRY[gathered.dtype.itemsize]
                np.clip(gathered, -largest, largest, out=gathered)
            if observed is not None:
                observed = observed.reshape(gathered.shape)
                if values.dtype.kind == "f":  # missing entries may be NaN, which no weight removes
                    np.fmax(gathered, -largest, out=gathered)
                gathered *= observed  # `where` has a branch for every entry and takes ten times as long
        return gathered, observed

    def _operator_for(self, piece: Piece) -> Operator:
        if self._operator is not None:
            return self._operator
        cores, mode = list(self._inputs.cores), self._plan.tile_mode
        if mode is not None and piece.tile is not None:
            cores[mode] = cores[mode][:, piece.tile, :]
        return build_operator(self._plan, cores, self._workspace)


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
