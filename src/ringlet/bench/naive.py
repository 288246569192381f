"""The straightforward sweep: subchain formed, whole-array temporaries, transfer matrices multiplied in order.

A direct transcription of the paper, used for comparison only.
"""

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.bench.cases import Case
from ringlet.solvers.engine.core_plan import core_sizes

__all__ = ["naive_sweep"]

Floats = NDArray[np.floating[Any]]


def naive_sweep(case: Case, x: NDArray[np.uint8], mask: NDArray[np.bool_] | None, cores: list[Floats]) -> None:
    """One sweep of SAWRTRD, in place on `cores`."""
    rng = np.random.default_rng(0)
    order = len(cores)
    for k in range(order):
        sizes = core_sizes(case.shape, k, case.samples)
        index = [np.sort(rng.choice(n, s, replace=False)) for n, s in zip(case.shape, sizes, strict=True)]
        turned = (*range(k, order), *range(k))
        data = x[np.ix_(*index)].transpose(turned).reshape(sizes[k], -1).astype(np.float32) / 255
        observed = 1.0 if mask is None else mask[np.ix_(*index)].transpose(turned).reshape(sizes[k], -1)
        chain = [cores[mode][:, index[mode]] for mode in turned[1:]]
        a, _, b = cores[k].shape
        subchain = reduce(_join, chain).transpose(1, 2, 0).reshape(-1, a * b)  # S_k
        rows = cores[k].transpose(1, 0, 2).reshape(-1, a * b)
        residual = data - rows @ subchain.T
        weight = np.exp(-(residual**2) / (2 * 0.15**2)) * observed
        gradient = (weight * residual) @ subchain
        transfers = (_transfer(cores[mode]) for mode in turned[1:])
        gram = reduce(np.matmul, transfers).reshape(b, b, a, a).transpose(2, 0, 3, 1).reshape(a * b, a * b)
        gram[np.diag_indices(a * b)] += 1e-10 * np.linalg.norm(gram)
        direction = np.linalg.solve(gram, gradient.T).T.astype(np.float32)
        moved = direction @ subchain.T
        step = np.sum(gradient * direction) / np.sum(weight * moved**2)
        cores[k] = (rows + step * direction).reshape(-1, a, b).transpose(1, 0, 2).copy()


def _join(left: Floats, right: Floats) -> Floats:
    joined = np.tensordot(left, right, axes=(2, 0))
    return joined.reshape(left.shape[0], -1, right.shape[2])


def _transfer(core: Floats) -> Floats:
    a, _, b = core.shape
    wide = core.astype(np.float64).transpose(1, 0, 2).reshape(-1, a * b)
    return (wide.T @ wide).reshape(a, b, a, b).transpose(0, 2, 1, 3).reshape(a * a, b * b)
