"""Rings that are sums: find the summands and merge those that are copies of each other.

A ring is a sum when some matrices other than multiples of I can slide around it: M with ``X(M N) = X(N M)``
for every N, where X(M) is the tensor with M in a bond. The eigenspaces of such an M split the ring. A ring
plus itself, for example, is split by every matrix that mixes the two copies.
"""

from collections.abc import Sequence

import numpy as np

from ringlet.ring.algebra import add, distance, inner, norm, scale
from ringlet.ring.arrays import Array64
from ringlet.ring.bond import bond_gram, canonical_bond
from ringlet.ring.chain import Core

__all__ = ["merge_copies"]

_WIDEST_BOND = 64  # the search takes rank^6 operations
_SAME = 1e-7  # relative error below which Gram matrices cannot distinguish two tensors
_DRAWS = 16


def merge_copies(cores: Sequence[Core]) -> list[Core] | None:
    """Merge summands of a ring that are multiples of each other.

    Parameters
    ----------
    cores : sequence of arrays
        The cores of a ring, float64.

    Returns
    -------
    list of arrays, or None
        Cores of the same tensor up to rounding; None when nothing could be merged.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> cores = [rng.standard_normal((2, 9, 3)), rng.standard_normal((3, 9, 2))]
    >>> [core.shape for core in merge_copies(add(cores, cores))]
    [(2, 9, 3), (3, 9, 2)]
    """
    lean = _canonical(cores)
    k = min(range(len(lean)), key=lambda k: lean[k].shape[0])
    if not 1 < lean[k].shape[0] <= _WIDEST_BOND:
        return None
    sliding = _sliding_matrices(bond_gram([*lean[k:], *lean[:k]]))
    summands = [_canonical(_insert(lean, k, left, right)) for left, right in _eigenspaces(sliding)]
    distinct: list[list[Core]] = []
    for summand in summands:
        _absorb(distinct, summand)
    if len(distinct) == len(summands):
        return None
    merged = distinct[0]
    for summand in distinct[1:]:
        merged = add(merged, summand)
    return merged if distance(cores, merged) <= _SAME * norm(cores) else None


def _canonical(cores: Sequence[Core]) -> list[Core]:
    changed = list(cores)
    for k in range(len(cores)):
        changed = canonical_bond(changed, k)
    return changed


def _insert(cores: Sequence[Core], k: int, left: Array64, right: Array64) -> list[Core]:
    changed = list(cores)
    changed[k - 1] = changed[k - 1] @ left
    changed[k] = np.tensordot(right.T, changed[k], axes=1)
    return changed


def _sliding_matrices(gram: Array64) -> Array64:
    """Basis of the matrices M with ``X(M N - N M) = 0`` for every N, shape (count, r, r)."""
    rank = len(gram)
    left = np.einsum("abcb->ac", gram)
    right = np.einsum("abad->bd", gram)
    # sum over all N = e_p e_q^T of ||M N - N M||^2, a quadratic form in M
    mixed = gram.transpose(0, 2, 1, 3).reshape(rank**2, rank**2)
    form = np.kron(left, np.eye(rank)) + np.kron(np.eye(rank), right) - mixed - mixed.T
    values, vectors = np.linalg.eigh(form)
    return vectors[:, values < 1e-12 * np.trace(left)].T.reshape(-1, rank, rank)


def _eigenspaces(sliding: Array64) -> list[tuple[Array64, Array64]]:
    """Finest split of the bond into real eigenspaces of a sliding matrix: bases and dual bases."""
    finest: list[tuple[Array64, Array64]] = []
    rng = np.random.default_rng(0)
    for _ in range(_DRAWS if len(sliding) > 1 else 0):
        matrix = np.tensordot(rng.standard_normal(len(sliding)), sliding, axes=1)
        values = np.linalg.eigvals(matrix)
        extent = np.abs(values).max()
        if np.abs(values.imag).max() > 1e-6 * extent:
            continue
        ascending = np.sort(values.real)
        clusters = np.split(ascending, np.flatnonzero(np.diff(ascending) > 1e-2 * extent) + 1)
        if len(clusters) > len(finest):
            finest = [_eigenspace(matrix, clusters, own) for own in range(len(clusters))]
    return finest


def _eigenspace(matrix: Array64, clusters: Sequence[Array64], own: int) -> tuple[Array64, Array64]:
    """Basis and dual basis of one eigenspace, from the spectral projector in Lagrange's form."""
    centres = [float(cluster.mean()) for cluster in clusters]
    projector = np.eye(len(matrix))
    for centre in centres[:own] + centres[own + 1 :]:
        projector = projector @ (matrix - centre * np.eye(len(matrix))) / (centres[own] - centre)
    u, s, vt = np.linalg.svd(projector)
    size = len(clusters[own])
    return u[:, :size] * s[:size], vt[:size].T


def _absorb(distinct: list[list[Core]], summand: list[Core]) -> None:
    """Add a summand to the one it is a multiple of, or to the list."""
    length = norm(summand)
    for position, known in enumerate(distinct):
        multiple = inner(summand, known) / max(norm(known) ** 2, np.finfo(float).tiny)
        if distance(summand, scale(known, multiple)) <= _SAME * length:
            distinct[position] = scale(known, 1 + multiple)
            return
    distinct.append(summand)
