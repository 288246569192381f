"""Taking a state apart that was stored: every array and number is checked before a run goes on from it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import FormatError
from ringlet.ring.chain import Core
from ringlet.solvers.driver import RunState

__all__ = ["name_cores", "recall_array", "recall_cores", "recall_number"]


def name_cores(cores: Sequence[Core]) -> dict[str, NDArray[Any]]:
    """The cores of a ring as part of a state."""
    return {f"core.{mode}": core for mode, core in enumerate(cores)}


def recall_cores(state: RunState, like: Sequence[Core]) -> list[Core]:
    """The cores of a state; they must have the shapes and the dtype of those that the run began with."""
    return [recall_array(state, f"core.{mode}", core.shape, core.dtype) for mode, core in enumerate(like)]


def recall_array(state: RunState, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """An array of a state, of finite numbers.

    Examples
    --------
    >>> recall_array({"x": np.zeros(2)}, "x", (3,), np.dtype("f8"))
    Traceback (most recent call last):
    ringlet.errors.FormatError: 'x' of the state is float64 of shape (2,), not float64 of shape (3,)
    """
    found = np.asarray(_found(state, name))
    if (found.shape, found.dtype) != (shape, dtype):
        raise FormatError(
            f"{name!r} of the state is {found.dtype} of shape {found.shape}, not {dtype} of shape {shape}"
        )
    if not np.isfinite(found).all():
        raise FormatError(f"{name!r} of the state has entries that are NaN or infinite")
    return found


def recall_number(state: RunState, name: str) -> float:
    """A number of a state, at least 0, possibly infinite.

    Examples
    --------
    >>> recall_number({"sigma": np.array(2.5)}, "sigma")
    2.5
    """
    found = np.asarray(_found(state, name))
    if found.shape != () or not found >= 0:
        raise FormatError(f"{name!r} of the state is not a number of at least 0")
    return float(found)


def _found(state: RunState, name: str) -> NDArray[Any] | float:
    if name not in state:
        raise FormatError(f"the state lacks {name!r}")
    return state[name]
