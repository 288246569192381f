"""The subchain as a linear operator: slices of core k forth to entries, residuals back to slices.

``forward(rows)`` is ``A_k S_k^T`` and ``adjoint(residuals)`` is ``Y S_k``, for a block of slices, without (or, where
that is cheaper, with) the subchain being formed. All large products are single matrix products.
"""

from collections.abc import Sequence
from math import prod
from threading import local
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.chain import Core, merge
from ringlet.solvers.engine.core_plan import CorePlan

__all__ = ["Operator", "Workspace", "build_operator"]

Floats: TypeAlias = NDArray[np.floating[Any]]


class Workspace(local):
    """Arrays that a thread uses again and again, so that the memory of large temporaries stays warm."""

    def __init__(self) -> None:
        self._arrays: dict[tuple[str, Any], Floats] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Floats:
        """An uninitialised array; the previous one of the same name and dtype is void."""
        size = prod(shape)
        flat = self._arrays.get((name, dtype))
        if flat is None or flat.size < size:
            flat = self._arrays[name, dtype] = np.empty(size, dtype)
        return flat[:size].reshape(shape)


class Operator(Protocol):
    """The subchain of one core, or of a tile of it."""

    def forward(self, rows: Floats, name: str) -> Floats:
        """``A S^T``: rows (B, a*b) to entries (B, J), in workspace array `name`."""
        ...

    def adjoint(self, residuals: Floats) -> Floats:
        """``Y S``: residuals (B, J) to rows (B, a*b)."""
        ...


def build_operator(plan: CorePlan, cores: Sequence[Core], workspace: Workspace) -> Operator:
    """Merge the sampled cores as planned.

    Parameters
    ----------
    plan : CorePlan
    cores : sequence of arrays
        All cores, sampled (and tiled) already; core k itself is not looked at.
    workspace : Workspace
    """
    if not plan.second:
        chain = _in_data_order(merge([cores[mode] for mode in plan.first]), plan.first, cores)
        b, columns, a = chain.shape
        return _Subchain(np.ascontiguousarray(chain.transpose(2, 0, 1)).reshape(a * b, columns), workspace)
    first = _in_data_order(merge([cores[mode] for mode in plan.first]), plan.first, cores)
    second = _in_data_order(merge([cores[mode] for mode in plan.second]), plan.second, cores)
    if plan.flipped:
        first, second = first.swapaxes(0, 2), second.swapaxes(0, 2)
    return _Split(  # from (beta, jF, c) and (c, jS, alpha)
        np.ascontiguousarray(first.transpose(2, 0, 1)),
        np.ascontiguousarray(second.transpose(0, 2, 1)),
        plan.flipped,
        workspace,
    )


def _in_data_order(merged: Core, part: Sequence[int], cores: Sequence[Core]) -> Core:
    """Reorder merged indices from ring order to ascending modes, in which the data lie in memory."""
    if list(part) == sorted(part):
        return merged
    left, _, right = merged.shape
    axes = sorted(range(len(part)), key=lambda position: part[position])
    unmerged = merged.reshape(left, *(cores[mode].shape[1] for mode in part), right)
    return unmerged.transpose(0, *(axis + 1 for axis in axes), len(part) + 1).reshape(merged.shape)


class _Subchain:
    """S_k^T formed, as a matrix (a*b, J)."""

    def __init__(self, matrix: Floats, workspace: Workspace) -> None:
        self._matrix = matrix
        self._workspace = workspace

    def forward(self, rows: Floats, name: str) -> Floats:
        out = self._workspace.array(name, (len(rows), self._matrix.shape[1]), rows.dtype)
        return np.matmul(rows, self._matrix, out=out)

    def adjoint(self, residuals: Floats) -> Floats:
        return residuals @ self._matrix.T


class _Split:
    """S_k^T as two parts, joined by a bond of rank c.

    Parameters
    ----------
    first : array (c, beta, jF)
    second : array (c, alpha, jS)
    flipped : bool
        Rows hold slices as (beta, alpha) instead of (alpha, beta).
    """

    def __init__(self, first: Floats, second: Floats, flipped: bool, workspace: Workspace) -> None:
        self._first = first
        self._second = second.reshape(-1, second.shape[2])
        self._alpha = second.shape[1]
        self._flipped = flipped
        self._workspace = workspace

    def forward(self, rows: Floats, name: str) -> Floats:
        c, beta, columns_first = self._first.shape
        count, alpha = len(rows), self._alpha
        slices = rows.reshape(count, beta, alpha) if self._flipped else rows.reshape(count, alpha, beta)
        turned = slices.transpose(2, 0, 1) if self._flipped else slices.transpose(1, 0, 2)  # (alpha, B, beta)
        between = self._workspace.array("between", (c, alpha * count, columns_first), rows.dtype)
        np.matmul(turned.reshape(alpha * count, beta), self._first, out=between)  # T = A_i first
        out = self._workspace.array(name, (count * columns_first, self._second.shape[1]), rows.dtype)
        np.matmul(between.reshape(c * alpha, count * columns_first).T, self._second, out=out)  # M_i = T^T second
        return out.reshape(count, -1)

    def adjoint(self, residuals: Floats) -> Floats:
        c, beta, columns_first = self._first.shape
        count, alpha = len(residuals), self._alpha
        between = self._workspace.array("between", (c * alpha, count * columns_first), residuals.dtype)
        np.matmul(self._second, residuals.reshape(count * columns_first, -1).T, out=between)  # U = second Y_i^T
        parts = between.reshape(c, alpha * count, columns_first) @ self._first.transpose(0, 2, 1)
        turned = parts.sum(axis=0).reshape(alpha, count, beta)  # d_i = U first^T
        order = (1, 2, 0) if self._flipped else (1, 0, 2)
        return np.asarray(turned.transpose(order).reshape(count, alpha * beta))
