"""Inner products between subchains of two rings, against the subchains themselves."""

import numpy as np
import pytest

from oracles import random_cores, subchain
from ringlet.ring.mixed import mixed_gram


@pytest.mark.parametrize("k", range(4))
@pytest.mark.parametrize("rank", [(2, 3, 4, 3), (3, 1, 2, 4)])
def test_mixed_gram_is_the_product_of_the_subchains(rank, k):
    shape = (3, 4, 2, 5)
    cores, others = (random_cores(shape, rank, seed) for seed in (0, 1))
    expected = subchain(cores, k).T @ subchain(others, k)
    found = mixed_gram(cores, others, k)
    rows = np.random.default_rng(0).standard_normal((6, len(expected)))
    np.testing.assert_allclose(found.apply(rows), rows @ expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.dense(), expected, rtol=1e-10, atol=1e-10)
