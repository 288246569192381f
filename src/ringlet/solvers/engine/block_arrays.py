"""Where the results of block work go, and what NumPy does in its own way: a contract of few methods.

`Workspace` is NumPy's: it works in place, in memory that it reuses. `FreshArrays` is for all other libraries, which
keep a pool of memory themselves, and whose arrays may be immutable.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from threading import local
from typing import Any, Protocol, TypeVar

import numpy as np

from ringlet.arrays import traced
from ringlet.ring.arrays import Floats

__all__ = ["LARGEST_ENTRY", "BlockArrays", "FreshArrays", "Workspace"]

Function = TypeVar("Function", bound=Callable[..., Any])

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

    def number(self, number: Any) -> Any:
        """A number that arrays are multiplied by."""
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

    def joined(self, parts: Iterable[Any], like: Any) -> Any:
        """Parts below each other, together of the shape and dtype of `like`."""
        ...

    def traced(self, function: Function) -> Function:
        """The function, whose first argument holds no arrays, as the library runs it best."""
        ...


@dataclass(frozen=True)
class FreshArrays:
    """Every result in new memory, by functions of the array API standard.

    Attributes
    ----------
    xp : module
    """

    xp: Any

    def array(self, name: str, shape: tuple[int, ...], dtype: Any) -> None:
        """None: results are new arrays."""

    def number(self, number: Any) -> float:
        """A Python number, which changes no dtype."""
        return float(number)

    def product(self, name: str, left: Any, right: Any, shape: tuple[int, ...]) -> Any:  # noqa: ARG002
        """``left @ right``."""
        return left @ right

    def contiguous(self, array: Any) -> Any:
        """The array as it is."""
        return array

    def scaled(self, values: Any, observed: Any, factor: Any, dtype: Any) -> Any:
        """Entries times a factor; zero where nothing is observed."""
        xp = self.xp
        scaled = xp.astype(xp.reshape(values, (values.shape[0], -1)), dtype)
        scaled *= factor
        if xp.isdtype(values.dtype, "real floating"):
            largest = LARGEST_ENTRY[xp.finfo(dtype).bits // 8]
            scaled = xp.clip(scaled, -largest, largest)
            if observed is not None:  # missing entries may be NaN, which no weight removes
                scaled = xp.where(observed, scaled, xp.zeros_like(scaled))
        return scaled

    def masked(self, weights: Any, observed: Any) -> Any:
        """Weights, zero where nothing is observed."""
        return weights * self.xp.astype(observed, weights.dtype)

    def inner(self, one: Any, other: Any) -> Any:
        """``<one, other>``, on the device."""
        return self.xp.sum(one * other)

    def joined(self, parts: Iterable[Any], like: Any) -> Any:  # noqa: ARG002 - of the shape that the parts have
        """Parts below each other."""
        found = list(parts)
        return found[0] if len(found) == 1 else self.xp.concat(found, axis=0)

    def traced(self, function: Function) -> Function:
        """The function; JAX compiles it as a whole for every shape."""
        return traced(self.xp, function)


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

    def number(self, number: Any) -> Any:
        """The number as it is."""
        return number

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

    def joined(self, parts: Iterable[Floats], like: Floats) -> Floats:
        """Parts below each other, each copied as it comes."""
        rows, first = np.empty_like(like), 0
        for part in parts:
            rows[first : first + len(part)] = part
            first += len(part)
        return rows

    def traced(self, function: Function) -> Function:
        """The function as it is."""
        return function
