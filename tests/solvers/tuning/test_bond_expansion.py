"""Wider bonds of the same tensor."""

import numpy as np
import pytest

from oracles import dense, random_cores
from ringlet.solvers.tuning.bond_expansion import equalise_bond, widen, with_features


@pytest.mark.parametrize("bond", range(3))
def test_widening_leaves_the_tensor_as_it_is(bond):
    cores = random_cores((5, 4, 3), (2, 3, 2), seed=0)
    wider = widen(cores, bond, 5, np.random.default_rng(1))
    features = [core + 1.0 for core in wider]
    other = (bond + 1) % 3
    both = with_features(widen(cores, other, 6, np.random.default_rng(1)), bond, features)
    assert wider[bond].shape[0] == both[bond].shape[0] == 5
    assert both[other].shape[0] == 6
    for found in (wider, both):
        np.testing.assert_allclose(dense(found), dense(cores), atol=1e-12)
    even = equalise_bond(features, bond, cores[bond].shape[0])
    np.testing.assert_allclose(dense(even), dense(features), rtol=1e-12)
    before, after = even[bond - 1][:, :, -1], even[bond][-1]
    np.testing.assert_allclose(np.mean(before**2), np.mean(after**2))
