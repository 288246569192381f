"""Rows of a subchain drawn by their exact leverage scores, one mode after the other, without the subchain.

The leverage score of row s of S_k is ``s^T Phi s`` with ``Phi = (S_k^T S_k)^+``, which the cores give. Modes that are
not drawn yet are summed over by transfer matrices, modes that are drawn keep their slice: so every index comes from its
distribution given those before it (Malik 2022, with the exact Gram matrix in place of a sketch).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.arrays import Array64, Mapper
from ringlet.ring.chain import Core
from ringlet.ring.transfer import chain_product

__all__ = ["PIECE_ENTRIES", "draw_leverage_rows"]

PIECE_ENTRIES = 1 << 20  # of the products that are scored at once
_ADDED = 1e-13  # to the diagonal of a quadratic form, relative to its trace


def draw_leverage_rows(
    cores: Sequence[Core], mode: int, gram: Array64, samples: int, rng: np.random.Generator, mapper: Mapper = map
) -> tuple[tuple[NDArray[np.intp], ...], Array64]:
    """Draw rows of the subchain without core `mode`, with replacement, by leverage scores.

    Parameters
    ----------
    cores : sequence of arrays
        The cores of a ring.
    mode : int
    gram : array, shape (r_k r_{k+1}, r_k r_{k+1})
        ``S_k^T S_k``, as `TensorRing.gram_without` gives it.
    samples : int
    rng : numpy Generator
    mapper : callable
        Used like `map` for independent pieces.

    Returns
    -------
    indices : tuple of arrays of length `samples`, one for every mode but `mode`, in order
    weights : array of length `samples`
        ``1 / (samples * probability)``, the factor that makes sums over the sample unbiased.

    Examples
    --------
    >>> import numpy as np
    >>> from ringlet.ring import GramChain
    >>> cores = [np.ones((1, 4, 1)), np.arange(3.0).reshape(1, 3, 1)]
    >>> gram = GramChain(cores).without(0).dense()
    >>> (rows,), weights = draw_leverage_rows(cores, 0, gram, 100, np.random.default_rng(0))
    >>> np.unique(rows)  # the scores are 0, 1/5 and 4/5
    array([1, 2])
    """
    order, (a, _, b) = len(cores), cores[mode].shape
    chain = [(mode + step) % order for step in range(1, order)]
    inverse = _pseudo_inverse(gram).reshape(a, b, a, b)  # Phi
    prefixes = np.eye(b)[None]  # distinct products of the slices drawn so far
    member = np.zeros(samples, np.intp)  # and which of them every sample has
    probability = np.ones(samples)
    drawn: dict[int, NDArray[np.intp]] = {}
    for step, other in enumerate(chain):
        core = cores[other].astype(np.float64)
        root = _root(inverse, [cores[later] for later in chain[step + 1 :]])
        drawn[other], conditional = _draw_mode(prefixes, member, core, root, rng.random(samples), mapper)
        probability *= conditional
        pairs, member = np.unique(member * core.shape[1] + drawn[other], return_inverse=True)
        before, chosen = np.divmod(pairs, core.shape[1])
        prefixes = prefixes[before] @ core[:, chosen].transpose(1, 0, 2)
    return tuple(drawn[other] for other in sorted(chain)), 1.0 / (samples * probability)


def _draw_mode(
    prefixes: Array64, member: NDArray[np.intp], core: Array64, root: Array64, uniform: Array64, mapper: Mapper
) -> tuple[NDArray[np.intp], Array64]:
    """One index of a mode for every sample, given its prefix, and the probabilities of these indices."""
    _, length, _ = core.shape
    by_prefix = np.argsort(member, kind="stable")
    step = max(1, PIECE_ENTRIES // (length * len(root)))

    def draw(start: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Array64]:
        inside = np.searchsorted(member[by_prefix], (start, start + step))
        mine = by_prefix[inside[0] : inside[1]]
        scores = _scores(prefixes[start : start + step], core, root)
        cumulated = np.cumsum(scores, axis=1)
        ends = cumulated[:, -1:]
        own = member[mine] - start
        index = np.count_nonzero((cumulated / ends)[own] <= uniform[mine, None], axis=1)
        return mine, index, (scores / ends)[own, index]

    indices, probability = np.empty(len(member), np.intp), np.empty(len(member))
    for mine, index, chance in mapper(draw, range(0, len(prefixes), step)):
        indices[mine], probability[mine] = index, chance
    return indices, probability


def _scores(prefixes: Array64, core: Array64, root: Array64) -> Array64:
    """``|| Y^T vec(P Z(i)) ||^2`` for all prefixes P and slices i: leverage summed over the remaining modes."""
    count, b, r = prefixes.shape
    _, length, c = core.shape
    products = (prefixes.reshape(count * b, r) @ core.reshape(r, length * c)).reshape(count, b, length, c)
    spread = products.transpose(0, 2, 1, 3).reshape(count * length, b * c) @ root
    return np.asarray(np.einsum("ij,ij->i", spread, spread).reshape(count, length))


def _root(inverse: Array64, later: Sequence[Core]) -> Array64:
    """Y with ``Y Y^T[(b,c),(b',c')] = sum Phi[(a,b),(a',b')] C[(c,c'),(a,a')]``, C the transfer of the later modes.

    A small ridge on the diagonal ensures that Y exists; rows are drawn with the resulting probabilities.
    """
    a, b = inverse.shape[:2]
    if later:
        c = later[0].shape[0]
        transfer = chain_product(later, later).reshape(c, c, a, a)
        quadratic = np.tensordot(inverse, transfer, axes=((0, 2), (2, 3)))  # b, b', c, c'
    else:
        c = a
        quadratic = inverse.transpose(1, 3, 0, 2)
    matrix = quadratic.transpose(0, 2, 1, 3).reshape(b * c, b * c)
    added = _ADDED * float(matrix.trace()) * np.eye(b * c)
    return np.asarray(np.linalg.cholesky(matrix + added))


def _pseudo_inverse(gram: Array64) -> Array64:
    values, vectors = np.linalg.eigh(gram)
    kept = values > len(values) * np.finfo(np.float64).eps * values[-1]  # the rest are rounding errors
    return np.asarray((vectors[:, kept] / values[kept]) @ vectors[:, kept].T)
