"""A single bond of a ring."""

import numpy as np

from oracles import random_cores
from ringlet.ring.bond import canonical_bond, environment


def test_a_ring_of_zeros_keeps_one_direction():
    cores = [np.zeros((2, 4, 3)), np.ones((3, 5, 2)), np.ones((2, 6, 2))]
    for bond in range(3):
        changed = canonical_bond(cores, bond)
        assert changed[bond].shape[0] == changed[bond - 1].shape[2] == 1
        assert [core.shape[1] for core in changed] == [4, 5, 6]
        assert all(np.isfinite(core).all() for core in changed)
        assert not np.einsum("aib,bjc,cka->ijk", *changed).any()


def test_environment_sums_over_the_first_bond():
    cores = random_cores((3, 4), (2, 3))
    merged = np.einsum("aib,bjc->ijac", *cores)
    np.testing.assert_allclose(environment(cores), np.einsum("ijac,ijad->cd", merged, merged))
