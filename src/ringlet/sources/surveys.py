"""One look at all entries before a fit: are they usable, and which slices hold nothing at all."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError
from ringlet.sources.base import Source, aligned_blocks, slabs

__all__ = ["Survey", "look_over", "survey"]

Spread: TypeAlias = Callable[[Callable[[Source, Any, Any], Any], Any, Iterable[Any]], Iterable[Any]]

_BLOCKS_A_SHARE = 16  # of a survey that is spread


@dataclass(frozen=True)
class Survey:
    """What one pass over a source found.

    Attributes
    ----------
    observed : int
        Number of observed entries.
    minimum, maximum : float
        Of the observed entries; infinity and minus infinity if there are none.
    empty : tuple of int arrays
        For every mode, the indices of slices without any observed entry.
    """

    observed: int
    minimum: float
    maximum: float
    empty: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class _Look:
    """What a look at some blocks found; `seen` tells for every mode which slices hold an observed entry."""

    observed: int
    minimum: float
    maximum: float
    seen: list[NDArray[np.bool_]]


def survey(source: Source, spread: Spread | None = None) -> Survey:
    """Look over a source like `look_over`, and refuse data without any observed entry."""
    found = look_over(source, spread)
    if not found.observed:
        raise ArgumentError("no entry of the data is observed: everything is NaN or masked (mask: True = observed)")
    return found


def look_over(source: Source, spread: Spread | None = None) -> Survey:
    """Read a source once, a block at a time; refuse data with infinite entries.

    Parameters
    ----------
    source : Source
    spread : callable, optional
        Maps a function over lists of blocks elsewhere, e.g. on a cluster.
    """
    shape = source.shape
    blocks = slabs(shape) if source.chunks is None else aligned_blocks(source.chunks)
    shares = [blocks[start : start + _BLOCKS_A_SHARE] for start in range(0, len(blocks), _BLOCKS_A_SHARE)]
    if spread is not None and len(shares) > 1:
        looks = list(spread(_look, None, shares))
    else:
        looks = [_look(source, None, blocks)]
    observed = sum(look.observed for look in looks)
    seen = (np.logical_or.reduce(flags) for flags in zip(*(look.seen for look in looks), strict=True))
    empty = tuple(tuple(int(i) for i in np.flatnonzero(~flags)) for flags in seen)
    return Survey(observed, min(look.minimum for look in looks), max(look.maximum for look in looks), empty)


def _look(source: Source, _shared: None, blocks: Sequence[tuple[slice, ...]]) -> _Look:
    shape = source.shape
    seen = [np.zeros(length, dtype=bool) for length in shape]
    observed_count, minimum, maximum = 0, np.inf, -np.inf
    for block in blocks:
        values, observed = source.read(block)
        if observed is None:
            low, high, count = values.min(), values.max(), values.size
            for flags, chosen in zip(seen, block, strict=True):
                flags[chosen] = True
        else:
            count = int(np.count_nonzero(observed))
            if not count:
                continue
            kept = values[observed]
            low, high = kept.min(), kept.max()
            for mode, chosen in enumerate(block):
                others = tuple(other for other in range(len(shape)) if other != mode)
                seen[mode][chosen] |= np.asarray(observed.any(axis=others))
        if not (np.isfinite(low) and np.isfinite(high)):
            infinite = np.isinf(values) if observed is None else np.isinf(values) & observed
            first = np.argwhere(infinite)[0] + [chosen.start for chosen in block]
            raise ArgumentError(
                f"data is infinite at index {tuple(int(i) for i in first)}; "
                "mark such entries as missing (NaN, or False in the mask)"
            )
        observed_count += count
        minimum, maximum = min(minimum, float(low)), max(maximum, float(high))
    return _Look(observed_count, minimum, maximum, seen)
