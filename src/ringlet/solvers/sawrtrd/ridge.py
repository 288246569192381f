"""A penalty on the cores from how well the data determine them."""

from collections.abc import Sequence
from math import prod

from ringlet.ring.ranks import bond_limits

__all__ = ["automatic_ridge", "unknowns_per_entry"]

# Measured, see docs/decisions.md.
_RIDGE, _RIDGE_LEAST, _RIDGE_MOST, _RIDGE_ONSET, _RIDGE_LEAST_TRUST = 2.0, 0.02, 0.3, 4.0, 1e-3


def automatic_ridge(unknowns: float, trusted: float) -> float:
    """A penalty on the cores, in the units of `Penalties`, from how well the data determine them.

    The more unknowns a slice has for each entry that speaks for it, the larger the penalty; where all entries are
    observed and trusted it is zero. The worst determined core counts for all: penalties that differ between cores would
    only move weight from one to the other.

    Parameters
    ----------
    unknowns : float
        Of a slice, over its entries.
    trusted : float
        Share of the entries that are observed and trusted.
    """
    trusted = max(trusted, _RIDGE_LEAST_TRUST)
    doubt = min(1.0, _RIDGE_ONSET * (1.0 - trusted))
    return doubt * min(max(_RIDGE * (unknowns / trusted) ** 2, _RIDGE_LEAST), _RIDGE_MOST)


def unknowns_per_entry(shape: Sequence[int], rank: Sequence[int]) -> float:
    """Unknowns of a slice over entries of a slice, of the core for which that is largest."""
    limits = bond_limits(shape, rank)
    return max(
        limits[mode] * limits[(mode + 1) % len(shape)] * length / prod(shape) for mode, length in enumerate(shape)
    )
