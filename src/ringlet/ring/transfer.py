"""Products of transfer matrices along open chains and around rings. Pure maths, always in float64."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from ringlet.ring.arrays import Array64
from ringlet.ring.chain import Core
from ringlet.ring.gram import transfer_matrix

__all__ = ["chain_product", "loop_cost", "loop_trace"]

_SLAB_ENTRIES = 1 << 17  # entries of two cores at once: they stay in the cache
_BATCH_ENTRIES = 1 << 21  # entries of partial products, or of a block of a transfer matrix, at once: 16 MiB


def chain_product(cores: Sequence[Core], others: Sequence[Core]) -> Array64:
    """Product of the mixed transfer matrices along two open chains over the same modes.

    Parameters
    ----------
    cores : sequence of arrays
        Core j has shape ``(r_j, I_j, r_{j+1})``.
    others : sequence of arrays
        Core j has shape ``(s_j, I_j, s_{j+1})``.

    Returns
    -------
    array of float64, shape ``(r_first * s_first, r_last * s_last)``

    Examples
    --------
    >>> import numpy as np
    >>> chain = [np.ones((1, 4, 2)), np.ones((2, 5, 1))]
    >>> chain_product(chain, chain)
    array([[80.]])
    """
    bonds = [core.shape[0] * other.shape[0] for core, other in zip(cores, others, strict=True)]
    bonds.append(cores[-1].shape[2] * others[-1].shape[2])
    narrowest = int(np.argmin(bonds))  # from there both ways, so that partial products have fewest rows
    ahead = list(zip(cores[narrowest:], others[narrowest:], strict=True))
    behind = [
        (core.swapaxes(0, 2), other.swapaxes(0, 2))
        for core, other in zip(cores[:narrowest][::-1], others[:narrowest][::-1], strict=True)
    ]
    if not behind:
        return _fold(ahead)
    if not ahead:
        return _fold(behind).T
    return _fold(behind).T @ _fold(ahead)


def loop_trace(cores: Sequence[Core], others: Sequence[Core]) -> float:
    """Trace of the product of the mixed transfer matrices around two rings of the same shape.

    The rings are opened at their narrowest bond, and the pairs of its indices pass through the cores in batches:
    memory grows with the square of the widest bond, never with its fourth power.

    Parameters
    ----------
    cores : sequence of arrays
        The cores of a ring.
    others : sequence of arrays
        The cores of another ring of the same shape.

    Examples
    --------
    >>> import numpy as np
    >>> ring = [np.ones((1, 4, 2)), np.ones((2, 5, 1))]
    >>> loop_trace(ring, ring)
    80.0
    """
    if len(cores) == 1:
        left, right = (np.trace(core, axis1=0, axis2=2, dtype=np.float64) for core in (cores[0], others[0]))
        return float(left @ right)
    bonds = [core.shape[0] * other.shape[0] for core, other in zip(cores, others, strict=True)]
    k = int(np.argmin(bonds))
    first, *middle, last = zip([*cores[k:], *cores[:k]], [*others[k:], *others[:k]], strict=True)
    rows, rows2 = first[0].shape[0], first[1].shape[0]
    batch = _rows_at_once(max(bonds))
    step, step2 = max(1, batch // rows2), min(rows2, batch)
    total = 0.0
    for start, start2 in product(range(0, rows, step), range(0, rows2, step2)):
        own, own2 = slice(start, start + step), slice(start2, start2 + step2)
        products = transfer_matrix(first[0][own], first[1][own2])
        for core, other in middle:
            products = _pass_pair(products, core, other)
        closing = transfer_matrix(last[0][:, :, own], last[1][:, :, own2])
        total += float(np.sum(products * closing.T))
    return total


def loop_cost(cores: Sequence[Core]) -> tuple[int, int]:
    """Operations and bytes that `loop_trace` of a ring with itself takes, about.

    Examples
    --------
    >>> import numpy as np
    >>> loop_cost([np.ones((1, 4, 2)), np.ones((2, 5, 1))])
    (72, 96)
    """
    ranks = [core.shape[0] for core in cores]
    rows, k = min(ranks) ** 2, int(np.argmin(ranks))
    at_once = min(rows, _rows_at_once(max(ranks) ** 2))
    operations = 0
    for position, core in enumerate([*cores[k:], *cores[:k]]):
        a, slices, b = core.shape
        if position in (0, len(cores) - 1):
            operations += 2 * a * a * b * b * slices
        else:
            formed = a * a * b * b * (slices * -(-rows // at_once) + rows)
            operations += 2 * min(formed, a * b * (a + b) * slices * rows)
    return operations, 3 * 8 * at_once * max(ranks) ** 2


def _rows_at_once(entries: int) -> int:
    """How many partial products of this number of entries pass through the cores together."""
    return max(1, _BATCH_ENTRIES // entries)


def _fold(pairs: Sequence[tuple[Core, Core]]) -> Array64:
    """Mixed transfer matrices multiplied from left to right, each formed or not, whichever is cheaper."""
    products = transfer_matrix(*pairs[0])
    for core, other in pairs[1:]:
        products = _pass_pair(products, core, other)
    return products


def _pass_pair(products: Array64, core: Core, other: Core) -> Array64:
    """Multiply rows by a mixed transfer matrix, formed a block of columns at a time, or not at all."""
    rows = len(products)
    (a, slices, b), (a2, _, b2) = core.shape, other.shape
    formed_cost = a * a2 * b * b2 * (slices + rows)
    unformed_cost = a2 * b * (a + b2) * slices * rows
    step = _BATCH_ENTRIES // (a * a2 * b2)
    if step == 0 or unformed_cost < formed_cost:
        matrices = products.reshape(rows, a, a2)
        return np.stack([_mixed_sandwich(matrix, core, other).ravel() for matrix in matrices])
    passed = np.empty((rows, b * b2))
    for start in range(0, b, step):
        block = transfer_matrix(core[:, :, start : start + step], other)
        np.matmul(products, block, out=passed[:, start * b2 : start * b2 + block.shape[1]])
    return passed


def _mixed_sandwich(product: Array64, core: Core, other: Core) -> Array64:
    """``sum_i Z(i)^T product Z'(i)`` for the slices of two cores."""
    (a, slices, b), (a2, _, b2) = core.shape, other.shape
    out = np.zeros((b, b2))
    step = max(1, _SLAB_ENTRIES // (max(a, a2) * max(b, b2)))
    for start in range(0, slices, step):
        left = np.ascontiguousarray(core[:, start : start + step, :], dtype=np.float64)
        right = np.ascontiguousarray(other[:, start : start + step, :], dtype=np.float64)
        middle = product.T @ left.reshape(a, -1)
        out += middle.reshape(-1, b).T @ right.reshape(-1, b2)
    return out
