"""Names for the arrays and callables that several files of this room take."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array64", "Run"]

Array64: TypeAlias = NDArray[np.float64]
Run: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]  # used like `map`
