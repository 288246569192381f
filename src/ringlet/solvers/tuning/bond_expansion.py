"""Wider bonds: how wide they may be, and new features of the two cores beside one, found from the residual."""

from collections.abc import Sequence
from math import ceil

import numpy as np

from ringlet.ring.chain import Core
from ringlet.ring.ranks import bond_limits, parameters

__all__ = [
    "equalise_bond",
    "largest_rank",
    "sides",
    "start_rank",
    "still_bonds",
    "widen",
    "wider_rank",
    "with_features",
]

_START = 3  # bonds that a fit begins with
_LEAST_STEP = 1.1  # factor: a bond that may grow by less does not grow, for a trial would cost much and gain little


def still_bonds(mode: int, modes: int) -> tuple[int, int]:
    """The two bonds of a mode along which nothing changes.

    Examples
    --------
    >>> still_bonds(-1, 4)
    (3, 0)
    """
    return mode % modes, (mode + 1) % modes


def start_rank(shape: Sequence[int], most: int, still: int | None = None) -> tuple[int, ...]:
    """Small bonds to begin with; those of a `still` mode are 1.

    Examples
    --------
    >>> start_rank((512, 512, 3), 10**6)
    (3, 3, 3)
    """
    narrow = () if still is None else still_bonds(still, len(shape))
    for bond in range(_START, 1, -1):
        rank = bond_limits(shape, [1 if k in narrow else bond for k in range(len(shape))])
        if parameters(shape, rank) <= most:
            return rank
    return (1,) * len(shape)


def largest_rank(shape: Sequence[int], most: int, still: int | None = None) -> tuple[int, ...]:
    """The rank of about equal bonds, as far as their neighbours carry them, of a ring of at most `most` numbers.

    Those of a `still` mode are 1.

    Examples
    --------
    >>> largest_rank((100, 100, 3), 6000), largest_rank((960, 12), 2304)
    ((6, 5, 5), (2, 1))
    """
    bond, rank = 1, (1,) * len(shape)
    narrow = () if still is None else still_bonds(still, len(shape))
    while True:
        wider = bond_limits(shape, [1 if k in narrow else bond + 1 for k in range(len(shape))])
        if wider == rank or parameters(shape, wider) > most:
            break
        bond, rank = bond + 1, wider
    for k in (k for k in range(len(shape)) if k not in narrow):  # what is left is enough for single bonds
        one = (*rank[:k], rank[k] + 1, *rank[k + 1 :])
        if parameters(shape, one) <= most:
            rank = bond_limits(shape, one)
    return rank


def wider_rank(
    shape: Sequence[int], rank: Sequence[int], bond: int, factor: float, most: int
) -> tuple[int, ...] | None:
    """The rank with one bond wider, as far as its neighbours and the allowed size carry it; None if hardly at all.

    Examples
    --------
    >>> wider_rank((512, 512, 3), (3, 10, 3), 1, 2.0, 10**6), wider_rank((512, 512, 3), (9, 10, 3), 0, 2.0, 10**6)
    ((3, 20, 3), None)
    >>> wider_rank((50, 50, 50), (5, 20, 5), 1, 2.0, 12_250), wider_rank((50, 50, 50), (5, 20, 5), 1, 2.0, 12_249)
    ((5, 22, 5), None)
    """
    before, now, after = rank[:bond], rank[bond], rank[bond + 1 :]
    width = bond_limits(shape, (*before, max(now + 1, ceil(factor * now)), *after))[bond]
    while width > now and parameters(shape, (*before, width, *after)) > most:
        width -= 1
    return (*before, width, *after) if width >= _LEAST_STEP * now else None


def sides(bond: int, modes: int) -> tuple[int, int]:
    """The modes beside a bond, in the order in which a sweep updates their cores.

    Examples
    --------
    >>> sides(2, 3), sides(0, 3)
    ((1, 2), (0, 2))
    """
    first, later = sorted(((bond - 1) % modes, bond))
    return first, later


def widen(cores: Sequence[Core], bond: int, width: int, rng: np.random.Generator) -> list[Core]:
    """Cores of the same tensor with a wider bond.

    The first core gets random numbers of its own size, the later one zeros. Updates of the later, the first and again
    the later core then are power iterations that find the strongest directions of the residual across the bond.

    Examples
    --------
    >>> cores = [np.ones((2, 4, 3)), np.ones((3, 5, 2))]
    >>> [core.shape for core in widen(cores, 1, 4, np.random.default_rng(0))]
    [(2, 4, 4), (4, 5, 2)]
    """
    first, later = sides(bond, len(cores))
    wider, more = list(cores), width - cores[bond].shape[0]
    random = rng.standard_normal((more, *_bond_first(cores[first], bond, first).shape[1:]))
    wider[first] = _extended(cores[first], bond, first, random * np.sqrt(np.mean(np.square(cores[first]))))
    wider[later] = _extended(cores[later], bond, later, np.zeros((more, 1, 1)))
    return wider


def equalise_bond(cores: Sequence[Core], bond: int, start: int) -> list[Core]:
    """Cores of the same tensor: from index `start` of the bond on, both sides are of the same size.

    Penalties hold back what is small in the other core: without this, new features stay so for many sweeps.

    Examples
    --------
    >>> [float(core.max()) for core in equalise_bond([np.full((1, 2, 1), 4.0), np.ones((1, 2, 1))], 1, 0)]
    [2.0, 2.0]
    """
    changed = list(cores)
    sizes = {
        mode: np.sqrt(np.mean(np.square(_bond_first(cores[mode], bond, mode)[start:]), axis=(1, 2)))
        for mode in sides(bond, len(cores))
    }
    common = np.sqrt(np.prod(list(sizes.values()), axis=0))
    for mode, size in sizes.items():
        changed[mode] = cores[mode].copy()
        factors = np.divide(common, size, out=np.ones_like(size), where=common > 0)
        _bond_first(changed[mode], bond, mode)[start:] *= factors[:, None, None]
    return changed


def with_features(cores: Sequence[Core], bond: int, found: Sequence[Core]) -> list[Core]:
    """Cores of the same tensor with the bond as wide as in `found`.

    The later core gets the features that it has there, the first one zeros: it is the next to be updated.

    Examples
    --------
    >>> cores, found = [np.ones((2, 4, 3)), np.ones((3, 5, 2))], [np.ones((1, 4, 4)), np.ones((4, 5, 1))]
    >>> [core.shape for core in with_features(cores, 1, found)]
    [(2, 4, 4), (4, 5, 2)]
    """
    first, later = sides(bond, len(cores))
    wider = list(cores)
    features = _bond_first(found[later], bond, later)[cores[bond].shape[0] :]
    wider[first] = _extended(cores[first], bond, first, np.zeros((len(features), 1, 1)))
    wider[later] = _extended(cores[later], bond, later, features)
    return wider


def _extended(core: Core, bond: int, mode: int, features: Core) -> Core:
    """The core with features appended along the bond; where they lack entries these are zero."""
    core = _bond_first(core, bond, mode)
    more = np.zeros((len(features), *core.shape[1:]), core.dtype)
    more[:, :, : features.shape[2]] = features
    return _bond_first(np.concatenate([core, more]), bond, mode)


def _bond_first(core: Core, bond: int, mode: int) -> Core:
    """The core with the axis of the bond in front, or back in its place."""
    return core if mode == bond else core.swapaxes(0, 2)
