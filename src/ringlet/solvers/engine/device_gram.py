"""Gram matrices on a device with float64: what `ringlet.ring.gram` does in NumPy, on arrays of any library.

The cores of a sweep are there, too. A Gram matrix of wide bonds, and its terms, never leave the device.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.arrays import Place, device_room, namespace, place_of
from ringlet.ring.arrays import Array64
from ringlet.ring.chain import Core, unfold
from ringlet.ring.gram import COMPARED_SLICES, GramChain, KroneckerSum
from ringlet.solvers.engine.core_plan import cut
from ringlet.solvers.engine.kronecker_solve import apply_terms, sides_of

__all__ = ["DeviceGrams", "DeviceSum", "inner", "taken"]

_AT_ONCE = 1 << 25  # numbers between two products


@dataclass(frozen=True)
class DeviceSum:
    """``G = sum_m P_m (x) S_m`` on a device, the counterpart of NumPy's `KroneckerSum`.

    Attributes
    ----------
    left : array, shape (m, a, a)
    right : array, shape (m, b, b)
    place : Place

    Examples
    --------
    >>> import array_api_strict as xp
    >>> place = Place(xp, xp.Device("device1"))
    >>> G = DeviceSum(place.put(np.array([[[2.0]]])), place.put(np.array([[[3.0, 1.0], [1.0, 3.0]]])), place)
    >>> place.fetch(G.dense(1.0)).tolist(), G.trace(), round(G.norm ** 2, 9), G.size
    ([[7.0, 2.0], [2.0, 7.0]], 12.0, 80.0, 2)
    """

    left: Any
    right: Any
    place: Place

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.left.shape[1] * self.right.shape[1])

    def trace(self) -> float:
        """Sum of the diagonal."""
        trace = self.place.xp.linalg.trace
        return float(self.place.xp.sum(trace(self.left) * trace(self.right)))

    @cached_property
    def norm(self) -> float:
        """Frobenius norm, from the inner products of the terms."""
        xp, terms = self.place.xp, self.left.shape[0]
        left, right = xp.reshape(self.left, (terms, -1)), xp.reshape(self.right, (terms, -1))
        return sqrt(max(float(xp.sum((left @ left.T) * (right @ right.T))), 0.0))

    def dense(self, shift: float = 0.0) -> Any:
        """``G + shift I``. The shift is one more term, which avoids a second matrix of this size."""
        xp, (terms, a, _), b = self.place.xp, self.left.shape, self.right.shape[1]
        one_a, one_b = (xp.eye(size, dtype=xp.float64, device=self.place.device) for size in (a, b))
        left = xp.reshape(xp.concat([self.left, shift * one_a[None, :, :]]), (terms + 1, -1))
        right = xp.reshape(xp.concat([self.right, one_b[None, :, :]]), (terms + 1, -1))
        products = xp.reshape(left.T @ right, (a, a, b, b))
        return xp.reshape(xp.permute_dims(products, (0, 2, 1, 3)), (a * b, a * b))

    def apply(self, rows: Any) -> Any:
        """``rows @ G``, with G formed or not, whichever takes less memory."""
        xp, (terms, a, _), b = self.place.xp, self.left.shape, self.right.shape[1]
        if terms * (a + b) >= a * b:
            return rows @ self.dense()
        return apply_terms(*sides_of(self.left, self.right, xp), rows, xp)

    def fetched(self) -> KroneckerSum:
        """The terms on the host; where G is not formed they are few."""
        return KroneckerSum(self.place.fetch(self.left), self.place.fetch(self.right))


class DeviceGrams(GramChain):
    """Gram matrices of all subchains of a ring on a device.

    Parameters
    ----------
    place : Place
        With float64.
    cores : sequence of arrays
        Of NumPy, or of the place.
    rough : bool
        As in `GramChain`; not used here, where all products are in float64.
    """

    def __init__(self, place: Place, cores: Sequence[Core], *, rough: bool = False) -> None:
        super().__init__([place.put(core) for core in cores], rough=rough)
        self.place, self.xp, self.host = place, place.xp, place.fetch
        bond, pairs = self._narrowest, self._pairs
        number = np.zeros((bond, bond), np.int32)
        number[pairs[::-1]] = len(pairs[0]) + np.arange(len(pairs[0]))  # of the transposed products, which follow
        number[pairs] = np.arange(len(pairs[0]))
        self._both, self._ends = place.put(number.ravel()), place.put(self._ends.astype(np.int32))
        identity: Any = self._prefix[0]
        self._prefix[0] = self._suffix[-1] = place.put(identity)

    def without(self, k: int) -> DeviceSum:  # type: ignore[override]
        """Gram matrix of the subchain of all cores but k."""
        xp, at = self.xp, (k - self._first_mode) % len(self._cores)
        with device_room(f"for the Gram matrix of mode {k}"):
            left, right = (
                xp.take(xp.concat([products, xp.matrix_transpose(products)]), self._both, axis=0)
                for products in (self._product(at, reverse=reverse) for reverse in (False, True))
            )
        return DeviceSum(left, right, self.place)

    def unfolding_gram(self, k: int) -> Array64:
        """``D = A_k G_k A_k^T`` at evenly spaced slices, on the host."""
        core = self.cores[k]
        chosen = np.linspace(0, core.shape[1] - 1, min(core.shape[1], COMPARED_SLICES)).astype(np.int32)
        rows = unfold(self.xp.take(core, self.place.put(chosen), axis=1), self.xp.float64, self.xp)
        return self.place.fetch(self.without(k).apply(rows) @ rows.T)

    def _passed(self, products: Any, core: Any) -> Any:
        """``sum_i Z(i)^T product Z(i)`` for every product, some slices at a time."""
        xp, count, (a, slices, b) = self.xp, products.shape[0], core.shape
        step, total = max(1, _AT_ONCE // (count * a * b)), 0.0
        for span in cut(slices, step):
            slab = xp.astype(core[:, span, :], xp.float64)
            middle = xp.reshape(products, (count * a, a)) @ xp.reshape(slab, (a, -1))
            total = total + xp.reshape(slab, (-1, b)).T @ xp.reshape(middle, (count, -1, b))
        return total


def inner(one: Any, other: Any) -> float:
    """``<one, other>`` of arrays on a device with float64."""
    xp = namespace(one)
    return float(xp.sum(one * other, dtype=xp.float64))


def taken(cores: Sequence[Any], index: Sequence[NDArray[np.intp]]) -> list[Any]:
    """Cores on a device at the indices used of every mode, all of them or some."""
    place = place_of(cores[0])
    assert place is not None  # noqa: S101 - cores on the host are NumPy's
    return [
        core if len(used) == core.shape[1] else place.xp.take(core, place.put(used.astype(np.int32)), axis=1)
        for core, used in zip(cores, index, strict=True)
    ]
