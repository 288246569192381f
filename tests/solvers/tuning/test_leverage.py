"""Leverages: how far entries decide what a ring says of them."""

import numpy as np

from oracles import random_cores
from ringlet.solvers.tuning.leverage import leverages


def of_one_core(cores, mode):
    """Diagonal of the hat matrix of a core, all entries used, by the definition; shaped as the tensor."""
    shape = [core.shape[1] for core in cores]
    columns = []
    for place in np.ndindex(*cores[mode].shape[::2]):
        unit = [*cores]
        unit[mode] = np.zeros_like(cores[mode])
        unit[mode][place[0], :, place[1]] = 1.0
        product = unit[0]
        for core in unit[1:]:
            product = np.tensordot(product, core, 1)
        columns.append(np.trace(product, axis1=0, axis2=-1).take(0, axis=mode).ravel())
    found = hat(np.stack(columns, axis=1)).reshape([n for k, n in enumerate(shape) if k != mode])
    return np.broadcast_to(np.expand_dims(found, mode), shape)


def hat(rows):
    """Diagonal of the hat matrix of least squares with a ridge of a thousandth of the mean squared singular value."""
    u, s, _ = np.linalg.svd(rows, full_matrices=False)
    return u**2 @ (s**2 / (s**2 + 1e-3 * np.mean(s**2)))


def test_they_are_the_largest_of_the_hat_matrices_of_the_cores():
    cores = random_cores((9, 8, 7, 6), (2, 3, 2, 2), seed=0)
    found = leverages(cores, np.ones((9, 8, 7, 6), bool))
    expected = np.max([of_one_core(cores, mode) for mode in range(4)], axis=0)
    np.testing.assert_allclose(found, np.minimum(expected, 0.9), rtol=1e-6)


def test_they_are_larger_where_fewer_entries_of_a_slice_are_used_and_zero_where_none_is():
    cores, used = random_cores((9, 8, 7), (2, 2, 2), seed=0), np.ones((9, 8, 7), bool)
    whole = leverages(cores, used)
    used[3, :, ::2] = used[5] = False
    part = leverages(cores, used)
    assert (part[3, :, 1::2] > whole[3, :, 1::2]).all()
    assert not part[~used].any()


def test_a_subchain_too_large_for_one_part_gives_the_same():
    first, second, third = cores = random_cores((3, 600, 300), (2, 2, 2), seed=0)
    found = leverages(cores, np.ones((3, 600, 300), bool))
    pairs = ((second, third), (third, first), (first, second))
    sides = [hat(np.einsum("bic,cja->ijab", *pair).reshape(-1, 4)) for pair in pairs]
    expected = np.maximum(sides[0].reshape(1, 600, 300), sides[1].reshape(300, 3).T[:, None, :])
    expected = np.maximum(expected, sides[2].reshape(3, 600, 1))
    np.testing.assert_allclose(found, np.minimum(expected, 0.9), rtol=1e-6)
