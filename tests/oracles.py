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
