"""What a type checker knows of the public names: run by pytest, and read by mypy --strict in `make types`."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import ringlet
from ringlet import AWRTRD, SAWRTRD, Estimate, Fit, Plan, Status, SweepRecord, TensorRing


def _data() -> NDArray[np.float64]:
    return np.fromfunction(lambda i, j, k: np.cos(i / 9 + j / 7) + k, (12, 10, 4))


def test_verbs() -> None:
    x = _data()
    assert_type(ringlet.decompose(x), Fit)
    assert_type(ringlet.decompose(x, rank=2, solver=SAWRTRD(samples=100, sweeps=2), mask=x > 0, seed=1), Fit)
    assert_type(ringlet.complete(x, solver=ringlet.baselines.TRSVD(), rank=2), Fit | Estimate)
    assert_type(ringlet.plan((12, 10, 4), rank=2), Plan)


def test_results() -> None:
    fit = ringlet.decompose(_data(), 2, solver=AWRTRD(sweeps=3))
    assert_type(fit.ring, TensorRing)
    assert_type(fit.status, Status)
    record: SweepRecord = fit.history[-1]
    seconds: float = record.seconds
    assert seconds >= 0
    weights: NDArray[Any] = fit.weights((0, slice(None)))
    assert weights.shape == (10, 4)


def test_rings() -> None:
    ring = ringlet.decompose(_data(), 2, solver=AWRTRD(sweeps=3)).ring
    assert_type(ring.shape, tuple[int, ...])
    assert_type(ring + 2 * ring, TensorRing)
    assert_type(ring.round(rank=1), TensorRing)
    norm: float = ring.norm()
    assert norm > 0
