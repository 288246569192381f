"""One look at all entries before a fit: are they usable, and which slices hold nothing at all."""

from dataclasses import dataclass

import numpy as np

from ringlet.errors import ArgumentError
from ringlet.sources.base import Source, aligned_blocks, slabs

__all__ = ["Survey", "survey"]


@dataclass(frozen=True)
class Survey:
    """What one pass over a source found.

    Attributes
    ----------
    observed : int
        Number of observed entries.
    minimum, maximum : float
        Of the observed entries.
    empty : tuple of int arrays
        For every mode, the indices of slices without any observed entry.
    """

    observed: int
    minimum: float
    maximum: float
    empty: tuple[tuple[int, ...], ...]


def survey(source: Source) -> Survey:
    """Read a source once, a block at a time; refuse data without observed entries or with infinite ones."""
    shape = source.shape
    seen = [np.zeros(length, dtype=bool) for length in shape]
    observed_count, minimum, maximum = 0, np.inf, -np.inf
    for block in slabs(shape) if source.chunks is None else aligned_blocks(source.chunks):
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
    if not observed_count:
        raise ArgumentError("no entry of the data is observed: everything is NaN or masked (mask: True = observed)")
    empty = tuple(tuple(int(i) for i in np.flatnonzero(~flags)) for flags in seen)
    return Survey(observed_count, minimum, maximum, empty)
