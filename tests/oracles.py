"""Slow, explicit references written straight from the definitions. They import nothing from ringlet."""

from itertools import product

import numpy as np


def dense(cores):
    """The tensor of a ring: every entry is the trace of a product of lateral slices."""
    shape = tuple(core.shape[1] for core in cores)
    tensor = np.empty(shape, dtype=np.float64)
    for where in np.ndindex(shape):
        tensor[where] = np.trace(_slice_product(cores, where))
    return tensor


def subchain(cores, k):
    """S_k: rows (i_{k+1}, .., i_N, i_1, .., i_{k-1}), columns (a, b) of r_k x r_{k+1}, the last fastest.

    With A_k[i, (a, b)] = Z_k[a, i, b], the mode-k unfolding of the tensor (modes in cyclic order from k) is
    A_k S_k^T.
    """
    others = [*cores[k + 1 :], *cores[:k]]
    a, _, b = cores[k].shape
    rows = []
    for where in product(*(range(core.shape[1]) for core in others)):
        matrix = _slice_product(others, where) if others else np.eye(a)  # r_{k+1} x r_k
        rows.append([matrix[column, row] for row in range(a) for column in range(b)])
    return np.array(rows)


def random_cores(shape, rank, seed=0, dtype=np.float64):
    """Gaussian cores, core k of shape (rank[k], shape[k], rank[k+1])."""
    rng = np.random.default_rng(seed)
    order = len(shape)
    return [rng.standard_normal((rank[k], shape[k], rank[(k + 1) % order])).astype(dtype) for k in range(order)]


def _slice_product(cores, where):
    matrix = np.asarray(cores[0][:, where[0], :], dtype=np.float64)
    for core, i in zip(cores[1:], where[1:], strict=True):
        matrix = matrix @ np.asarray(core[:, i, :], dtype=np.float64)
    return matrix


def unfolding(x, k):
    """X_k: mode k against the others in cyclic order, so that X_k = A_k S_k^T."""
    order = [*range(k, x.ndim), *range(k)]
    return x.transpose(order).reshape(x.shape[k], -1)


def fast_dense(cores):
    """The tensor of a ring by plain tensor products, for sizes at which `dense` takes long."""
    product = cores[0]
    for core in cores[1:]:
        product = np.tensordot(product, core, axes=1)
    return np.trace(product, axis1=0, axis2=product.ndim - 1)


def fast_subchain(cores, k):
    """S_k by plain tensor products, for sizes at which `subchain` takes long."""
    a, _, b = cores[k].shape
    product, *others = [*cores[k + 1 :], *cores[:k]]
    for core in others:
        product = np.tensordot(product, core, axes=1)
    return np.moveaxis(product, -1, 0).reshape(a, b, -1).reshape(a * b, -1).T


def trals_blocks(cores, x, sweeps, subchain=subchain):
    """Alternating least squares with the subchain formed; the cores after every block update."""
    cores = [np.asarray(core, dtype=np.float64) for core in cores]
    for _ in range(sweeps):
        for k in range(len(cores)):
            a, _, b = cores[k].shape
            rows = np.linalg.lstsq(subchain(cores, k), unfolding(x, k).T, rcond=None)[0].T
            cores[k] = rows.reshape(-1, a, b).transpose(1, 0, 2)
            yield list(cores)


def trsvd(x, rank):
    """Sequential truncated SVDs by the book, from mode 0; the cores and all discarded singular values."""
    shape, r1, r2 = x.shape, rank[0], rank[1]
    u, s, v = np.linalg.svd(x.reshape(shape[0], -1), full_matrices=False)
    cores, discarded = [u[:, : r1 * r2].reshape(shape[0], r1, r2).transpose(1, 0, 2)], list(s[r1 * r2 :])
    rest = (s[: r1 * r2, None] * v[: r1 * r2]).reshape(r1, r2, *shape[1:])
    rest = np.moveaxis(rest, 0, -1)
    for k in range(1, x.ndim - 1):
        r = rest.shape[0]
        u, s, v = np.linalg.svd(rest.reshape(r * shape[k], -1), full_matrices=False)
        kept = min(rank[k + 1], len(s))
        discarded += list(s[kept:])
        cores.append(u[:, :kept].reshape(r, shape[k], kept))
        rest = (s[:kept, None] * v[:kept]).reshape(kept, *shape[k + 1 :], r1)
    return [*cores, rest], np.array(discarded)


def leverage_scores(matrix):
    """Squared row norms of an orthonormal basis of the range."""
    u, s, _ = np.linalg.svd(matrix, full_matrices=False)
    return np.square(u[:, s > 1e-10 * s[0]]).sum(axis=1)
