"""The subchain as a linear operator: slices of core k forth to entries, residuals back to slices.

``forward(rows)`` is ``A_k S_k^T`` and ``adjoint(residuals)`` is ``Y S_k``, for a block of slices, without (or, where
that is cheaper, with) the subchain being formed. All large products are single matrix products.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from math import prod
from threading import local
from typing import Any, Protocol

import numpy as np

from ringlet.execution import Placement, Profile
from ringlet.ring.arrays import Floats, Mapper
from ringlet.ring.chain import Core, merge
from ringlet.solvers.engine.core_plan import CorePlan

__all__ = ["Operator", "Resources", "Workspace", "build_operator"]


class Workspace(local):
    """Arrays that a thread uses again and again, so that the memory of large temporaries stays warm."""

    def __init__(self) -> None:
        self._arrays: dict[tuple[str, Any], Floats] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Floats:
        """An array of any finite numbers; the previous one of the same name and dtype is void."""
        size = prod(shape)
        flat = self._arrays.get((name, dtype))
        if flat is None or flat.size < size:
            flat = self._arrays[name, dtype] = np.zeros(size, dtype)
        return flat[:size].reshape(shape)


@dataclass(frozen=True)
class Resources:
    """Where the work of a pass runs, and the memory that passes share. None of it changes a bit of a result.

    Attributes
    ----------
    mapper : callable
        Used like `map` for independent pieces.
    placement : Placement or None
        The data on a cluster, which does the work if there is enough of it.
    profile : Profile or None
        Records where the time goes: gather, forward, weights, adjoint, search, Gram, solve.
    workspace : Workspace
    part : callable
        ``part(name)`` is a context whose time counts towards a part of the profile, if there is one.
    """

    mapper: Mapper = map
    placement: Placement | None = None
    profile: Profile | None = None
    workspace: Workspace = field(default_factory=Workspace)
    part: Callable[[str], AbstractContextManager[Any]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "part", nullcontext if self.profile is None else self.profile.part)


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
    first = _in_data_order([cores[mode] for mode in plan.first], plan.first)
    if not plan.second:
        b, columns, a = first.shape
        return _Subchain(np.ascontiguousarray(first.transpose(2, 0, 1)).reshape(a * b, columns), workspace)
    second = _in_data_order([cores[mode] for mode in plan.second], plan.second)
    if plan.flipped:
        first, second = first.swapaxes(0, 2), second.swapaxes(0, 2)
    return _Split(  # from (beta, jF, c) and (c, jS, alpha)
        np.ascontiguousarray(first.transpose(2, 0, 1)),
        np.ascontiguousarray(second.transpose(0, 2, 1)),
        plan.flipped,
        workspace,
    )


def _in_data_order(cores: Sequence[Core], modes: Sequence[int]) -> Core:
    """Merge cores in ring order; the merged index has their modes in ascending order, as the data lie in memory."""
    merged = merge(cores)
    if list(modes) == sorted(modes):
        return merged
    left, _, right = merged.shape
    axes = np.argsort(modes)
    unmerged = merged.reshape(left, *[core.shape[1] for core in cores], right)
    return unmerged.transpose(0, *(axes + 1), len(modes) + 1).reshape(merged.shape)


@dataclass(frozen=True)
class _Subchain:
    """S_k^T formed, as a matrix (a*b, J)."""

    matrix: Floats
    workspace: Workspace

    def forward(self, rows: Floats, name: str) -> Floats:
        out = self.workspace.array(name, (len(rows), self.matrix.shape[1]), rows.dtype)
        return np.matmul(rows, self.matrix, out=out)

    def adjoint(self, residuals: Floats) -> Floats:
        return residuals @ self.matrix.T


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
