"""One pass over the slices of mode k: everything row i of an update needs comes from slice i of the data.

So nothing of the size (slices x columns) has to exist: blocks of slices are read, turned into residuals, weighted, and
folded back into rows of the gradient while they are in the cache.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.execution import Profile
from ringlet.ring.arrays import Run
from ringlet.ring.chain import Core
from ringlet.robust import Loss
from ringlet.solvers.operators import Operator, Workspace, build_operator, entry_order
from ringlet.solvers.plan import CorePlan
from ringlet.sources import Block, Source

__all__ = ["LARGEST_ENTRY", "StreamedPass", "refold", "unfold"]

Floats: TypeAlias = NDArray[np.floating[Any]]


LARGEST_ENTRY = {4: 1e12, 8: 1e100}  # in units of the data's size, by bytes of the working precision


def unfold(core: Core) -> Floats:
    """A_k: the slices of a core as rows, shape (I_k, r_k r_{k+1})."""
    a, slices, b = core.shape
    return np.ascontiguousarray(core.transpose(1, 0, 2)).reshape(slices, a * b)


def refold(rows: Floats, a: int, b: int) -> Core:
    """The core whose slices are these rows, shape (a, I_k, b), as a view."""
    return rows.reshape(len(rows), a, b).transpose(1, 0, 2)


@dataclass(frozen=True)
class Piece:
    """Work for one thread: some slices of mode k, all columns or those of one tile."""

    slices: slice
    tile: slice | None


class StreamedPass:
    """The sampled data and cores of one core update, ready to be streamed.

    Parameters
    ----------
    source : Source
    index : tuple
        Indices used of every mode, all of mode k.
    cores : sequence of arrays
        The cores, at those indices.
    plan : CorePlan
    scale : float
        The data are divided by it as they are read.
    row_weights : array of length J, optional
        Factor of every column (leverage sampling).
    weights_room : array, one number an entry looked at, or None
        Where to keep the robust weights from the gradient pass to the line search; without, they are computed again.
    workspace : Workspace
    profile : Profile
        Told where the time goes: gather, forward, weights, adjoint, search.
    """

    def __init__(
        self,
        source: Source,
        index: Sequence[NDArray[np.intp]],
        cores: Sequence[Core],
        plan: CorePlan,
        *,
        scale: float,
        row_weights: Floats | None,
        weights_room: Floats | None,
        workspace: Workspace,
        profile: Profile,
    ) -> None:
        self._source = source
        self._index = index
        self._cores = cores
        self._plan = plan
        self._rows = unfold(cores[plan.mode])
        self._inverse_scale = self._rows.dtype.type(1.0 / scale)
        self._row_weights = row_weights
        self._workspace = workspace
        self._part = profile.part
        self._operator = build_operator(plan, cores, workspace) if plan.tile_mode is None else None
        self._weights_room = weights_room
        self._kept: dict[tuple[int, int], Floats | None] = {}

    @property
    def rows(self) -> Floats:
        """A_k before the update."""
        return self._rows

    def gradient(self, loss: Loss, width: float, run: Run) -> Floats:
        """Rows of ``d = (W o P o (X - A S^T)) S``."""

        def weighted(operator: Operator, block: slice, piece: Piece) -> Floats:
            residuals, weights = self._weighted(operator, block, piece.tile, loss, width)
            if self._weights_room is not None:
                self._kept[self._key(block, piece.tile)] = weights
            if weights is not None:
                with self._part("weights"):
                    residuals *= weights
            return residuals

        return self._adjoint(weighted, run)

    def right_hand_side(self, run: Run) -> Floats:
        """Rows of ``X S``, the right-hand side of the normal equations of plain least squares."""
        return self._adjoint(lambda _operator, block, piece: self._gather(block, piece.tile)[0], run)

    def plain_gradient(self, run: Run) -> tuple[Floats, float]:
        """Rows of ``(X - A S^T) S`` and ``|| X - A S^T ||_F^2``, for complete data without weights."""
        squares: dict[tuple[int, int], float] = {}

        def plain(operator: Operator, block: slice, piece: Piece) -> Floats:
            residuals, _ = self._residuals(operator, block, piece.tile)
            squares[self._key(block, piece.tile)] = float(np.vdot(residuals, residuals))
            return residuals

        rows = self._adjoint(plain, run)
        return rows, sum(squares[key] for key in sorted(squares))  # in a fixed order, whichever thread came first

    def _adjoint(self, entries: Callable[[Operator, slice, Piece], Floats], run: Run) -> Floats:
        """Rows of ``Y S`` for entries Y, made a block of slices at a time."""
        out = np.zeros_like(self._rows)

        def partial(piece: Piece) -> tuple[slice, Floats]:
            operator = self._operator_for(piece)
            rows = np.empty((piece.slices.stop - piece.slices.start, out.shape[1]), out.dtype)
            for block in self._blocks(piece):
                block_entries = entries(operator, block, piece)
                here = slice(block.start - piece.slices.start, block.stop - piece.slices.start)
                with self._part("adjoint"):
                    rows[here] = operator.adjoint(block_entries)
            return piece.slices, rows

        for slices, rows in run(partial, self._pieces()):
            out[slices] += rows
        return out

    def curvature(self, direction: Floats, loss: Loss, width: float, run: Run) -> float:
        """``|| sqrt(W) o P o (h S^T) ||_F^2``, the denominator of the exact line search."""

        def partial(piece: Piece) -> float:
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

        return float(sum(run(partial, self._pieces())))

    def residuals(self) -> Floats:
        """Residuals of all observed entries, as one vector: only for passes over few entries."""
        found = []
        for piece in self._pieces():
            operator = self._operator_for(piece)
            for block in self._blocks(piece):
                residuals, observed = self._residuals(operator, block, piece.tile)
                found.append(residuals.ravel().copy() if observed is None else residuals[observed])
        return np.concatenate(found)

    def _weighted(
        self, operator: Operator, block: slice, tile: slice | None, loss: Loss, width: float
    ) -> tuple[Floats, Floats | None]:
        """Residuals, and their weights W o P (None: all one). What is missing has weight zero."""
        residuals, observed = self._residuals(operator, block, tile)
        if np.isinf(width) and observed is None and self._row_weights is None:
            return residuals, None
        with self._part("weights"):
            weights = self._weights_array(block, tile, residuals)
            if np.isinf(width):
                weights.fill(1.0)
            else:
                loss.weight(residuals, width, weights)
            if observed is not None:
                weights *= observed
            if self._row_weights is not None:
                weights *= self._row_weights if tile is None else self._row_weights[tile]
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

    def _residuals(
        self, operator: Operator, block: slice, tile: slice | None
    ) -> tuple[Floats, NDArray[np.bool_] | None]:
        """``E = X - A S^T`` for a block of slices, shape (B, J); anything finite where nothing is observed."""
        with self._part("forward"):
            model = operator.forward(self._rows[block], "model")
        residuals, observed = self._gather(block, tile)
        np.subtract(residuals, model, out=residuals)
        return residuals, observed

    def _gather(self, block: slice, tile: slice | None) -> tuple[Floats, NDArray[np.bool_] | None]:
        """A block of slices of the data, shape (B, J), in units of their size; zero where nothing is observed."""
        with self._part("gather"):
            values, observed = self._source.read(self._selection(block, tile), entry_order(self._plan))
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
        for mode, (indices, length) in enumerate(zip(self._index, self._source.shape, strict=True)):
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
        cores = list(self._cores)
        mode = self._plan.tile_mode
        if mode is not None and piece.tile is not None:
            cores[mode] = cores[mode][:, piece.tile, :]
        return build_operator(self._plan, cores, self._workspace)

    def _pieces(self) -> Iterable[Piece]:
        plan = self._plan
        if plan.tile_mode is None:
            return [Piece(block, None) for block in _spans(plan.slices, plan.block)]
        return [Piece(slice(0, plan.slices), tile) for tile in _spans(plan.sizes[plan.tile_mode], plan.tile)]

    def _blocks(self, piece: Piece) -> Iterator[slice]:
        for block in _spans(piece.slices.stop - piece.slices.start, self._plan.block):
            yield slice(piece.slices.start + block.start, piece.slices.start + block.stop)

    @staticmethod
    def _key(block: slice, tile: slice | None) -> tuple[int, int]:
        return block.start, 0 if tile is None else tile.start


def _spans(total: int, step: int) -> list[slice]:
    return [slice(start, min(start + step, total)) for start in range(0, total, step)]
