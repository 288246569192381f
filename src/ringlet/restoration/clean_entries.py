"""The entries of restored data, evaluated a part at a time in the dtype of the data."""

from collections.abc import Callable, Iterator
from enum import Enum
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import DataWarning, warn
from ringlet.results.fit import Fit
from ringlet.ring import TensorRing
from ringlet.sources import Source
from ringlet.sources.dtypes import as_dtype
from ringlet.sources.labels import plain_index

__all__ = ["CleanEntries", "Kept", "clean_entries", "fill", "parts", "ring_entries"]

CleanEntries: TypeAlias = Callable[[Any], NDArray[Any]]  # a block of the restored tensor, by its index

_PART_ENTRIES = 1 << 22  # evaluated at once: 32 MB of float64


class Kept(Enum):
    """Which entries of the data stay as they are in the restored data; the others are the ring's."""

    NONE = "none"
    TRUSTED = "those that are known and not judged outliers"
    KNOWN = "all that are known"

    @classmethod
    def of(cls, *, keep: bool, trust_known: bool) -> "Kept":
        """From the arguments of `ringlet.restore`."""
        return cls.KNOWN if trust_known else cls.TRUSTED if keep else cls.NONE


def clean_entries(fit: Fit, source: Source, kept: Kept) -> CleanEntries:
    """A function that gives any block of the restored tensor.

    Parameters
    ----------
    fit : Fit
    source : Source
        The data. Into their dtype numbers are rounded and clipped.
    kept : Kept

    Examples
    --------
    >>> import ringlet
    >>> from ringlet.sources import as_source
    >>> x = np.full((6, 5, 4), 7, np.uint8)
    >>> x[1, 2, 3] = 200
    >>> clean_entries(ringlet.decompose(x, rank=1), as_source(x), Kept.TRUSTED)((1, 2))
    array([7, 7, 7, 7], dtype=uint8)
    """
    if kept is Kept.TRUSTED:
        return fit.unlabelled.restored
    if kept is Kept.KNOWN and fit.missing_share == 0:
        warn("trust_known=True leaves all data as they are: none are missing; give mask= or missing=", DataWarning)
    return ring_entries(fit.ring, source, keep_known=kept is Kept.KNOWN)


def ring_entries(ring: TensorRing, source: Source, *, keep_known: bool) -> CleanEntries:
    """A function that gives any block of a ring in the dtype of the data; known entries may stay as they are."""
    dtype = source.dtype
    if not keep_known:
        return lambda index: as_dtype(ring[index], dtype)

    def filled(index: Any) -> NDArray[Any]:
        block: Any = plain_index(index, ring.ndim)  # slices only: files are written in parts
        values, observed = source.read(block)
        return values if observed is None else np.where(observed, values, as_dtype(ring[block], dtype))

    return filled


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
