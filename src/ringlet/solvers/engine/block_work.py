"""The work of a pass on single pieces of it: some slices of mode k, all columns or those of one tile.

A piece needs only its slices of the data and of core k, and the sampled other cores. So pieces may be worked on in any
order and anywhere, and a block of slices is read, turned into residuals, weighted and folded back into rows of the
gradient while it is in the cache.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.execution import Profile
from ringlet.ring.chain import Core
from ringlet.robust import Loss
from ringlet.solvers.engine.core_plan import CorePlan
from ringlet.solvers.engine.subchain import Operator, Workspace, build_operator
from ringlet.sources import Block, Source

__all__ = ["LARGEST_ENTRY", "PassInputs", "Piece", "PieceWork", "cut", "pieces_of"]

Floats: TypeAlias = NDArray[np.floating[Any]]
Observed: TypeAlias = NDArray[np.bool_] | None


LARGEST_ENTRY = {4: 1e12, 8: 1e100}  # in units of the data's size, by bytes of the working precision


@dataclass(frozen=True)
class Piece:
    """Work for one thread: some slices of mode k, all columns or those of one tile."""

    slices: slice
    tile: slice | None


@dataclass(frozen=True)
class PassInputs:
    """What all pieces of a pass have in common.

    Attributes
    ----------
    index : sequence of int arrays
        Indices used of every mode, all of mode k.
    cores : sequence of arrays
        The cores, at those indices; core k is not looked at.
    plan : CorePlan
    scale : float
        The data are divided by it as they are read.
    row_weights : array of length J, or None
        Factor of every column (leverage sampling).
    """

    index: Sequence[NDArray[np.intp]]
    cores: Sequence[Core]
    plan: CorePlan
    scale: float
    row_weights: Floats | None = None


class PieceWork:
    """Computes what single pieces contribute to a pass.

    Parameters
    ----------
    source : Source
    inputs : PassInputs
    rows : array (slices, r_k r_{k+1})
        A_k before the update.
    weights_room : array, one number an entry looked at, or None
        Where to keep the robust weights from the gradient pass to the line search; without, they are computed again.
    workspace : Workspace
    profile : Profile
        Told where the time goes: gather, forward, weights, adjoint, search.
    """

    def __init__(
        self,
        source: Source,
        inputs: PassInputs,
        rows: Floats,
        *,
        weights_room: Floats | None = None,
        workspace: Workspace,
        profile: Profile,
    ) -> None:
        self._source = source
        self._inputs = inputs
        self._plan = plan = inputs.plan
        self._rows = rows
        self._inverse_scale = rows.dtype.type(1.0 / inputs.scale)
        self._workspace = workspace
        self._part = profile.part
        self._operator = build_operator(plan, inputs.cores, workspace) if plan.tile_mode is None else None
        self._weights_room = weights_room
        self._kept: dict[tuple[int, int], Floats | None] = {}

    def gradient(self, piece: Piece, *, loss: Loss, width: float) -> Floats:
        """Rows of ``d = (W o P o (X - A S^T)) S``."""

        def weighted(operator: Operator, block: slice) -> Floats:
            residuals, weights = self._weighted(operator, block, piece.tile, loss, width)
            if self._weights_room is not None:
                self._kept[self._key(block, piece.tile)] = weights
            if weights is not None:
                with self._part("weights"):
                    residuals *= weights
            return residuals

        return self._adjoint(piece, weighted)

    def right_hand_side(self, piece: Piece) -> Floats:
        """Rows of ``X S``."""
        return self._adjoint(piece, lambda _operator, block: self._gather(block, piece.tile)[0])

    def plain_gradient(self, piece: Piece) -> tuple[Floats, float]:
        """Rows of ``(X - A S^T) S`` and ``|| X - A S^T ||_F^2``, for complete data without weights."""
        squares: list[float] = []

        def plain(operator: Operator, block: slice) -> Floats:
            residuals, _ = self._residuals(operator, block, piece.tile)
            squares.append(float(np.vdot(residuals, residuals)))
            return residuals

        return self._adjoint(piece, plain), sum(squares)

    def curvature(self, piece: Piece, *, direction: Floats, loss: Loss, width: float) -> float:
        """``|| sqrt(W) o P o (h S^T) ||_F^2``."""
        operator = self._operator_for(piece)
        total = 0.0
        for block in self._blocks(piece):
            if self._weights_room is not None:
                weights = self._kept.pop(self._key(block, piece.tile))
            else:
                _, weights = self._weighted(operator, block, piece.tile, loss, width)
            with self._part("search"):
                step = operator.forward(direction[block], "step")
                if weights is None:
                    total += float(np.vdot(step, step))
                else:
                    np.multiply(step, step, out=step)
                    total += float(np.vdot(weights, step))
        return total

    def residuals(self, piece: Piece) -> list[Floats]:
        """Residuals of the observed entries, a vector for each block."""
        operator = self._operator_for(piece)
        found = []
        for block in self._blocks(piece):
            residuals, observed = self._residuals(operator, block, piece.tile)
            found.append(residuals.ravel().copy() if observed is None else residuals[observed])
        return found

    def _adjoint(self, piece: Piece, entries: Callable[[Operator, slice], Floats]) -> Floats:
        """Rows of ``Y S`` for entries Y, made a block of slices at a time."""
        operator = self._operator_for(piece)
        rows = np.empty((piece.slices.stop - piece.slices.start, self._rows.shape[1]), self._rows.dtype)
        for block in self._blocks(piece):
            block_entries = entries(operator, block)
            here = slice(block.start - piece.slices.start, block.stop - piece.slices.start)
            with self._part("adjoint"):
                rows[here] = operator.adjoint(block_entries)
        return rows

    def _weighted(
        self, operator: Operator, block: slice, tile: slice | None, loss: Loss, width: float
    ) -> tuple[Floats, Floats | None]:
        """Residuals, and their weights W o P (None: all one). What is missing has weight zero."""
        residuals, observed = self._residuals(operator, block, tile)
        row_weights = self._inputs.row_weights
        if np.isinf(width) and observed is None and row_weights is None:
            return residuals, None
        with self._part("weights"):
            weights = self._weights_array(block, tile, residuals)
            if np.isinf(width):
                weights.fill(1.0)
            else:
                loss.weight(residuals, width, weights)
            if observed is not None:
                weights *= observed
            if row_weights is not None:
                weights *= row_weights if tile is None else row_weights[tile]
        return residuals, weights

    def _weights_array(self, block: slice, tile: slice | None, like: Floats) -> Floats:
        """Room for the weights of a block: its own, if they are to be kept."""
        if self._weights_room is None:
            return self._workspace.array("weights", like.shape, like.dtype)
        plan = self._plan
        before = (
            0 if tile is None or plan.tile_mode is None else tile.start * plan.entries // plan.sizes[plan.tile_mode]
        )
        first = before + block.start * like.shape[1]
        return self._weights_room[first : first + like.size].reshape(like.shape)

    def _residuals(self, operator: Operator, block: slice, tile: slice | None) -> tuple[Floats, Observed]:
        """``E = X - A S^T`` for a block of slices, shape (B, J); anything finite where nothing is observed."""
        with self._part("forward"):
            model = operator.forward(self._rows[block], "model")
        residuals, observed = self._gather(block, tile)
        np.subtract(residuals, model, out=residuals)
        return residuals, observed

    def _gather(self, block: slice, tile: slice | None) -> tuple[Floats, Observed]:
        """A block of slices of the data, shape (B, J), in units of their size; zero where nothing is observed."""
        with self._part("gather"):
            values, observed = self._source.read(self._selection(block, tile), self._plan.order)
            gathered = self._workspace.array("residuals", (len(values), values.size // len(values)), self._rows.dtype)
            self._read_scaled(values, gathered.reshape(values.shape))
            if observed is not None:
                observed = observed.reshape(gathered.shape)
                if values.dtype.kind == "f":  # what is missing may be NaN, and stays NaN under any weight
                    np.copyto(gathered, 0.0, where=~observed)
        return gathered, observed

    def _read_scaled(self, values: NDArray[Any], out: Floats) -> None:
        """The data in units of their size. Absurdly large entries are cut off, so that no square of them overflows."""
        if values.dtype.kind != "f":
            np.multiply(values, self._inverse_scale, out=out, casting="unsafe")
            return
        with np.errstate(over="ignore"):
            np.multiply(values, self._inverse_scale, out=out, casting="unsafe")
        largest = LARGEST_ENTRY[out.dtype.itemsize]
        np.clip(out, -largest, largest, out=out)

    def _selection(self, block: slice, tile: slice | None) -> Block:
        chosen: list[slice | NDArray[np.intp]] = []
        for mode, (indices, length) in enumerate(zip(self._inputs.index, self._source.shape, strict=True)):
            if mode == self._plan.mode:
                within = block
            elif mode == self._plan.tile_mode and tile is not None:
                within = tile
            else:
                within = slice(0, len(indices))
            chosen.append(within if len(indices) == length else indices[within])
        return tuple(chosen)

    def _operator_for(self, piece: Piece) -> Operator:
        if self._operator is not None:
            return self._operator
        cores = list(self._inputs.cores)
        mode = self._plan.tile_mode
        if mode is not None and piece.tile is not None:
            cores[mode] = cores[mode][:, piece.tile, :]
        return build_operator(self._plan, cores, self._workspace)

    def _blocks(self, piece: Piece) -> Iterator[slice]:
        for block in cut(piece.slices.stop - piece.slices.start, self._plan.block):
            yield slice(piece.slices.start + block.start, piece.slices.start + block.stop)

    @staticmethod
    def _key(block: slice, tile: slice | None) -> tuple[int, int]:
        return block.start, 0 if tile is None else tile.start


def pieces_of(plan: CorePlan) -> list[Piece]:
    """All pieces of a pass, in the order in which their contributions are summed."""
    if plan.tile_mode is None:
        return [Piece(block, None) for block in cut(plan.slices, plan.block)]
    return [Piece(slice(0, plan.slices), tile) for tile in cut(plan.sizes[plan.tile_mode], plan.tile)]


def cut(total: int, step: int) -> list[slice]:
    """The numbers below `total` as slices of length `step`; the last may be shorter."""
    return [slice(start, min(start + step, total)) for start in range(0, total, step)]
