"""One pass over all entries before a fit: check them, and find their range and slices without data."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError
from ringlet.sources.base import Source, aligned_blocks, slabs
from ringlet.sources.device_arrays import DeviceSource

__all__ = ["Survey", "look_over", "survey"]

Spread: TypeAlias = Callable[[Callable[[Source, Any, Any], Any], Any, Iterable[Any]], Iterable[Any]]

_BLOCKS_A_SHARE = 16  # of a distributed survey


@dataclass(frozen=True, eq=False)
class Survey:
    """Range and counts of all entries of a source, or of some blocks.

    Attributes
    ----------
    minimum, maximum : float
        Of the observed entries; infinity and minus infinity if there are none.
    counts : list of int arrays
        For every mode, how many entries of each slice are observed.
    """

    minimum: float
    maximum: float
    counts: list[NDArray[np.int64]]

    @cached_property
    def observed(self) -> int:
        """Number of observed entries."""
        return int(self.counts[0].sum())

    @cached_property
    def shares(self) -> tuple[NDArray[np.float64], ...]:
        """For every mode, the observed part of each slice; of slices without data, that of all entries."""
        entries = prod(map(len, self.counts))
        return tuple(np.where(counts > 0, counts, counts.mean()) / (entries // len(counts)) for counts in self.counts)

    @cached_property
    def empty(self) -> tuple[tuple[int, ...], ...]:
        """For every mode, the indices of slices without any observed entry."""
        return tuple(tuple(int(i) for i in np.flatnonzero(counts == 0)) for counts in self.counts)


def survey(source: Source, spread: Spread | None = None, block_entries: int | None = None) -> Survey:
    """Survey a source like `look_over`, and raise an error for data without any observed entry."""
    found = look_over(source, spread, block_entries)
    if not found.observed:
        raise ArgumentError("no entry of the data is observed: everything is NaN or masked (mask: True = observed)")
    return found


def look_over(source: Source, spread: Spread | None = None, block_entries: int | None = None) -> Survey:
    """Read a source once, a block at a time; raise an error for infinite entries.

    Parameters
    ----------
    source : Source
    spread : callable, optional
        Maps a function over lists of blocks, e.g. on a cluster.
    block_entries : int, optional
        Read about this number of entries at a time.
    """
    shape = source.shape
    blocks = slabs(shape, block_entries) if source.chunks is None else aligned_blocks(source.chunks, block_entries)
    shares = [blocks[start : start + _BLOCKS_A_SHARE] for start in range(0, len(blocks), _BLOCKS_A_SHARE)]
    if spread is not None and len(shares) > 1:
        looks = list(spread(_look, None, shares))
    else:
        looks = [_look(source, None, blocks)]
    counts = [np.sum(of_a_mode, axis=0) for of_a_mode in zip(*(look.counts for look in looks), strict=True)]
    return Survey(min(look.minimum for look in looks), max(look.maximum for look in looks), counts)


def _look(source: Source, _shared: None, blocks: Sequence[tuple[slice, ...]]) -> Survey:
    shape = source.shape
    counts = [np.zeros(length, np.int64) for length in shape]
    minimum, maximum = np.inf, -np.inf
    summary = source.summary if isinstance(source, DeviceSource) else partial(_summary, source)
    for block in blocks:
        low, high, found = summary(block)
        if not found[0].any():
            continue
        if not (np.isfinite(low) and np.isfinite(high)):
            values, observed = source.read(block)
            infinite = np.isinf(values) if observed is None else np.isinf(values) & observed
            first = np.argwhere(infinite)[0] + [chosen.start for chosen in block]
            raise ArgumentError(
                f"data is infinite at index {tuple(int(i) for i in first)}; "
                "mark such entries as missing (NaN, or False in the mask)"
            )
        for mode, chosen in enumerate(block):
            counts[mode][chosen] += found[mode]
        minimum, maximum = min(minimum, low), max(maximum, high)
    return Survey(minimum, maximum, counts)


def _summary(source: Source, block: tuple[slice, ...]) -> tuple[float, float, list[NDArray[np.int64]]]:
    """Least and largest observed entry of a block, and the observed entries of every slice of every mode."""
    values, observed = source.read(block)
    modes = range(values.ndim)
    if observed is None:
        counts = [np.full(length, values.size // length) for length in values.shape]
        return float(values.min()), float(values.max()), counts
    counts = [np.count_nonzero(observed, axis=tuple(other for other in modes if other != mode)) for mode in modes]
    kept = values[observed]
    return (float(kept.min()), float(kept.max()), counts) if kept.size else (np.inf, -np.inf, counts)
