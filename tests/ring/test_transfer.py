import tracemalloc

import numpy as np
import pytest

from oracles import dense, random_cores, subchain
from ringlet.ring.transfer import GramChain, chain_product, environment, loop_cost, loop_trace, transfer_matrix


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
            np.testing.assert_allclose(chain.gram_without(k), explicit.T @ explicit, rtol=1e-10, atol=1e-10)
        k = int(rng.integers(order))
        cores[k] = rng.standard_normal(cores[k].shape)
        chain.replace(k, cores[k])


def test_unfolded_core_times_subchain_is_the_unfolded_tensor():
    cores = random_cores((3, 4, 2), (2, 3, 4))
    for k in range(3):
        cyclic = dense(cores).transpose([(k + mode) % 3 for mode in range(3)])
        unfolded = cyclic.reshape(len(cyclic), -1)
        rows = cores[k].transpose(1, 0, 2).reshape(len(unfolded), -1)
        np.testing.assert_allclose(rows @ subchain(cores, k).T, unfolded, atol=1e-12)


@pytest.mark.parametrize("long_modes", [False, True])
@pytest.mark.parametrize(
    "ranks", [((5, 1, 2, 4), (4, 2, 1, 3)), ((1, 4, 5, 3), (2, 3, 4, 4)), ((4, 4, 3, 1), (4, 4, 3, 1))]
)
def test_chain_product_agrees_with_products_of_mixed_transfer_matrices(ranks, long_modes):
    sizes = (3000, 2, 3000) if long_modes else (2, 3, 4)
    rng = np.random.default_rng(0)
    chains = [[rng.standard_normal((r[j], sizes[j], r[j + 1])) for j in range(3)] for r in ranks]
    expected = np.eye(ranks[0][0] * ranks[1][0])
    for x, y in zip(*chains, strict=True):
        expected = expected @ sum(np.kron(x[:, i], y[:, i]) for i in range(x.shape[1]))
    np.testing.assert_allclose(chain_product(*chains), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_wide_bonds_pass_without_forming_transfer_matrices():
    rng = np.random.default_rng(0)
    chain = [rng.standard_normal(s) for s in [(1, 2, 12), (12, 3, 13), (13, 2, 11)]]
    expected = np.eye(1)
    for core in chain:
        expected = expected @ sum(np.kron(core[:, i], core[:, i]) for i in range(core.shape[1]))
    np.testing.assert_allclose(chain_product(chain, chain), expected, rtol=1e-10, atol=1e-8)


def test_transfer_matrix_is_a_sum_of_kronecker_products():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 5, 3)), rng.standard_normal((4, 5, 2))
    np.testing.assert_allclose(transfer_matrix(x, y), sum(np.kron(x[:, i], y[:, i]) for i in range(5)))


def test_environment_sums_over_the_first_bond():
    cores = random_cores((3, 4), (2, 3))
    merged = np.einsum("aib,bjc->ijac", *cores)
    np.testing.assert_allclose(environment(cores), np.einsum("ijac,ijad->cd", merged, merged))


@pytest.mark.parametrize("batch", [1, 7, 30, 1 << 21])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_loop_trace_is_the_inner_product_whatever_the_batch(monkeypatch, order, batch):
    monkeypatch.setattr("ringlet.ring.transfer._BATCH_ENTRIES", batch)
    shape = (3, 4, 2, 3)[:order]
    cores = random_cores(shape, (3, 2, 4, 3)[:order])
    others = random_cores(shape, (2, 4, 3, 5)[:order], seed=1)
    np.testing.assert_allclose(loop_trace(cores, others), np.sum(dense(cores) * dense(others)), rtol=1e-10)


@pytest.mark.parametrize("shape", [(3, 2), (3, 2, 4)])
def test_wide_loops_take_memory_of_the_square_of_the_rank(shape):
    cores = random_cores(shape, (60,) * len(shape))  # one transfer matrix takes 104 MB
    tracemalloc.start()
    try:
        square = loop_trace(cores, cores)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(square, np.sum(dense(cores) ** 2), rtol=1e-9)
    assert peak < 100e6
    assert loop_cost(cores)[1] < 100e6


def test_a_small_file_of_wide_bonds_has_a_norm():
    cores = random_cores((1, 1), (100, 100))
    np.testing.assert_allclose(loop_trace(cores, cores), dense(cores).item() ** 2, rtol=1e-9)


@pytest.mark.parametrize("rank", [(2, 3, 2), (1, 24, 20)])  # the matrix formed, and not
def test_a_gram_matrix_is_applied_without_being_asked_for_whole(rank):
    chain = GramChain(random_cores((4, 5, 6), rank))
    for k in range(3):
        gram = chain.kronecker_without(k)
        rows = np.random.default_rng(0).standard_normal((300, gram.size))
        np.testing.assert_allclose(gram.apply(rows), rows @ gram.dense(), rtol=1e-9, atol=1e-7 * gram.trace())
