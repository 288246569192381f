"""A wider bond that is useful from the start: new features of the two cores beside it, found from the residual."""

from collections.abc import Sequence

import numpy as np

from ringlet.ring.chain import Core

__all__ = ["evened", "sides", "widen", "with_features"]


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


def evened(cores: Sequence[Core], bond: int, start: int) -> list[Core]:
    """Cores of the same tensor: from index `start` of the bond on, both sides are of the same size.

    Penalties hold back what is small in the other core: without this, new features stay so for many sweeps.

    Examples
    --------
    >>> [float(core.max()) for core in evened([np.full((1, 2, 1), 4.0), np.ones((1, 2, 1))], 1, 0)]
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
