"""Checks of the cores and mode names that are passed to a ring."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ringlet.arrays import Place, place_of
from ringlet.checks import check_sequence
from ringlet.errors import ArgumentError, ArgumentTypeError
from ringlet.ring.chain import Core

__all__ = ["frozen_cores", "mode_names", "placed_cores"]


def placed_cores(cores: Iterable[Any]) -> tuple[tuple[Any, ...], Place] | None:
    """The cores of a ring on a device, checked, in one floating dtype, copied; None if they are no such arrays."""
    listed = list(cores) if isinstance(cores, Sequence) else []
    places = [place_of(core, "cores") for core in listed]
    first = next((place for place in places if place is not None), None)
    if first is None:
        return None
    for k, place in enumerate(places):
        if place != first:
            where = "NumPy's memory" if place is None else place
            raise ArgumentError(f"core {k} lies in {where}, another core on {first}; move all to one place")
    dtypes = [first.numpy_dtype(core, f"core {k}") for k, core in enumerate(listed)]
    _check_chain([tuple(core.shape) for core in listed], dtypes)
    dtype, xp = _floating(np.result_type(*dtypes)), first.xp
    if not first.has(dtype):
        dtype = np.dtype(np.float32)
    kept = tuple(xp.astype(core, first.dtype(dtype), copy=True) for core in listed)
    for k, core in enumerate(kept):
        if not bool(xp.all(xp.isfinite(core))):
            raise ArgumentError(f"core {k} has entries that are NaN or infinite in {dtype}")
    return kept, first


def frozen_cores(cores: Iterable[ArrayLike]) -> tuple[Core, ...]:
    """The cores of a ring, checked, in one floating dtype, read-only."""
    if isinstance(cores, np.ndarray) and cores.ndim == 3:
        raise ArgumentTypeError("cores must be a sequence of 3-D arrays, not a single one; write [core]")
    if not isinstance(cores, Iterable) or (isinstance(cores, np.ndarray) and cores.ndim == 0):
        raise ArgumentTypeError(f"cores must be a sequence of 3-D arrays, not {cores!r}")
    arrays: list[NDArray[Any]] = []
    for k, core in enumerate(cores):
        try:
            arrays.append(np.asarray(core))
        except ValueError:
            raise ArgumentError(f"core {k} is a ragged list; give (rank[k], size, rank[k+1]) numbers") from None
    if not arrays:
        raise ArgumentError("a ring needs at least one core")
    _check_chain([array.shape for array in arrays], [array.dtype for array in arrays])
    dtype = _floating(np.result_type(*arrays))
    frozen = tuple(_frozen(array, dtype) for array in arrays)
    for k, kept in enumerate(frozen):
        if not np.isfinite(kept).all():
            raise ArgumentError(f"core {k} has entries that are NaN or infinite in {dtype}")
    return frozen


def _check_chain(shapes: Sequence[tuple[int, ...]], dtypes: Sequence[np.dtype[Any]]) -> None:
    """Refuse cores that make no ring."""
    for k, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True)):
        if not (np.issubdtype(dtype, np.integer) or np.issubdtype(dtype, np.floating)):
            raise ArgumentTypeError(f"core {k} has dtype {dtype}; cores must be real numbers")
        if len(shape) != 3 or 0 in shape:
            raise ArgumentError(f"core {k} has shape {shape}; give (rank[k], size, rank[k+1]), each at least 1")
    for k, shape in enumerate(shapes):
        after = (k + 1) % len(shapes)
        if shape[2] != shapes[after][0]:
            raise ArgumentError(
                f"core {k} ends in a bond of rank {shape[2]}, "
                f"but core {after} begins with {shapes[after][0]}; neighbours must agree "
                f"(and the last core with the first)"
            )


def _floating(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Float32 for float16 and float32, float64 for all else."""
    single = np.issubdtype(dtype, np.floating) and dtype.itemsize <= 4
    return np.dtype(np.float32 if single else np.float64)


def _frozen(array: NDArray[Any], dtype: np.dtype[Any]) -> Core:
    """Return a C-contiguous read-only array that no other code can write to."""
    with np.errstate(over="ignore"):  # values out of range become infinite and are reported by core
        core: Core = np.ascontiguousarray(array, dtype)
    owner: Any = core if core is array or np.shares_memory(core, array) else None
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:  # someone else can write to it
            core = core.copy()
            break
        owner = owner.base
    core.setflags(write=False)
    return core.view(np.ndarray)  # a view: its owner is read-only, so the view cannot be made writable


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
