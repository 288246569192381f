"""The entries of restored data, evaluated a part at a time in the dtype of the data."""

from collections.abc import Callable, Iterator
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ringlet.solvers.result import Fit
from ringlet.sources.dtypes import as_dtype

__all__ = ["CleanEntries", "clean_entries", "fill", "parts"]

CleanEntries: TypeAlias = Callable[[Any], NDArray[Any]]  # a block of the restored tensor, by its index

_PART_ENTRIES = 1 << 22  # evaluated at once: 32 MB of float64


def clean_entries(fit: Fit, dtype: DTypeLike, *, keep: bool) -> CleanEntries:
    """A function that gives any block of the restored tensor.

    Parameters
    ----------
    fit : Fit
    dtype : dtype
        Of the data. Numbers are rounded and clipped to whole ones.
    keep : bool
        Replace only entries that are missing or judged outliers; otherwise all are the ring's.

    Examples
    --------
    >>> import ringlet
    >>> x = np.full((6, 5, 4), 7, np.uint8)
    >>> x[1, 2, 3] = 200
    >>> clean_entries(ringlet.decompose(x, rank=1), x.dtype, keep=True)((1, 2))
    array([7, 7, 7, 7], dtype=uint8)
    """
    evaluate: CleanEntries = fit.unlabelled.restored if keep else fit.ring.__getitem__
    return lambda index: as_dtype(evaluate(index), dtype)


def fill(target: NDArray[Any], entries: CleanEntries) -> None:
    """Write all restored entries into an array or a memory map."""
    for part in parts(target.shape, mode=0):
        target[part] = entries(part)
    if isinstance(target, np.memmap):
        target.flush()


def parts(shape: tuple[int, ...], mode: int) -> Iterator[slice]:
    """Consecutive parts of a mode, each with a bounded number of entries.

    Examples
    --------
    >>> list(parts((1 << 12, 1 << 12), mode=1))[:2]
    [slice(0, 1024, None), slice(1024, 2048, None)]
    """
    length = shape[mode]
    step = max(1, _PART_ENTRIES * length // prod(shape))
    for start in range(0, length, step):
        yield slice(start, start + step)
