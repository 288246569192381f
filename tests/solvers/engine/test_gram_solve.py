"""Solving with the Gram matrix, against NumPy's dense solver."""

import numpy as np
import pytest

from ringlet.execution import Threads
from ringlet.ring.gram import KroneckerSum
from ringlet.solvers.engine.gram_solve import GramFactor, solve_once


def random_gram(size, rank=None, seed=0):
    factor = np.random.default_rng(seed).standard_normal((rank or 2 * size, size))
    return factor.T @ factor


@pytest.mark.parametrize("size", [1, 5, 255, 256, 257, 700])
@pytest.mark.parametrize("rows", [1, 300])
def test_solve_agrees_with_a_dense_solver(size, rows):
    gram = random_gram(size)
    right = np.random.default_rng(1).standard_normal((rows, size))
    shift = 1e-10 * np.linalg.norm(gram) + 0.5
    expected = np.linalg.solve(gram + shift * np.eye(size), right.T).T
    given = KroneckerSum.of(gram)
    factor = GramFactor(given, 0.5, np.dtype("f8"), map)
    np.testing.assert_allclose(factor.solve(right), expected, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(solve_once(given, 0.5, right, map), expected, rtol=1e-7, atol=1e-10)
    single = solve_once(KroneckerSum.of(gram.astype("f4")), 0.5, right.astype("f4"), map)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=0.0, atol=1e-4 * np.abs(expected).max())


def test_threads_do_not_change_the_bits():
    gram, right = random_gram(600), np.random.default_rng(1).standard_normal((600, 600)).astype(np.float32)
    results = set()
    for count in (1, 2, 3):
        with Threads(count) as threads:
            factor = GramFactor(KroneckerSum.of(gram), 0.0, np.dtype("f4"), threads.run)
            results.add(factor.solve(right).tobytes())
    assert len(results) == 1


@pytest.mark.parametrize("size", [60, 600])
def test_singular_gram_gives_a_descent_direction_in_its_range(size):
    gram = random_gram(size, rank=size // 3)
    right = np.random.default_rng(1).standard_normal((20, size)) @ gram
    found = GramFactor(KroneckerSum.of(gram), 0.0, np.dtype("f8"), map).solve(right)
    np.testing.assert_allclose(found @ gram, right, rtol=1e-5, atol=1e-5 * np.abs(right).max())
    assert np.sum(found * right) > 0


@pytest.mark.parametrize("size", [40, 600])
def test_slightly_indefinite_gram_is_shifted_until_it_can_be_factored(size):
    rng = np.random.default_rng(2)
    basis, _ = np.linalg.qr(rng.standard_normal((size, size)))
    values = np.ones(size)
    values[-1] = -1e-6
    gram = (basis * values) @ basis.T
    gram = (gram + gram.T) / 2
    right = rng.standard_normal((3, size))
    start = 1e-10 * np.linalg.norm(gram)
    candidates = [np.linalg.solve(gram + start * 10**power * np.eye(size), right.T).T for power in range(1, 8)]
    factor = GramFactor(KroneckerSum.of(gram), 0.0, np.dtype("f8"), map)
    for found in (factor.solve(right), solve_once(KroneckerSum.of(gram), 0.0, right, map)):
        assert min(np.abs(found - candidate).max() / np.abs(candidate).max() for candidate in candidates) < 1e-6


def test_a_sum_of_kronecker_products_is_factored_in_given_room():
    rng = np.random.default_rng(3)
    left, right = (rng.standard_normal((3, size, 40)) for size in (20, 17))
    left, right = (part @ part.transpose(0, 2, 1) for part in (left, right))
    expected = sum(np.kron(p, s) for p, s in zip(left, right, strict=True))
    gram = KroneckerSum(left, right)
    rows = rng.standard_normal((4, 340))
    room = np.full((340, 340), 7.0)
    found = GramFactor(gram, 0.1, np.dtype("f8"), map, room).solve(rows)
    shift = 0.1 + 1e-10 * np.linalg.norm(expected)
    np.testing.assert_allclose(found, np.linalg.solve(expected + shift * np.eye(340), rows.T).T, rtol=1e-8)


@pytest.mark.parametrize("size", [3, 300])
def test_a_matrix_of_zeros_is_factored_in_the_end(size):
    """Its norm is zero, so the shift that grows tenfold has to begin above zero."""
    rows = np.random.default_rng(0).standard_normal((4, size))
    found = GramFactor(KroneckerSum.of(np.zeros((size, size))), 0.0, np.dtype("f8")).solve(rows)
    np.testing.assert_array_equal(np.sign(found), np.sign(rows))  # a multiple of the rows


def test_a_tiny_matrix_whose_norm_underflows_is_factored():
    """The entries of such a matrix, not its norm, tell how large the shift has to be."""
    direction = np.array([[4.0], [-0.1], [-10.0], [0.3]])
    tiny = 1e-112 * direction @ direction.T - 1e-114 * np.eye(4)  # not definite by rounding errors

    class Underflowing(KroneckerSum):
        norm = 0.0

    found = GramFactor(Underflowing.of(tiny), 0.0, np.dtype("f8")).solve(direction.T)
    assert np.isfinite(found).all()
    assert (found * direction.T).sum() > 0
