"""Cores as arrays: unfolded into rows, merged with their neighbours, balanced. Pure array functions."""

from collections.abc import Sequence
from math import frexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Core", "balanced_cores", "merge", "merge_cost", "refold", "unfold"]

Core = NDArray[np.floating[Any]]

_DRIFT = 8  # powers of two that the size of a core may be off before cores are balanced
_NOTHING = -64  # powers of two: a smaller product of all cores is as good as zero, and may vanish


def unfold(core: Core, dtype: Any = None, xp: Any = np) -> NDArray[Any]:
    """A_k: the slices of a core of the library `xp` as rows, shape (I_k, r_k r_{k+1})."""
    a, slices, b = core.shape
    if xp is not np:
        rows = xp.reshape(xp.permute_dims(core, (1, 0, 2)), (slices, a * b))
        return rows if dtype is None else xp.astype(rows, dtype)  # type: ignore[no-any-return]
    return np.ascontiguousarray(core.transpose(1, 0, 2), dtype=dtype).reshape(slices, a * b)


def refold(rows: NDArray[np.floating[Any]], a: int, b: int, xp: Any = np) -> Core:
    """The core whose slices are these rows, shape (a, I_k, b), of the library `xp`; NumPy's is a view."""
    core: Core = xp.permute_dims(xp.reshape(rows, (rows.shape[0], a, b)), (1, 0, 2))
    return core


def merge(cores: Sequence[Core], xp: Any = np) -> Core:
    """Merge neighbouring cores into one.

    Parameters
    ----------
    cores : sequence of arrays
        Core j has shape ``(r_j, I_j, r_{j+1})``.
    xp : module
        The library of the cores.

    Returns
    -------
    array of shape ``(r_first, prod(I_j), r_last)``
        Slice ``(i_1, .., i_m)`` (the last index fastest) is the matrix product of the cores' lateral slices.
    """
    from_left, from_right = _fold_costs(cores) if len(cores) > 2 else (0, 0)
    forward = from_left <= from_right
    merged, *rest = cores if forward else cores[::-1]
    for core in rest:
        left, right = (merged, core) if forward else (core, merged)
        (a, i, c), (_, j, b) = left.shape, right.shape
        merged = xp.reshape(xp.reshape(left, (a * i, c)) @ xp.reshape(right, (c, j * b)), (a, i * j, b))
    return merged


def merge_cost(cores: Sequence[Core]) -> int:
    """Floating-point operations that `merge` spends on these cores."""
    return min(_fold_costs(cores))


def _fold_costs(cores: Sequence[Core]) -> list[int]:
    """Operations of merging cores one by one, from the left and from the right."""
    costs = []
    for shapes in ([core.shape for core in cores], [core.shape[::-1] for core in reversed(cores)]):
        cost, (first, slices, _) = 0, shapes[0]
        for c, i, b in shapes[1:]:
            cost += 2 * first * slices * c * i * b
            slices *= i
        costs.append(cost)
    return costs


def balanced_cores(cores: Sequence[Core], xp: Any = np) -> list[Core] | None:
    """The same tensor by cores whose largest entries differ by about a factor of two; None if they do, or vanish.

    Cores are multiplied by powers of two whose product is one, so that no number loses a digit, and a fit goes on as it
    would have without. They are arrays of the library `xp`.

    Examples
    --------
    >>> [float(core.max()) for core in balanced_cores([np.full((1, 1, 1), 2.0**20), np.full((1, 1, 1), 0.5)])]
    [1024.0, 512.0]
    """
    sizes = [max(float(xp.max(core)), -float(xp.min(core))) for core in cores]
    if not all(0.0 < size < np.inf for size in sizes):
        return None
    powers = [frexp(size)[1] for size in sizes]
    if sum(powers) < _NOTHING:
        return None
    common, left = divmod(sum(powers), len(powers))
    shifts = [common + (mode < left) - power for mode, power in enumerate(powers)]
    if max(map(abs, shifts)) < _DRIFT:
        return None
    if xp is not np:
        return [core * 2.0**shift for core, shift in zip(cores, shifts, strict=True)]
    return [np.ldexp(core, shift) for core, shift in zip(cores, shifts, strict=True)]
