"""A single bond of a ring: its Gram matrix, and its two sides."""

from collections.abc import Sequence

import numpy as np

from ringlet.ring.arrays import Array64
from ringlet.ring.chain import Core
from ringlet.ring.gram import sandwiches
from ringlet.ring.transfer import chain_product

__all__ = ["bond_gram", "canonical_bond", "environment", "even_bonds", "regroup", "whitening"]

_NEGLIGIBLE = 1e-8  # singular values below this part of the largest are rounding noise of Gram matrices


def even_bonds(cores: Sequence[Core]) -> list[Core]:
    """Cores of the same tensor, every bond index as large in the core before it as in the core after it.

    Numbers are scaled by powers of two, which is exact.

    Examples
    --------
    >>> import numpy as np
    >>> [core.max() for core in even_bonds([np.full((1, 4, 1), 16.0), np.full((1, 4, 1), 1.0)])]
    [np.float64(4.0), np.float64(4.0)]
    """
    changed: list[Core] = [core.astype(np.float64) for core in cores]
    for k in range(len(cores)):
        before = np.frexp(np.abs(changed[k - 1]).max(axis=(0, 1)))
        after = np.frexp(np.abs(changed[k]).max(axis=(1, 2)))
        both = (before[0] > 0) & (after[0] > 0)
        shift = np.where(both, (after[1] - before[1]) // 2, 0)
        changed[k - 1] = np.ldexp(changed[k - 1], shift)
        changed[k] = np.ldexp(changed[k], -shift[:, None, None])
    return changed


def bond_gram(loop: Sequence[Core]) -> Array64:
    """Gram matrix of the bond at which a ring was opened.

    Parameters
    ----------
    loop : sequence of arrays
        The cores of a ring, from the one after the bond to the one before it.

    Returns
    -------
    array of shape (r, r, r, r)
        With a matrix M in the bond, the squared norm of the tensor is ``sum B[a,b,a',b'] M[a,b] M[a',b']``.

    Examples
    --------
    >>> import numpy as np
    >>> bond_gram([np.ones((1, 4, 2)), np.ones((2, 5, 1))]).item()
    80.0
    """
    return regroup(chain_product(loop, loop), loop, loop)


def regroup(product: Array64, cores: Sequence[Core], others: Sequence[Core]) -> Array64:
    """Order the axes ``[(b, b'), (a, a')]`` of a product of transfer matrices as in a Gram matrix.

    Returns
    -------
    array with axes ``[a, b, a', b']``

    Examples
    --------
    >>> import numpy as np
    >>> chain = [np.ones((2, 4, 3))]
    >>> regroup(chain_product(chain, chain), chain, chain).shape
    (3, 2, 3, 2)
    """
    b, b2, a, a2 = cores[0].shape[0], others[0].shape[0], cores[-1].shape[2], others[-1].shape[2]
    return product.reshape(b, b2, a, a2).transpose(2, 0, 3, 1)


def environment(cores: Sequence[Core]) -> Array64:
    """Gram matrix of the last bond of an open chain, its first bond and all modes summed over.

    Parameters
    ----------
    cores : sequence of arrays
        Core j has shape ``(r_j, I_j, r_{j+1})``.

    Returns
    -------
    array of float64, shape ``(r_last, r_last)``

    Examples
    --------
    >>> import numpy as np
    >>> environment([np.ones((1, 4, 2)), np.ones((2, 5, 1))])
    array([[80.]])
    """
    gram = np.eye(cores[0].shape[0])
    for core in cores:
        (gram,) = sandwiches(gram[np.newaxis], core)
    return gram


def whitening(gram: Array64, weakest: float = 0.0) -> tuple[Array64, Array64]:
    """Columns W that whiten a Gram matrix, and V with ``gram = V V^T``; zero directions are left out.

    Directions weaker than the part `weakest` of the strongest are scaled as if they were as strong as that.
    ``W V^T`` is the projector on the directions that are kept in any case.

    Examples
    --------
    >>> import numpy as np
    >>> whiten, root = whitening(np.diag([4.0, 0.0]))
    >>> abs(whiten.ravel()), abs(root.ravel())
    (array([0.5, 0. ]), array([2., 0.]))
    """
    values, vectors = np.linalg.eigh(gram)
    kept = values > len(values) * np.finfo(float).eps * values[-1]
    roots = np.sqrt(np.maximum(values[kept], weakest * values[-1]))
    return vectors[:, kept] / roots, vectors[:, kept] * roots


def canonical_bond(cores: Sequence[Core], k: int) -> list[Core]:
    """Cores of the same tensor whose bond k has equal diagonal Gram matrices on both sides, without zero directions.

    Examples
    --------
    >>> import numpy as np
    >>> core = np.zeros((2, 4, 2))
    >>> core[0, :, 0] = 1.0
    >>> canonical_bond([core], 0)[0].shape
    (1, 4, 1)
    """
    loop = [*cores[k:], *cores[:k]]
    left, left_root = whitening(environment(loop))
    right, right_root = whitening(environment([core.swapaxes(0, 2) for core in reversed(loop)]))
    u, s, vt = np.linalg.svd(left_root.T @ right_root, full_matrices=False)
    if not s.size:  # the tensor is zero: one direction is left, of zeros
        return _with_bond(cores, k, np.zeros((left.shape[0], 1)), np.zeros((right.shape[0], 1)))
    kept = s > _NEGLIGIBLE * s[0]
    roots = np.sqrt(s[kept])
    return _with_bond(cores, k, left @ u[:, kept] * roots, right @ vt[kept].T * roots)


def _with_bond(cores: Sequence[Core], k: int, before: Array64, after: Array64) -> list[Core]:
    """The cores with ``before @ after^T`` in the bond k."""
    changed = list(cores)
    changed[k - 1] = changed[k - 1] @ before
    changed[k] = np.tensordot(after.T, changed[k], axes=1)
    return changed
