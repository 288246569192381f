"""Exact recovery where the theory promises it, and robustness where plain fits fail."""

import numpy as np
import pytest

from oracles import dense, random_cores
from ringlet import complete
from ringlet.baselines import L1SNN, L1TNN, L1TRNN, TNTV, LpTRC


def error(estimate, clean):
    return np.linalg.norm(estimate - clean) / np.linalg.norm(clean)


def corrupt(clean, observed, outliers, seed=0):
    rng = np.random.default_rng(seed)
    size = 5 * clean.std()
    data = clean + np.where(rng.random(clean.shape) < outliers, rng.uniform(-size, size, clean.shape), 0.0)
    return data, rng.random(clean.shape) < observed


def test_l1tnn_recovers_a_tensor_of_low_tubal_rank():
    rng = np.random.default_rng(0)
    left, right = np.fft.fft(rng.standard_normal((20, 2, 8))), np.fft.fft(rng.standard_normal((2, 20, 8)))
    clean = np.fft.ifft(np.einsum("iak,ajk->ijk", left, right)).real
    data, mask = corrupt(clean, 0.7, 0.1)
    estimate = complete(data, solver=L1TNN(sweeps=500, tol=1e-9), mask=mask)
    assert estimate.status.name == "CONVERGED"
    assert error(estimate.tensor, clean) < 1e-7


def test_l1snn_recovers_a_tensor_of_low_tucker_rank():
    rng = np.random.default_rng(0)
    factors = [rng.standard_normal((length, 2)) for length in (20, 20, 15)]
    clean = np.einsum("abc,ia,jb,kc->ijk", rng.standard_normal((2, 2, 2)), *factors)
    data, mask = corrupt(clean, 0.7, 0.1)
    estimate = complete(data, solver=L1SNN(outlier_weight=2 / np.sqrt(20), sweeps=300, tol=1e-6), mask=mask)
    assert error(estimate.tensor, clean) < 5e-5


def test_l1trnn_recovers_a_ring():
    clean = dense(random_cores((8,) * 4, (2,) * 4, seed=2))
    data, _ = corrupt(clean, 1.0, 0.05)
    estimate = complete(data, solver=L1TRNN(sweeps=300, tol=1e-8))
    assert error(estimate.tensor, clean) < 2e-7


def test_lptrc_recovers_a_ring():
    clean = dense(random_cores((12, 11, 10), (2, 2, 2), seed=3))
    data, mask = corrupt(clean, 0.7, 0.1)
    errors = [
        error(
            complete(
                data, solver=LpTRC(ridge=0, epsilon=1e-3, sweeps=60, tol=1e-6), rank=2, mask=mask, seed=seed
            ).tensor,
            clean,
        )
        for seed in range(5)
    ]
    assert min(errors) < 1e-3  # not convex: starts differ


PICTURE = (
    0.5
    + 0.25 * np.sin(np.arange(48)[:, None, None] / 9 + np.arange(3))
    + 0.25 * np.cos(np.arange(40)[None, :, None] / 7) * np.array([1.0, 0.6, 0.3])
)
SOLVERS = [
    (L1SNN(sweeps=200), L1SNN(outlier_weight=np.inf, sweeps=200)),
    (L1TNN(), L1TNN(outlier_weight=np.inf)),
    (L1TRNN(), L1TRNN(outlier_weight=np.inf)),
    (TNTV(), TNTV(outlier_weight=np.inf, tv_weight=0.01)),
    (LpTRC(), LpTRC(epsilon=1e3)),
]


@pytest.mark.parametrize(("robust", "plain"), SOLVERS, ids=[type(robust).__name__ for robust, _ in SOLVERS])
def test_salt_and_pepper_hurts_the_limit_that_is_not_robust_far_more(robust, plain):
    rng = np.random.default_rng(7)
    data = np.where(rng.random(PICTURE.shape) < 0.2, rng.integers(0, 2, PICTURE.shape), PICTURE)
    mask = rng.random(PICTURE.shape) < 0.5
    rank = 4 if robust.fits_ring else None

    def decibel(solver):
        return -10 * np.log10(np.mean((complete(data, solver=solver, mask=mask, rank=rank).tensor - PICTURE) ** 2))

    assert decibel(robust) > decibel(plain) + 6


@pytest.mark.parametrize("solver", [robust for robust, _ in SOLVERS], ids=lambda solver: type(solver).__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_single_absurd_entry_does_no_harm(solver, dtype):
    data = PICTURE.astype(dtype)
    data[20, 20, 1] = 1e30
    data[30, 10, 0] = -1e5
    tensor = complete(data, solver=solver, rank=4 if solver.fits_ring else None).tensor
    assert np.abs(tensor - PICTURE).max() < 0.35
    assert error(tensor, PICTURE) < 0.05
