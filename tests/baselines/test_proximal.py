"""The proximal operators minimise what they say, against full SVDs and random perturbations."""

from dataclasses import replace

import numpy as np
import pytest

from reference_completion import prox_tnn, prox_transformed, soft, svt, tnn, unfold
from ringlet.baselines import proximal
from ringlet.baselines.lp_norm import lp_prox
from ringlet.baselines.proximal import ModeSplit, shrink, spectral_norm
from ringlet.baselines.tubal import FourierSlices, OrthogonalSlices
from ringlet.execution import Threads


def through(slices, tensor, threshold):
    """The prox, a few rows at a time."""
    for start in range(0, len(tensor), 3):
        slices.write(slice(start, start + 3), tensor[start : start + 3])
    slices.shrink(threshold, map)
    return np.concatenate([slices.read(slice(start, start + 3)) for start in range(0, len(tensor), 3)])


def test_soft_threshold_is_the_definition_also_at_infinity():
    values = np.linspace(-3, 3, 61)
    np.testing.assert_allclose(proximal.soft(values, 1.3), soft(values, 1.3), atol=1e-15)
    assert not proximal.soft(values, np.inf).any()


@pytest.mark.parametrize(("first", "count"), [(0, 1), (1, 1), (3, 1), (0, 2), (1, 2), (2, 2), (3, 2), (2, 3), (3, 3)])
@pytest.mark.parametrize("block", [1, 50, 1 << 19])
def test_shrunk_unfolding_is_that_of_a_full_svd(first, count, block):
    tensor = np.random.default_rng(1).standard_normal((5, 4, 3, 6))
    matrix, fold = unfold(tensor, [(first + j) % 4 for j in range(count)])
    unfolding = replace(ModeSplit.of(tensor.shape, first, count), block_entries=block)
    assert (len(unfolding.blocks()) > 1) == (block < tensor.size and unfolding.rows**2 < tensor.size)
    assert (unfolding.rows, unfolding.columns) == (min(matrix.shape), max(matrix.shape))
    singular = np.linalg.svd(matrix, compute_uv=False)
    assert spectral_norm(tensor, unfolding, map) == pytest.approx(singular[0])
    shrunk = tensor.copy()
    threshold = singular[len(singular) // 2]
    left = shrink(shrunk, unfolding, threshold * 1.001, map)
    assert left == len(singular) // 2
    np.testing.assert_allclose(shrunk, fold(svt(matrix, threshold * 1.001)), atol=1e-12)


def test_nothing_is_left_below_the_threshold():
    tensor = np.ones((4, 5))
    assert shrink(tensor, ModeSplit.of((4, 5), 0, 1), 100.0, map) == 0
    assert not tensor.any()


@pytest.mark.parametrize("n3", [1, 2, 3, 6, 7])
@pytest.mark.parametrize("shape", [(7, 5), (5, 7)])
def test_tensor_nuclear_norm_prox_is_that_of_the_full_transform(shape, n3):
    tensor = np.random.default_rng(n3).standard_normal((*shape, n3))
    found = through(FourierSlices(tensor.shape, tensor.dtype), tensor, 1.7)
    np.testing.assert_allclose(found, prox_tnn(tensor, 1.7), atol=1e-12)


def test_tensor_nuclear_norm_prox_minimises_its_objective():
    rng = np.random.default_rng(3)
    tensor, t = rng.standard_normal((6, 5, 4)), 0.9

    def objective(x):
        return t * tnn(x) + 0.5 * np.sum((x - tensor) ** 2)

    found = through(FourierSlices(tensor.shape, tensor.dtype), tensor, t)
    best = objective(found)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(20):
            assert objective(found + size * rng.standard_normal(tensor.shape)) >= best
    for wrong in (t / 4, t * 4):  # 1/n3 and n3
        assert objective(through(FourierSlices(tensor.shape, tensor.dtype), tensor, wrong)) > best + 1e-3


def test_transformed_prox_is_that_of_full_svds():
    rng = np.random.default_rng(4)
    tensor = rng.standard_normal((6, 7, 4))
    transform = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    found = through(OrthogonalSlices(tensor.shape, transform), tensor, 0.8)
    np.testing.assert_allclose(found, prox_transformed(tensor, transform, 0.8), atol=1e-12)


def test_single_precision_loses_nothing_by_squaring():
    rng = np.random.default_rng(5)
    left, right = (np.linalg.qr(rng.standard_normal((40, 20)))[0] for _ in range(2))
    matrix = (left * np.geomspace(1.0, 1e-5, 20)) @ right.T
    single = matrix.astype(np.float32)
    shrink(single, ModeSplit.of(matrix.shape, 0, 1), 3e-6, map)
    assert np.linalg.norm(single - svt(matrix, 3e-6), 2) < 1e-6


def test_slices_have_the_same_bits_on_any_number_of_threads():
    tensor = np.random.default_rng(6).standard_normal((16, 12, 9))
    unfolding = replace(ModeSplit.of(tensor.shape, 1, 1), block_entries=64)
    assert len(unfolding.blocks()) > 3
    bits = set()
    for count in (1, 2, 3):
        with Threads(count) as threads:
            copy = tensor.copy()
            shrink(copy, unfolding, 2.0, threads.run)
            slices = FourierSlices(tensor.shape, tensor.dtype)
            slices.write(slice(0, 16), tensor)
            slices.shrink(5.0, threads.run)
            bits.add(copy.tobytes() + slices.slices.tobytes())
    assert len(bits) == 1


@pytest.mark.parametrize(("p", "epsilon"), [(1.0, 0.01), (1.0, 1e-4), (0.5, 2.2), (0.8, 1.4)])
def test_lp_prox_minimises_its_objective(p, epsilon):
    values, mu = np.linspace(-3, 3, 41), 20.0

    def objective(e):
        return (e**2 + epsilon**2) ** (p / 2) + mu / 2 * (e - values) ** 2

    found = lp_prox(values, p, epsilon, mu)
    for step in (-1e-2, -1e-4, 1e-4, 1e-2):
        assert np.all(objective(found + step) >= objective(found))
