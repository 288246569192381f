"""Smoothness along a mode: the penalty, its transform, and the scaling in bands."""

import numpy as np
import pytest

from oracles import dense, random_cores
from reference_awrtrd import path_laplacian
from reference_awrtrd import sweep as reference_sweep
from ringlet import AWRTRD, decompose
from ringlet.ring.gram import KroneckerSum
from ringlet.solvers.engine import smoothness


def test_a_smooth_sweep_equals_the_dense_reference():
    """Modes of up to three slices have every frequency in a band of its own, so that the scaling is exact."""
    shape, rank, smooth = (3, 3, 4, 3), (2, 3, 2, 2), (0.4, 3.0, 0.0, 0.1)
    for strength, length in zip(smooth, shape, strict=True):
        if strength:
            assert len(smoothness.bands(strength * smoothness.frequencies(length), 1e-3 + 0.02)) == length
    x = dense(random_cores(shape, rank, seed=0)) + 3.0
    observed = np.random.default_rng(3).random(shape) < 0.7
    init = expected = random_cores(shape, rank, seed=5)
    solver = AWRTRD(sweeps=2, tol=0, sigma=2.5, ridge=0.02, smooth=dict(enumerate(smooth)))
    fit = decompose(x, rank, solver=solver, mask=observed, init=init)
    for _ in range(2):
        expected = reference_sweep(expected, x, observed, 2.5, "correntropy", 0.02, "global", smooth)
    np.testing.assert_allclose(np.asarray(fit.ring), dense(expected), rtol=1e-6, atol=1e-7)


def test_the_cosine_transform_makes_the_laplacian_diagonal():
    rows = np.random.default_rng(0).standard_normal((7, 3))
    laplacian = path_laplacian(7)
    np.testing.assert_allclose(smoothness.laplacian(rows), laplacian @ rows, atol=1e-12)
    np.testing.assert_allclose(smoothness.frequencies(7), np.linalg.eigvalsh(laplacian), atol=1e-12)
    assert smoothness.roughness(rows) == pytest.approx(np.sum(rows * (laplacian @ rows)))


def banded(slices, strength, floor):
    """Projections on the frequencies of every band, by eigenvectors, and the mean shift of the band."""
    values, vectors = np.linalg.eigh(path_laplacian(slices))
    for band in smoothness.bands(strength * smoothness.frequencies(slices), floor):
        own = vectors[:, band]
        yield own @ own.T, strength * np.mean(values[band])


@pytest.mark.parametrize("strength", [1e-4, 0.1, 30.0])
def test_bands_give_nearly_the_exact_scaling(strength):
    rng = np.random.default_rng(0)
    half = rng.standard_normal((8, 6))
    gram, rows = half.T @ half, rng.standard_normal((50, 6))
    system = np.kron(np.eye(50), gram + 0.01 * np.eye(6)) + strength * np.kron(path_laplacian(50), np.eye(6))
    exact = np.linalg.solve(system, rows.ravel()).reshape(rows.shape)
    found = smoothness.smooth_solve(KroneckerSum(np.eye(1)[None], gram[None]), 0.01, strength, rows, map)
    assert np.sum(rows * found) > 0
    assert np.linalg.norm(found - exact) < 0.5 * np.linalg.norm(exact)
    nearly = sum(
        wave @ rows[None] @ np.linalg.inv(gram + (0.01 + 1e-10 * np.linalg.norm(gram) + shift) * np.eye(6))
        for wave, shift in banded(50, strength, 1e-3 * np.trace(gram) / 6 + 0.01)
    )
    np.testing.assert_allclose(found, nearly[0], rtol=1e-6, atol=1e-9)
    cosine = np.sum(found * exact) / np.linalg.norm(found) / np.linalg.norm(exact)
    assert cosine > 0.9
