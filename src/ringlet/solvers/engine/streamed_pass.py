"""One pass over the slices of mode k: everything row i of an update needs comes from slice i of the data.

So nothing of the size (slices x columns) has to exist. The work is cut into pieces; here their contributions are put
together, always in the same order, wherever they were computed.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ringlet.execution import Placement, Profile
from ringlet.ring.arrays import Run
from ringlet.ring.chain import Core
from ringlet.robust import Loss
from ringlet.solvers.engine.block_work import PassInputs, PieceWork, pieces_of
from ringlet.solvers.engine.core_plan import CorePlan
from ringlet.solvers.engine.subchain import Workspace
from ringlet.solvers.engine.worker_batches import share_count, share_out, work_on_share
from ringlet.sources import Source

__all__ = ["StreamedPass", "refold", "unfold"]

Floats: TypeAlias = NDArray[np.floating[Any]]
Result = TypeVar("Result")


def unfold(core: Core) -> Floats:
    """A_k: the slices of a core as rows, shape (I_k, r_k r_{k+1})."""
    a, slices, b = core.shape
    return np.ascontiguousarray(core.transpose(1, 0, 2)).reshape(slices, a * b)


def refold(rows: Floats, a: int, b: int) -> Core:
    """The core whose slices are these rows, shape (a, I_k, b), as a view."""
    return rows.reshape(len(rows), a, b).transpose(1, 0, 2)


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
    weights_room, workspace, profile
        As in `PieceWork`.
    placement : Placement, optional
        The source on a cluster, which does the work if there is enough of it. Weights are not kept there.
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
        placement: Placement | None = None,
    ) -> None:
        self._plan = plan
        self._pieces = pieces_of(plan)
        self._rows = unfold(cores[plan.mode])
        others = [np.ascontiguousarray(core[:, :0] if k == plan.mode else core) for k, core in enumerate(cores)]
        self._inputs = PassInputs(index, others, plan, scale, row_weights)
        self._shares = 1 if placement is None else share_count(plan, len(self._pieces), placement.slots)
        self._placement = placement if self._shares > 1 else None
        self._work_here = partial(
            PieceWork,
            source,
            self._inputs,
            self._rows,
            weights_room=weights_room,
            workspace=workspace,
            profile=profile,
        )

    @property
    def rows(self) -> Floats:
        """A_k before the update."""
        return self._rows

    def gradient(self, loss: Loss, width: float, run: Run) -> Floats:
        """Rows of ``d = (W o P o (X - A S^T)) S``."""
        return self._summed(self._each(partial(PieceWork.gradient, loss=loss, width=width), run))

    def right_hand_side(self, run: Run) -> Floats:
        """Rows of ``X S``, the right-hand side of the normal equations of plain least squares."""
        return self._summed(self._each(PieceWork.right_hand_side, run))

    def plain_gradient(self, run: Run) -> tuple[Floats, float]:
        """Rows of ``(X - A S^T) S`` and ``|| X - A S^T ||_F^2``, for complete data without weights."""
        squares: list[float] = []

        def rows() -> Iterable[Floats]:
            for part, square in self._each(PieceWork.plain_gradient, run):
                squares.append(square)
                yield part

        return self._summed(rows()), sum(squares)

    def curvature(self, direction: Floats, loss: Loss, width: float, run: Run) -> float:
        """``|| sqrt(W) o P o (h S^T) ||_F^2``, the denominator of the exact line search."""
        return float(sum(self._each(partial(PieceWork.curvature, loss=loss, width=width), run, direction)))

    def residuals(self) -> Floats:
        """Residuals of all observed entries, as one vector: only for passes over few entries."""
        return np.concatenate([block for blocks in self._each(PieceWork.residuals, map) for block in blocks])

    def _each(self, compute: Callable[..., Result], run: Run, direction: Floats | None = None) -> Iterable[Result]:
        """What every piece contributes, in the order of the pieces; `compute` is a method of `PieceWork`."""
        if self._placement is not None:
            shares = share_out(self._pieces, self._shares, self._rows, direction)
            return chain.from_iterable(self._placement.map(work_on_share, (self._inputs, compute), shares))
        given = {} if direction is None else {"direction": direction}
        return run(partial(compute, self._work, **given), self._pieces)

    @cached_property
    def _work(self) -> PieceWork:
        return self._work_here()

    def _summed(self, parts: Iterable[Floats]) -> Floats:
        """Rows of all slices, from the rows of every piece; tiles add up."""
        out = np.zeros_like(self._rows)
        for piece, rows in zip(self._pieces, parts, strict=True):
            out[piece.slices] += rows
        return out
