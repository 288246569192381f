"""What a tensor ring rank is: the forms a caller may write it in, and how large each bond can usefully be."""

from collections.abc import Iterable, Sequence
from math import prod
from operator import index

import numpy as np

from ringlet.errors import ArgumentError, ArgumentTypeError

__all__ = ["bond_limits", "normalise_rank", "parameters", "unknowns_per_entry"]

_LARGEST_BOND = (1 << 31) - 1


def normalise_rank(rank: int | Sequence[int], order: int) -> tuple[int, ...]:
    """Bring a tensor ring rank into its one form: one bond per mode, ``rank[k]`` the bond before mode k.

    Parameters
    ----------
    rank : int or sequence of int
        One int for all bonds, one per mode, or the closed form: ``order + 1`` entries, the last as the first.
    order : int
        Number of modes of the tensor.

    Returns
    -------
    tuple of int, length `order`

    Raises
    ------
    ArgumentTypeError
        An entry is not an integer (bool does not count as one).
    ArgumentError
        An entry is below 1, or the length fits neither form.

    Examples
    --------
    >>> normalise_rank(4, 3)
    (4, 4, 4)
    >>> normalise_rank((20, 20, 3, 20), 3)
    (20, 20, 3)
    """
    if isinstance(rank, (str, bytes)):
        raise ArgumentTypeError(f"rank={rank!r} is text; give an int or one int per mode, e.g. {_example(order)}")
    one = not isinstance(rank, Iterable) or getattr(rank, "ndim", None) == 0
    bonds = (_bond(rank),) * order if one else tuple(map(_bond, rank))  # type: ignore[arg-type]
    if len(bonds) == order + 1:
        if bonds[0] != bonds[-1]:
            raise ArgumentError(
                f"rank={bonds} has {order + 1} entries for {order} modes, so the last must repeat the first "
                f"(the ring closes), but {bonds[-1]} != {bonds[0]}; "
                f"give one bond per mode, e.g. {_example(order)}"
            )
        bonds = bonds[:-1]
    if len(bonds) != order:
        raise ArgumentError(
            f"rank has {len(bonds)} entries but the tensor has {order} modes; "
            f"give one bond per mode, e.g. {_example(order)}"
        )
    return bonds


def bond_limits(shape: Sequence[int], rank: Sequence[int]) -> tuple[int, ...]:
    """Largest useful rank of each bond: what its two neighbouring cores can carry.

    A bond of rank r joins core k-1, which has only ``rank[k-1] * I_{k-1}`` rows, to core k, which has only
    ``I_k * rank[k+1]`` columns. A larger r adds parameters but no tensors.

    Parameters
    ----------
    shape : sequence of int
        Sizes of the modes.
    rank : sequence of int
        One bond per mode, as `normalise_rank` gives it.

    Returns
    -------
    tuple of int
        At most `rank`, entry by entry.

    Examples
    --------
    >>> bond_limits((1356, 2040, 3), (20, 20, 3))
    (9, 20, 3)
    """
    order = len(shape)
    limits = list(rank)
    settled = False
    while not settled:  # a smaller bond may lower its neighbours
        before = list(limits)
        for k in range(order):
            from_left = limits[k - 1] * shape[k - 1]
            from_right = shape[k] * limits[(k + 1) % order]
            limits[k] = min(limits[k], from_left, from_right)
        settled = limits == before
    return tuple(limits)


def _bond(entry: object) -> int:
    if isinstance(entry, (bool, np.bool_)):
        raise ArgumentTypeError(f"rank entries must be integers, not {entry!r}")
    try:
        bond = index(entry)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentTypeError(f"rank entries must be integers, not {entry!r}") from None
    if bond < 1:
        raise ArgumentError(f"rank entries must be at least 1, not {bond}")
    if bond > _LARGEST_BOND:
        raise ArgumentError(f"rank entries must be at most {_LARGEST_BOND}; no array has more")
    return bond


def _example(order: int) -> str:
    bonds = (20, 20, 3) if order == 3 else (20,) * order
    return f"rank={bonds}"


def parameters(shape: Sequence[int], rank: Sequence[int]) -> int:
    """Numbers in the cores of a ring.

    Examples
    --------
    >>> parameters((10, 20), (2, 3))
    180
    """
    return sum([rank[mode] * length * rank[(mode + 1) % len(shape)] for mode, length in enumerate(shape)])


def unknowns_per_entry(shape: Sequence[int], rank: Sequence[int]) -> float:
    """Unknowns of a slice over entries of a slice, of the core for which that is largest.

    Examples
    --------
    >>> unknowns_per_entry((10, 20, 5), (2, 2, 2))
    0.08
    """
    limits = bond_limits(shape, rank)
    return max(
        [limits[mode] * limits[(mode + 1) % len(shape)] * length / prod(shape) for mode, length in enumerate(shape)]
    )
