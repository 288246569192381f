"""Cores as arrays: unfolded and folded back, merged, and balanced without losing a digit."""

import numpy as np
import pytest

import ringlet
from oracles import random_cores
from ringlet.ring.chain import balanced_cores, merge, refold, unfold


def test_rows_of_an_unfolded_core_are_its_slices_and_fold_back():
    core = random_cores((5, 4), (2, 3))[0]
    rows = unfold(core)
    for i, row in enumerate(rows):
        np.testing.assert_array_equal(row, core[:, i].ravel())
    np.testing.assert_array_equal(refold(rows, 2, 3), core)
    assert unfold(core, np.float32).dtype == np.float32


def test_slices_of_merged_cores_are_products_of_slices():
    first, second, third = random_cores((3, 4, 2), (2, 3, 5), seed=2)
    merged = merge([first, second, third])
    assert merged.shape == (2, 24, 2)
    np.testing.assert_allclose(merged[:, (1 * 4 + 3) * 2 + 1], first[:, 1] @ second[:, 3] @ third[:, 1])


def test_the_tensor_is_the_same_to_the_bit():
    cores = [core.astype(np.float32) for core in random_cores((5, 6, 7), (2, 3, 4), seed=1)]
    drifted = [np.ldexp(core, shift) for core, shift in zip(cores, (30, -50, 20), strict=True)]
    again = balanced_cores(drifted)
    sizes = [np.abs(core).max() for core in again]
    assert max(sizes) <= 4 * min(sizes)
    for core, back in zip(cores, again, strict=True):
        assert np.array_equal(np.frexp(core)[0], np.frexp(back)[0])
    shifts = [np.log2(np.abs(back).max() / np.abs(core).max()) for core, back in zip(cores, again, strict=True)]
    assert sum(shifts) == 0


@pytest.mark.parametrize("spoilt", [0.0, np.inf, np.nan])
def test_cores_without_a_size_are_left_alone(spoilt):
    assert balanced_cores([np.full((1, 2, 1), spoilt), np.full((1, 2, 1), 2.0**40)]) is None


def test_cores_that_are_near_enough_are_left_alone():
    assert balanced_cores([np.full((1, 2, 1), 100.0), np.ones((1, 2, 1))]) is None


def test_a_fit_from_drifted_cores_has_the_bits_of_one_from_even_cores():
    x = np.fromfunction(lambda i, j, k: np.sin(i / 3) * np.cos(j / 4) + k / 5, (12, 10, 8), dtype=np.float32)
    cores = [core.astype(np.float32) for core in random_cores(x.shape, (2, 2, 2), seed=0)]
    drifted = [np.ldexp(core, shift) for core, shift in zip(cores, (20, -30, 10), strict=True)]
    solver = ringlet.AWRTRD(sweeps=5, tol=0, smooth={0: 0.3})
    even, uneven = (ringlet.decompose(x, 2, solver=solver, init=init).ring for init in (cores, drifted))
    assert np.array_equal(np.asarray(even), np.asarray(uneven))


def test_strong_smoothness_does_not_let_sizes_run_away():
    x = np.random.default_rng(0).standard_normal((12, 10, 8, 6)).astype(np.float32)
    fit = ringlet.decompose(x, 3, solver=ringlet.AWRTRD(sweeps=120, tol=0, smooth=1.0))
    sizes = [float(np.abs(core).max()) for core in fit.ring.cores]
    assert max(sizes) < 2.0**18 * min(sizes)


@pytest.mark.parametrize(("dtype", "size"), [("f4", 1e30), ("f8", 1e200)])
def test_entries_are_right_whatever_the_sizes_of_the_cores(dtype, size):
    sizes = (size, size, 1 / size, 1 / size)
    ring = ringlet.TensorRing([np.full((1, 2, 1), size, dtype) for size in sizes])
    for values in (np.asarray(ring), ring[0, 1, :, 0], ring.entries([[0, 1, 0, 1]]), ring[[0, 1], :, :, [1, 0]]):
        np.testing.assert_allclose(values, 1, rtol=1e-6)
    assert ring.sum() == pytest.approx(16)
    assert ring.sum(axis=0)[0, 0, 0] == pytest.approx(2)
    assert all((core == size).all() for core, size in zip(ring.cores, np.array(sizes, dtype), strict=True))
