"""What tests of appended slices share: an exact ring, fits of its first slices, and a comparison."""

import numpy as np

from oracles import fast_dense, random_cores
from ringlet import AWRTRD, TensorRing, decompose

SHAPE, RANK = (9, 8, 3, 12), (3, 2, 3, 2)
CORES = random_cores(SHAPE, RANK, seed=1)
TRUTH = fast_dense(CORES)
FRAME = TRUTH[..., 11:]
EXACT = AWRTRD(smooth=0.0, sweeps=300, tol=1e-13, ridge=0)


def head(cores, count, mode=-1):
    """The ring of the first slices."""
    cores = list(cores)
    cores[mode] = cores[mode][:, :count]
    return TensorRing(cores)


def fit_of(cores, count, solver=EXACT, mode=-1):
    """A fit of exact data that starts from the exact ring, and so ends there."""
    ring = head(cores, count, mode)
    return decompose(np.asarray(ring), ring.rank, solver=solver, init=ring)


def close(found, expected, tol):
    assert np.abs(np.asarray(found) - expected).max() < tol * np.abs(expected).max()
