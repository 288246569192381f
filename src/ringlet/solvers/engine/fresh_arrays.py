"""Blocks on arrays of other libraries than NumPy: results are new arrays, and JAX compiles a block's mathematics."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ringlet.arrays import traced
from ringlet.solvers.engine.block_work import BlockMath
from ringlet.solvers.engine.subchain import LARGEST_ENTRY

__all__ = ["FreshArrays", "TracedMath"]


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


@dataclass(frozen=True)
class TracedMath:
    """`BlockMath` whose functions JAX compiles as a whole for every shape; other libraries run them as they are.

    Attributes
    ----------
    math : BlockMath
    """

    math: BlockMath

    @property
    def arrays(self) -> Any:
        """The library."""
        return self.math.arrays

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(traced(self.math.arrays.xp, getattr(BlockMath, name)), self.math)
