"""The subchain as a linear operator: from slices of core k to entries, and from residuals back to slices.

``forward(rows)`` is ``A_k S_k^T`` and ``adjoint(residuals)`` is ``Y S_k``, for a block of slices, without (or, where
that is cheaper, with) the subchain being formed. All large products are single matrix products. They are written for
arrays of any library; `BlockArrays` says where their results go, and what a library does in its own way. `Workspace` is
NumPy's: it works in place, in memory that it reuses.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from math import prod
from threading import local
from typing import Any, Protocol

import numpy as np

from ringlet.arrays import Device, held_arrays
from ringlet.execution import Placement, Profile
from ringlet.ring import GramChain
from ringlet.ring.arrays import Floats, Mapper
from ringlet.ring.chain import Core, merge
from ringlet.solvers.engine.core_plan import CorePlan
from ringlet.solvers.engine.device_gram import DeviceGrams

__all__ = ["LARGEST_ENTRY", "BlockArrays", "Operator", "Resources", "Workspace", "build_operator"]

LARGEST_ENTRY = {4: 1e12, 8: 1e100}  # in data ranges, by bytes of the working precision: no square of them overflows


class BlockArrays(Protocol):
    """The library of the arrays, and how it computes what takes most time."""

    @property
    def xp(self) -> Any:
        """The namespace of the library."""
        ...

    def array(self, name: str, shape: tuple[int, ...], dtype: Any) -> Any:
        """Where to write a result, of any finite numbers; None: it is a new array."""
        ...

    def product(self, name: str, left: Any, right: Any, shape: tuple[int, ...]) -> Any:
        """``left @ right``, of this shape. It may overwrite the previous result of the same name and dtype."""
        ...

    def contiguous(self, array: Any) -> Any:
        """The array as products read it best."""
        ...

    def scaled(self, values: Any, observed: Any, factor: Any, dtype: Any) -> Any:
        """Entries times a factor, in this dtype, shape (slices, columns) as `observed`; zero where nothing is."""
        ...

    def masked(self, weights: Any, observed: Any) -> Any:
        """Weights, zero where nothing is observed."""
        ...

    def inner(self, one: Any, other: Any) -> Any:
        """``<one, other>``, a number."""
        ...


class Workspace(local):
    """Arrays that a thread reuses, because new memory for large temporaries is slow."""

    xp: Any = np
    contiguous = staticmethod(np.ascontiguousarray)

    def __init__(self) -> None:
        self._arrays: dict[tuple[str, Any], Floats] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Floats:
        """An array of any finite numbers. It overwrites the previous one of the same name and dtype."""
        size = prod(shape)
        flat = self._arrays.get((name, dtype))
        if flat is None or flat.size < size:
            flat = self._arrays[name, dtype] = np.zeros(size, dtype)
        return flat[:size].reshape(shape)

    def product(self, name: str, left: Floats, right: Floats, shape: tuple[int, ...]) -> Floats:
        """``left @ right``, in array `name`."""
        return np.matmul(left, right, out=self.array(name, shape, left.dtype))

    def scaled(self, values: Any, observed: Any, factor: Any, dtype: np.dtype[Any]) -> Floats:
        """Entries times a factor, in array "residuals"; zero where nothing is observed."""
        scaled = self.array("residuals", (len(values), values.size // len(values)), dtype)
        with np.errstate(over="ignore"):  # of floats: entries beyond float32 are cut off below
            np.multiply(values, factor, out=scaled.reshape(values.shape), casting="unsafe")
        largest = LARGEST_ENTRY[dtype.itemsize]
        if values.dtype.kind == "f":
            np.clip(scaled, -largest, largest, out=scaled)
        if observed is not None:
            if values.dtype.kind == "f":  # missing entries may be NaN, which no weight removes
                np.fmax(scaled, -largest, out=scaled)
            scaled *= observed  # `where` has a branch for every entry and takes ten times as long
        return scaled

    def masked(self, weights: Floats, observed: Any) -> Floats:
        """Weights, zero where nothing is observed, in place."""
        weights *= observed
        return weights

    def inner(self, one: Floats, other: Floats) -> float:
        """``<one, other>``."""
        return float(np.vdot(one, other))


@dataclass(frozen=True)
class Resources:
    """Where the work of a pass runs, and the memory that passes share. Neither changes a bit of a result.

    Attributes
    ----------
    mapper : callable
        Used like `map` for independent pieces.
    placement : Placement or None
        The data on a cluster, which does the work if there is enough of it.
    profile : Profile or None
        Records how the time is spent: gather, forward, weights, adjoint, search, Gram, solve.
    workspace : Workspace
    device : Device or None
        Passes run there, on arrays of its library.
    grams : callable
        ``grams(cores, rough=...)``: the Gram matrices of a ring; on the device, if equations are solved there.
    part : callable
        ``part(name)`` is a context whose time counts towards a part of the profile, if there is one.
    """

    mapper: Mapper = map
    placement: Placement | None = None
    profile: Profile | None = None
    workspace: Workspace = field(default_factory=Workspace)
    device: Device | None = None
    grams: Callable[..., GramChain] = field(init=False)
    part: Callable[[str], AbstractContextManager[Any]] = field(init=False)

    def __post_init__(self) -> None:
        place = None if self.device is None else self.device.place
        grams: partial[Any] = partial(GramChain, mapper=self.mapper)
        if place is not None and place.solves:
            grams = partial(DeviceGrams, place)
        object.__setattr__(self, "grams", grams)
        object.__setattr__(self, "part", nullcontext if self.profile is None else self.profile.part)


class Operator(Protocol):
    """The subchain of one core, or of a tile of it."""

    def forward(self, rows: Floats, name: str) -> Floats:
        """``A S^T``: rows (B, a*b) to entries (B, J), in workspace array `name`."""
        ...

    def adjoint(self, residuals: Floats) -> Floats:
        """``Y S``: residuals (B, J) to rows (B, a*b)."""
        ...


def build_operator(plan: CorePlan, cores: Sequence[Core], arrays: BlockArrays) -> Operator:
    """Merge the sampled cores as planned.

    Parameters
    ----------
    plan : CorePlan
    cores : sequence of arrays of the library
        All cores, sampled (and tiled) already; core k itself is not looked at.
    arrays : BlockArrays
    """
    xp = arrays.xp
    first = _in_data_order([cores[mode] for mode in plan.first], plan.first, xp)
    if not plan.second:
        b, columns, a = first.shape
        matrix = arrays.contiguous(xp.permute_dims(first, (2, 0, 1)))
        return _Subchain(xp.reshape(matrix, (a * b, columns)), arrays)
    second = _in_data_order([cores[mode] for mode in plan.second], plan.second, xp)
    if plan.flipped:
        first, second = xp.permute_dims(first, (2, 1, 0)), xp.permute_dims(second, (2, 1, 0))
    first = arrays.contiguous(xp.permute_dims(first, (2, 0, 1)))  # from (beta, jF, c) and (c, jS, alpha)
    second = arrays.contiguous(xp.permute_dims(second, (0, 2, 1)))
    c, alpha, columns = second.shape
    return _Split(first, xp.reshape(second, (c * alpha, columns)), alpha, plan.flipped, arrays)


def _in_data_order(cores: Sequence[Core], modes: Sequence[int], xp: Any) -> Core:
    """Merge cores in ring order. The merged index has their modes in ascending order, as the data do."""
    merged = merge(cores, xp)
    if list(modes) == sorted(modes):
        return merged
    left, _, right = merged.shape
    axes = [1 + modes.index(mode) for mode in sorted(modes)]
    unmerged = xp.reshape(merged, (left, *[core.shape[1] for core in cores], right))
    ordered: Core = xp.reshape(xp.permute_dims(unmerged, (0, *axes, len(modes) + 1)), merged.shape)
    return ordered


@held_arrays("matrix")
@dataclass(frozen=True)
class _Subchain:
    """S_k^T formed, as a matrix (a*b, J)."""

    matrix: Floats
    arrays: BlockArrays

    def forward(self, rows: Floats, name: str) -> Floats:
        entries: Floats = self.arrays.product(name, rows, self.matrix, (rows.shape[0], self.matrix.shape[1]))
        return entries

    def adjoint(self, residuals: Floats) -> Floats:
        return residuals @ self.matrix.T


@held_arrays("first", "second")
@dataclass(frozen=True)
class _Split:
    """S_k^T as two parts, joined by a bond of rank c.

    Attributes
    ----------
    first : array (c, beta, jF)
    second : array (c * alpha, jS)
    alpha : int
    flipped : bool
        Rows hold slices as (beta, alpha) instead of (alpha, beta).
    arrays : BlockArrays
    """

    first: Floats
    second: Floats
    alpha: int
    flipped: bool
    arrays: BlockArrays

    def forward(self, rows: Floats, name: str) -> Floats:
        xp, (c, beta, columns_first) = self.arrays.xp, self.first.shape
        count, alpha, columns_second = rows.shape[0], self.alpha, self.second.shape[1]
        slices = xp.reshape(rows, (count, beta, alpha) if self.flipped else (count, alpha, beta))
        turned = xp.permute_dims(slices, (2, 0, 1) if self.flipped else (1, 0, 2))  # (alpha, B, beta)
        between = self.arrays.product(  # T = A_i first
            "between", xp.reshape(turned, (alpha * count, beta)), self.first, (c, alpha * count, columns_first)
        )
        entries = self.arrays.product(  # M_i = T^T second
            name,
            xp.reshape(between, (c * alpha, count * columns_first)).T,
            self.second,
            (count * columns_first, columns_second),
        )
        return xp.reshape(entries, (count, columns_first * columns_second))  # type: ignore[no-any-return]

    def adjoint(self, residuals: Floats) -> Floats:
        xp, (c, beta, columns_first) = self.arrays.xp, self.first.shape
        count, alpha, columns_second = residuals.shape[0], self.alpha, self.second.shape[1]
        between = self.arrays.product(  # U = second Y_i^T
            "between",
            self.second,
            xp.reshape(residuals, (count * columns_first, columns_second)).T,
            (c * alpha, count * columns_first),
        )
        parts = xp.reshape(between, (c, alpha * count, columns_first)) @ xp.permute_dims(self.first, (0, 2, 1))
        turned = xp.reshape(xp.sum(parts, axis=0), (alpha, count, beta))  # d_i = U first^T
        order = (1, 2, 0) if self.flipped else (1, 0, 2)
        return xp.reshape(xp.permute_dims(turned, order), (count, alpha * beta))  # type: ignore[no-any-return]
