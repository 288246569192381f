"""Leverages: how far entries decide what a ring says of them."""

import numpy as np

from oracles import random_cores
from ringlet.solvers.tuning import leverage
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
    q, _ = np.linalg.qr(np.stack(columns, axis=1))
    return np.broadcast_to(
        np.expand_dims(np.sum(q**2, axis=1).reshape([n for k, n in enumerate(shape) if k != mode]), mode), shape
    )


def test_they_are_the_largest_of_the_hat_matrices_of_the_cores(monkeypatch):
    monkeypatch.setattr(leverage, "_RIDGE", 1e-12)
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


def test_parts_of_the_subchain_give_the_same(monkeypatch):
    cores, used = random_cores((9, 8, 7), (2, 3, 2), seed=0), np.ones((9, 8, 7), bool)
    whole = leverages(cores, used)
    monkeypatch.setattr(leverage, "_NUMBERS", 1)
    np.testing.assert_allclose(leverages(cores, used), whole, rtol=1e-9)
