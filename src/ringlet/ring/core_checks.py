"""Checks of the cores and mode names that are passed to a ring."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ringlet.checks import check_sequence
from ringlet.errors import ArgumentError, ArgumentTypeError
from ringlet.ring.chain import Core

__all__ = ["frozen_cores", "mode_names"]


def frozen_cores(cores: Iterable[ArrayLike]) -> tuple[Core, ...]:
    """The cores of a ring, checked, in one floating dtype, read-only."""
    if isinstance(cores, np.ndarray) and cores.ndim == 3:
        raise ArgumentTypeError("cores must be a sequence of 3-D arrays, not a single one; write [core]")
    if not isinstance(cores, Iterable) or (isinstance(cores, np.ndarray) and cores.ndim == 0):
        raise ArgumentTypeError(f"cores must be a sequence of 3-D arrays, not {cores!r}")
    arrays = [_as_array(core, k) for k, core in enumerate(cores)]
    if not arrays:
        raise ArgumentError("a ring needs at least one core")
    for k, array in enumerate(arrays):
        if not (np.issubdtype(array.dtype, np.integer) or np.issubdtype(array.dtype, np.floating)):
            raise ArgumentTypeError(f"core {k} has dtype {array.dtype}; cores must be real numbers")
        if array.ndim != 3 or 0 in array.shape:
            raise ArgumentError(f"core {k} has shape {array.shape}; give (rank[k], size, rank[k+1]), each at least 1")
    for k, array in enumerate(arrays):
        after = (k + 1) % len(arrays)
        if array.shape[2] != arrays[after].shape[0]:
            raise ArgumentError(
                f"core {k} ends in a bond of rank {array.shape[2]}, "
                f"but core {after} begins with {arrays[after].shape[0]}; neighbours must agree "
                f"(and the last core with the first)"
            )
    dtype = _floating(np.result_type(*arrays))
    frozen = tuple(_frozen(array, dtype) for array in arrays)
    for k, core in enumerate(frozen):
        if not np.isfinite(core).all():
            raise ArgumentError(f"core {k} has entries that are NaN or infinite in {dtype}")
    return frozen


def _as_array(core: ArrayLike, k: int) -> NDArray[Any]:
    try:
        return np.asarray(core)
    except ValueError:
        raise ArgumentError(f"core {k} is a ragged list; give (rank[k], size, rank[k+1]) numbers") from None


def _floating(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Float32 for float16 and float32, float64 for all else."""
    single = np.issubdtype(dtype, np.floating) and dtype.itemsize <= 4
    return np.dtype(np.float32 if single else np.float64)


def _frozen(array: NDArray[Any], dtype: np.dtype[Any]) -> Core:
    """Return a C-contiguous read-only array that no other code can write to."""
    with np.errstate(over="ignore"):  # values out of range become infinite and are reported by core
        core: Core = np.ascontiguousarray(array, dtype)
    if core is array or np.shares_memory(core, array):
        core = core if _is_frozen(core) else core.copy()
    core.setflags(write=False)
    return core.view(np.ndarray)  # a view: its owner is read-only, so the view cannot be made writable


def _is_frozen(array: NDArray[Any]) -> bool:
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    return True


def mode_names(names: Sequence[str] | None, order: int) -> tuple[str, ...] | None:
    """Names of the modes, one each, if there are any."""
    if names is None:
        return None
    listed = check_sequence("names", names, "one string a mode") if not isinstance(names, str) else (None,)
    if not all(isinstance(name, str) for name in listed):
        raise ArgumentTypeError(f"names must be a sequence of strings, one per mode, not {names!r}")
    if len(listed) != order:
        raise ArgumentError(f"names has {len(listed)} entries but the tensor has {order} modes")
    return tuple(str(name) for name in listed)
