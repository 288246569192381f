"""Products of transfer matrices along chains and around rings, in batches where bonds are wide."""

import tracemalloc

import numpy as np
import pytest

from oracles import dense, random_cores
from ringlet.ring.transfer import chain_product, loop_cost, loop_trace


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


@pytest.mark.parametrize(
    ("rank", "other"),
    [
        ((3, 2, 4, 3), (2, 4, 3, 5)),  # all pairs of indices of the narrowest bond at once
        ((45, 60, 50), (70, 40, 55)),  # 4 batches of them, the last one smaller
        ((1, 60), (300, 300)),  # not even all indices of one ring at once
        ((2, 130, 130), (2, 130, 130)),  # not even a column of a transfer matrix at once
    ],
)
def test_loop_trace_is_the_inner_product_whatever_the_batch(rank, other):
    shape = (3, 4, 2, 3)
    for order in (1, 2, 3, 4) if len(rank) == 4 else [len(rank)]:
        cores = random_cores(shape[:order], rank[:order])
        others = random_cores(shape[:order], other[:order], seed=1)
        expected = np.sum(dense(cores) * dense(others))
        size = np.linalg.norm(dense(cores)) * np.linalg.norm(dense(others))
        np.testing.assert_allclose(loop_trace(cores, others), expected, rtol=1e-10, atol=1e-10 * size)


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
