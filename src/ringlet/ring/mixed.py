"""Inner products between the subchains of two rings. Pure maths, always in float64."""

from collections.abc import Sequence

import numpy as np

from ringlet.ring.arrays import Array64
from ringlet.ring.chain import Core
from ringlet.ring.gram import KroneckerSum
from ringlet.ring.transfer import chain_product

__all__ = ["mixed_gram"]


def mixed_gram(cores: Sequence[Core], others: Sequence[Core], k: int) -> KroneckerSum:
    """``S_k^T S'_k`` of the subchains of two rings without core k, as a sum of Kronecker products.

    Parameters
    ----------
    cores, others : sequences of arrays
        The cores of two rings of the same shape and rank; core k is not used.
    k : int

    Returns
    -------
    KroneckerSum
        Rows ``(a, b)`` of the first ring, columns of the other. It is symmetric only if the rings agree.

    Examples
    --------
    >>> import numpy as np
    >>> ones = [np.ones((1, 4, 2)), np.ones((2, 5, 1))]
    >>> twos = [np.ones((1, 4, 2)), 2 * np.ones((2, 5, 1))]
    >>> mixed_gram(ones, twos, 0).dense()
    array([[10., 10.],
           [10., 10.]])
    """
    order = len(cores)
    origin = min(range(order), key=lambda mode: cores[mode].shape[0] * others[mode].shape[0])
    position = (k - origin) % order
    before = [(origin + step) % order for step in range(position)]
    after = [(k + step) % order for step in range(1, order - position)]
    rows = cores[origin].shape[0], others[origin].shape[0]
    prefix = _product(cores, others, before, rows)
    suffix = _product(cores, others, after, rows).T
    (a, _, b), (a2, _, b2) = cores[k].shape, others[k].shape
    return KroneckerSum(prefix.reshape(-1, a, a2), np.ascontiguousarray(suffix).reshape(-1, b, b2))


def _product(cores: Sequence[Core], others: Sequence[Core], modes: Sequence[int], bond: tuple[int, int]) -> Array64:
    """Product of the mixed transfer matrices of these modes; without any, the identity of the bond."""
    if not modes:
        return np.eye(bond[0] * bond[1])
    return chain_product([cores[mode] for mode in modes], [others[mode] for mode in modes])
