"""The mathematics of a block of slices, on arrays of any library: residuals, weights, gradient, curvature.

Nothing here reads data or knows of other blocks. Arrays come in and arrays go out, so JAX can compile each function.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from ringlet.robust import LOSSES, Loss
from ringlet.solvers.engine.block_arrays import BlockArrays
from ringlet.solvers.engine.subchain import Operator

__all__ = ["BlockMath", "Entries"]


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
    loss : Loss or None
        None: least squares.
    part : callable
        ``part(name)`` is a context whose time counts towards a part of a profile.
    """

    arrays: BlockArrays
    loss: Loss | None = None
    part: Callable[[str], AbstractContextManager[Any]] = nullcontext

    def residuals(self, operator: Operator, rows: Any, entries: Entries) -> Any:
        """``E = X - A S^T``, shape (B, J); anything finite where nothing is observed."""
        with self.part("forward"):
            model = operator.forward(rows, "model")
        with self.part("gather"):
            residuals = self.arrays.scaled(entries.values, entries.observed, entries.factor, rows.dtype)
        residuals -= model
        return residuals

    def weights(self, residuals: Any, entries: Entries, width: Any, room: Any = None) -> Any:
        """W o P, in `room` if that is an array; None: all are one. Missing entries have weight zero."""
        if self.loss is None and entries.observed is None and entries.row_weights is None:
            return None
        with self.part("weights"):
            loss = LOSSES["l2"] if self.loss is None else self.loss
            factors = loss.weight(residuals, width, room, self.arrays.xp)
            if entries.observed is not None:
                factors = self.arrays.masked(factors, entries.observed)
            if entries.row_weights is not None:
                factors *= entries.row_weights
        return factors

    def gradient(
        self, operator: Operator, rows: Any, entries: Entries, width: Any, room: Any = None
    ) -> tuple[Any, Any]:
        """Rows of ``(W o P o E) S``, and the weights."""
        residuals = self.residuals(operator, rows, entries)
        factors = self.weights(residuals, entries, width, room)
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
