"""Gram matrices of subchains, against the subchains themselves."""

import numpy as np
import pytest

from oracles import dense, random_cores, subchain, unfolding
from ringlet.ring.gram import GramChain, KroneckerSum, relative_change, transfer_matrix


@pytest.mark.parametrize("order", [2, 3, 4, 5, 6])
def test_gram_agrees_with_explicit_subchain_after_replacements(order):
    rng = np.random.default_rng(order)
    shape = [int(size) for size in rng.integers(2, 4, order)]
    rank = [int(bond) for bond in rng.integers(1, 5, order)]
    cores = random_cores(shape, rank, seed=order)
    chain = GramChain(cores)
    for _ in range(6):
        for k in range(order):
            explicit = subchain(cores, k)
            np.testing.assert_allclose(chain.without(k).dense(), explicit.T @ explicit, rtol=1e-10, atol=1e-10)
        k = int(rng.integers(order))
        cores[k] = rng.standard_normal(cores[k].shape)
        chain = chain.with_core(k, cores[k])


def test_unfolded_core_times_subchain_is_the_unfolded_tensor():
    cores = random_cores((3, 4, 2), (2, 3, 4))
    for k in range(3):
        cyclic = dense(cores).transpose([(k + mode) % 3 for mode in range(3)])
        unfolded = cyclic.reshape(len(cyclic), -1)
        rows = cores[k].transpose(1, 0, 2).reshape(len(unfolded), -1)
        np.testing.assert_allclose(rows @ subchain(cores, k).T, unfolded, atol=1e-12)


def test_transfer_matrix_is_a_sum_of_kronecker_products():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 5, 3)), rng.standard_normal((4, 5, 2))
    np.testing.assert_allclose(transfer_matrix(x, y), sum(np.kron(x[:, i], y[:, i]) for i in range(5)))


@pytest.mark.parametrize("rank", [(2, 3, 2), (1, 24, 20)])  # the matrix formed, and not
def test_a_gram_matrix_is_applied_without_being_asked_for_whole(rank):
    chain = GramChain(random_cores((4, 5, 6), rank))
    for k in range(3):
        gram = chain.without(k)
        rows = np.random.default_rng(0).standard_normal((300, gram.size))
        np.testing.assert_allclose(gram.apply(rows), rows @ gram.dense(), rtol=1e-9, atol=1e-7 * gram.trace())


def test_a_chain_with_another_core_leaves_the_first_one_as_it_was():
    cores = random_cores((4, 5, 3, 4), (2, 3, 2, 4))
    chain = GramChain(cores)
    before = [chain.without(k).dense() for k in range(4)]
    for k in range(4):
        other = np.random.default_rng(100 + k).standard_normal(cores[k].shape)
        changed = chain.with_core(k, other)
        after = [changed.without(mode).dense() for mode in range(4)]
        whole = GramChain([*cores[:k], other, *cores[k + 1 :]])
        for mode in range(4):
            np.testing.assert_array_equal(chain.without(mode).dense(), before[mode])
            np.testing.assert_allclose(after[mode], whole.without(mode).dense(), rtol=1e-12)
            assert (mode == k) == np.array_equal(after[mode], before[mode])


def test_a_chain_that_has_computed_nothing_yet_may_get_another_core():
    """What either chain computes later must not reach the other one."""
    cores = random_cores((4, 5, 3), (2, 3, 2))
    chain = GramChain(cores)
    changed = chain.with_core(1, 2 * cores[1])
    np.testing.assert_allclose(changed.without(0).dense(), 4 * chain.without(0).dense(), rtol=1e-12)
    np.testing.assert_allclose(chain.without(0).dense(), GramChain(cores).without(0).dense(), rtol=1e-12)


def test_the_gram_matrix_of_an_unfolding_is_that_of_the_tensor():
    cores = random_cores((4, 5, 3), (2, 3, 2))
    for k in range(3):
        unfolded = unfolding(dense(cores), k)
        np.testing.assert_allclose(GramChain(cores).unfolding_gram(k), unfolded @ unfolded.T, rtol=1e-10)


def test_the_change_of_a_matrix_is_relative_and_infinite_at_first():
    old, new = np.eye(2), np.diag([1.0, 3.0])
    assert relative_change(new, None) == np.inf
    assert relative_change(new, old) == pytest.approx(2 / np.sqrt(10))
    assert relative_change(0 * new, 0 * old) == 0.0
    assert relative_change(0 * new, old) == np.inf


def test_a_sum_of_kronecker_products_is_formed_whole_or_below_the_diagonal():
    rng = np.random.default_rng(3)
    left, right = (rng.standard_normal((3, size, 40)) for size in (20, 17))
    left, right = (part @ part.transpose(0, 2, 1) for part in (left, right))
    expected = sum(np.kron(p, s) for p, s in zip(left, right, strict=True))
    gram = KroneckerSum(left, right)
    np.testing.assert_allclose(gram.dense(), expected)
    assert gram.trace() == pytest.approx(np.trace(expected))
    assert gram.norm == pytest.approx(np.linalg.norm(expected))
    lower = np.zeros_like(expected)
    assert gram.dense(out=lower, lower_only=True) is lower
    np.testing.assert_allclose(np.tril(lower), np.tril(expected))


def test_a_rough_chain_passes_through_wide_cores_in_their_own_precision():
    cores = random_cores((7, 9, 3, 8), (32, 40, 2, 2), dtype=np.float32)
    exact, rough = GramChain(cores), GramChain(cores, rough=True)
    for k in range(4):
        given, found = exact.without(k).dense(), rough.without(k).dense()
        assert np.linalg.norm(found - given) < 1e-6 * np.linalg.norm(given)
        assert np.array_equal(found, given) == (k == 0)  # the first core is the wide one
    double = [core.astype(np.float64) for core in cores]
    np.testing.assert_array_equal(
        GramChain(double, rough=True).without(1).dense(), GramChain(double).without(1).dense()
    )
    narrow = random_cores((7, 9, 3, 8), (16, 20, 2, 2), dtype=np.float32)
    np.testing.assert_array_equal(
        GramChain(narrow, rough=True).without(1).dense(), GramChain(narrow).without(1).dense()
    )
