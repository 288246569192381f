"""The input of a command: a tensor from a file, which of its entries are known, and what it looks like."""

from dataclasses import dataclass
from functools import cached_property, reduce
from math import inf, isnan, prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.cli.options import DataOptions
from ringlet.ring.ranks import bond_limits
from ringlet.sources.files import Loaded, load, load_mask

__all__ = ["Input", "default_rank", "open_input"]

_SLAB_ENTRIES = 1 << 22
_LARGEST_DEFAULT = 20
_ENTRIES_A_NUMBER = 10  # data that speak for each number of a ring of default rank


@dataclass(frozen=True)
class _Survey:
    """Number of missing entries, and the range of the others (None if there are none)."""

    missing: int
    low: float | None
    high: float | None


@dataclass(frozen=True, eq=False)
class Input:
    """A tensor from a file.

    Attributes
    ----------
    path : Path
    loaded : Loaded
    observed : array of bool, or None
        True = known; None: all but NaN.
    """

    path: Path
    loaded: Loaded
    observed: NDArray[np.bool_] | None

    @property
    def array(self) -> NDArray[Any]:
        """The entries."""
        return self.loaded.array

    @cached_property
    def survey(self) -> _Survey:
        """What one pass over the entries finds, a slab at a time."""
        array = np.atleast_1d(self.array)
        observed = None if self.observed is None else np.atleast_1d(self.observed)
        missing, low, high = 0, inf, -inf
        step = max(1, _SLAB_ENTRIES * len(array) // max(1, array.size))
        for start in range(0, len(array), step):
            known = slab = array[start : start + step]
            if observed is not None:
                known = slab[observed[start : start + step]]
            if known.dtype.kind == "f":
                known = known[~np.isnan(known)]
            missing += slab.size - known.size
            if known.size:
                low, high = min(low, known.min().item()), max(high, known.max().item())
        return _Survey(missing, low, high) if low <= high else _Survey(missing, None, None)

    @property
    def missing_share(self) -> float:
        """Share of the entries that is missing."""
        return self.survey.missing / max(1, self.array.size)

    def describe(self) -> dict[str, Any]:
        """Give what JSON says of it."""
        return {
            "path": str(self.path),
            "shape": list(self.array.shape),
            "dtype": str(self.array.dtype),
            "bytes": self.array.nbytes,
            "missing_share": self.missing_share,
        }


def open_input(path: Path, options: DataOptions) -> Input:
    """Read a tensor and combine all that is said about its missing entries."""
    loaded = load(path, key=options.key)
    masks = [] if loaded.observed is None else [loaded.observed]
    if options.mask is not None:
        masks.append(load_mask(options.mask, loaded.array.shape))
    if options.missing is not None and not isnan(options.missing):
        # A comparison works in small buffers: no copy of the array in another dtype is made.
        masks.append(np.asarray(np.not_equal(loaded.array, options.missing)))
    return Input(path, loaded, np.asarray(reduce(np.logical_and, masks)) if masks else None)


def default_rank(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Choose a rank when none is asked for, by the shape only.

    At most 20; small enough that there are ten entries to each number of the ring; before a short mode, such
    as colour, no more than its length; and no bond is larger than its neighbours can carry.

    Examples
    --------
    >>> default_rank((1356, 2040, 3)), default_rank((300, 451, 3)), default_rank((1080, 1920, 3, 50))
    ((9, 20, 3), (9, 9, 3), (20, 20, 3, 9))
    """
    order = len(shape)
    for bond in range(_LARGEST_DEFAULT, 0, -1):
        rank = bond_limits(shape, [min(bond, length) for length in shape])
        numbers = sum(rank[k] * shape[k] * rank[(k + 1) % order] for k in range(order))
        if numbers * _ENTRIES_A_NUMBER <= prod(shape):
            return rank
    return (1,) * order
