"""Rows of subchains that are drawn one by one."""

import numpy as np
import pytest

from oracles import random_cores, subchain
from ringlet.sampling import (
    draw_rows,
    leverage_distribution,
)
from ringlet.solvers.engine.row_sampling import row_core


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_sampled_gram_converges_to_the_gram_of_the_subchain(mode):
    cores = random_cores((6, 5, 4), (2, 3, 2), seed=2)
    others = [core for other, core in enumerate(cores) if other != mode]
    rows, weights = draw_rows([leverage_distribution(core) for core in others], 200_000, np.random.default_rng(0))
    merged = row_core(cores, mode, rows)  # (b, J, a)
    S = merged.transpose(1, 2, 0).reshape(len(weights), -1)
    exact = subchain(cores, mode)
    np.testing.assert_allclose(
        (S * weights[:, None]).T @ S, exact.T @ exact, atol=0.02 * np.linalg.norm(exact.T @ exact)
    )


@pytest.mark.parametrize("rows", [7, 50])  # fewer and more than the pairs of neighbouring indices
@pytest.mark.parametrize("mode", [0, 1, 3])
@pytest.mark.parametrize("rank", [(2, 3, 2, 4), (2, 9, 2, 4)])  # small matrices are multiplied entry by entry
def test_row_products_are_rows_of_the_subchain(rows, mode, rank):
    shape = (4, 3, 5, 2)
    cores = random_cores(shape, rank, seed=3)
    others = [length for other, length in enumerate(shape) if other != mode]
    index = tuple(np.random.default_rng(1).integers(0, length, rows) for length in others)
    got = row_core(cores, mode, index).transpose(1, 2, 0)  # (J, a, b)
    for row in range(rows):
        places = iter(index)
        slices = {other: cores[other][:, next(places)[row]] for other in range(4) if other != mode}
        product = np.linalg.multi_dot([slices[(mode + step) % 4] for step in (1, 2, 3)])  # (b, a)
        np.testing.assert_allclose(got[row], product.T, atol=1e-12)
