"""Every completion method takes the steps of its algorithm box, written out in tests/reference_completion.py."""

import numpy as np
import pytest

import reference_completion as reference
from oracles import dense, fast_dense, fast_subchain, random_cores, subchain
from ringlet import TensorRing, complete, decompose
from ringlet.baselines import L1SNN, L1TNN, L1TRNN, TNTV, LpTRC
from ringlet.baselines.lptrc import SLICE_ENTRIES
from ringlet.baselines.proximal import ModeSplit
from ringlet.baselines.subchain import Subchain
from ringlet.baselines.tntv import adjoint_difference, forward_difference, smooth

LARGE = (30, 18_000, 2)  # cut into blocks, every unfolding and every frontal slice


def damaged(shape, seed=0, observed=0.7, outliers=0.1):
    """A low-rank tensor with outliers and gaps, bounded: the methods leave out what lies far outside."""
    rng = np.random.default_rng(seed)
    clean = np.clip(fast_dense(random_cores(shape, [2] * len(shape), seed)), -5, 5)
    data = clean + np.where(rng.random(shape) < outliers, rng.uniform(-5, 5, shape), 0.0)
    return data, rng.random(shape) < observed


def sweeps_compared(shape):
    return (1, 2) if shape == LARGE else (1, 2, 8)


def after_each_sweep(data, mask, solver):
    tensors = []
    complete(data, solver=solver, mask=mask, callback=lambda state: tensors.append(state.tensor) and None)
    return tensors


def test_the_unfoldings_and_slices_of_large_data_are_cut_into_blocks():
    assert all(len(ModeSplit.of(LARGE, first, count).blocks()) > 1 for first in range(3) for count in (1, 2))
    assert len(ModeSplit.of(LARGE[:2], 0, 1).blocks()) > 1


@pytest.mark.parametrize("shape", [(12, 9, 4), (9, 12, 5), (8, 7, 1), (12, 9, 2, 3), LARGE])
def test_l1tnn_follows_its_box(shape):
    data, mask = damaged(shape)
    third = (*shape[:2], -1)
    counts = sweeps_compared(shape)
    tensors = after_each_sweep(data, mask, L1TNN(outlier_weight=0.2, penalty=0.3, sweeps=counts[-1], tol=0))
    for count in counts:
        expected, _, _ = reference.l1_tnn(data.reshape(third), mask.reshape(third), 0.2, 0.3, count)
        np.testing.assert_allclose(tensors[count - 1].reshape(expected.shape), expected, atol=1e-10)


def test_l1tnn_outliers_and_multipliers_vanish_off_the_observed_entries():
    data, mask = damaged((12, 9, 4))
    _, outliers, multiplier = reference.l1_tnn(data, mask, 0.2, 0.3, 20)
    assert np.abs(outliers[~mask]).max() < 1e-12
    assert np.abs(multiplier[~mask]).max() < 1e-12


@pytest.mark.parametrize("shape", [(9, 8, 7), (6, 5, 4, 3), (12, 9), LARGE])
def test_l1snn_follows_its_box(shape):
    data, mask = damaged(shape)
    counts = sweeps_compared(shape)
    tensors = after_each_sweep(data, mask, L1SNN(outlier_weight=0.4, penalty=0.5, sweeps=counts[-1], tol=0))
    for count in counts:
        expected, _ = reference.l1_snn(data, mask, 0.4, 2.0, count)
        np.testing.assert_allclose(tensors[count - 1], expected, atol=1e-10)


def test_l1snn_stops_by_the_constraints_of_its_box():
    data, mask = damaged((9, 8, 7), outliers=0.0)
    history = complete(data, solver=L1SNN(outlier_weight=0.4, penalty=0.05, sweeps=13, tol=0), mask=mask).history
    for count in (2, 3, 13):
        (last, _), (now, violation) = (reference.l1_snn(data, mask, 0.4, 20.0, n) for n in (count - 1, count))
        moved = np.linalg.norm(now - last) / np.linalg.norm(now)
        assert violation > moved
        assert history[count - 1].change == pytest.approx(violation, rel=1e-9)


@pytest.mark.parametrize(
    ("shape", "count"),
    [((9, 8, 7), 3), ((9, 8, 7), 2), ((6, 5, 4, 3), 2), ((4, 3, 4, 3, 2), 5), ((12, 9), 1), (LARGE, 3)],
)
def test_l1trnn_follows_its_box(shape, count):
    data, mask = damaged(shape)
    counts = sweeps_compared(shape)
    solver = L1TRNN(outlier_weight=0.3, penalty=0.05, growth=1.2, unfoldings=count, sweeps=counts[-1], tol=0)
    tensors = after_each_sweep(data, mask, solver)
    for sweeps in counts:
        expected, _ = reference.l1_trnn(data, mask, 0.3, 0.05, 1.2, count, sweeps)
        np.testing.assert_allclose(tensors[sweeps - 1], expected, atol=1e-10)


def test_l1trnn_uses_all_unfoldings_that_differ():
    assert [len(L1TRNN().matrices((4,) * order)) for order in (2, 3, 4, 5, 6)] == [1, 3, 2, 5, 3]
    for order in (3, 4, 5):
        data, mask = damaged((3, 4, 5, 2, 3)[:order])
        (tensor,) = after_each_sweep(data, mask, L1TRNN(outlier_weight=0.3, penalty=0.5, sweeps=1))
        expected, _ = reference.l1_trnn(data, mask, 0.3, 0.5, 1.1, {3: 3, 4: 2, 5: 5}[order], 1)
        np.testing.assert_allclose(tensor, expected, atol=1e-10)


# After the first stage all singular values must differ from each other and from zero, or U is not determined.
@pytest.mark.parametrize("shape", [(12, 9, 4), (9, 12, 5), (8, 7, 1), (7, 6, 2, 3), (3, 4, 14), LARGE])
def test_tntv_follows_its_box_in_both_stages(shape):
    data, mask = damaged(shape)
    third = (*shape[:2], -1)
    half = 2 if shape == LARGE else 6
    solver = TNTV(outlier_weight=0.5, tv_weight=0.05, noise_weight=20.0, penalty=0.4, sweeps=2 * half, tol=0)
    tensors = after_each_sweep(data, mask, solver)
    first, second = reference.tntv(data.reshape(third), mask.reshape(third), 0.5, 0.05, 20.0, 0.4, half)
    np.testing.assert_allclose(tensors[half - 1].reshape(first.shape), first, atol=1e-10)
    np.testing.assert_allclose(tensors[2 * half - 1].reshape(first.shape), second, atol=1e-10)


@pytest.mark.parametrize("rows", [slice(0, 7), slice(0, 3), slice(3, 7)])
def test_tntv_differences_have_the_adjoint_they_claim(rows):
    rng = np.random.default_rng(2)
    field, other = rng.standard_normal((2, 7, 5, 4))
    whole = slice(0, 7)
    for axis in range(3):
        ahead, back = forward_difference(field, axis, whole), adjoint_difference(other, axis, whole)
        assert np.vdot(ahead, other) == pytest.approx(np.vdot(field, back), abs=1e-12)
        np.testing.assert_array_equal(forward_difference(field, axis, rows), ahead[rows])
        np.testing.assert_array_equal(adjoint_difference(other, axis, rows), back[rows])


@pytest.mark.parametrize("shape", [(7, 5, 4), (6, 8, 3), (5, 4, 1), (1, 6, 2)])
def test_tntv_solves_the_equation_for_the_smooth_part(shape):
    right = np.random.default_rng(3).standard_normal(shape)
    found = right.copy()
    smooth(found, map)
    back = reference.differences_adjoint(reference.differences(found)) + found
    np.testing.assert_allclose(back, right, atol=1e-14)


def test_tntv_meets_its_constraints_in_the_end():
    data, mask = damaged((12, 9, 4))
    history = complete(data, solver=TNTV(sweeps=400, tol=0), mask=mask).history
    assert history[-1].change < 1e-4 < 5e-3 < history[20].change


@pytest.mark.parametrize("numbers", [1, 40, 1 << 23])
def test_lptrc_subchain_is_that_of_the_definition(numbers, monkeypatch):
    monkeypatch.setattr("ringlet.baselines.subchain.HELD_NUMBERS", numbers)
    monkeypatch.setattr("ringlet.baselines.subchain.PIECE_NUMBERS", numbers)
    cores = random_cores((4, 5, 3, 2), (2, 3, 1, 2))
    rng = np.random.default_rng(4)
    for mode in range(4):
        design = subchain(cores, mode)
        found = Subchain(cores, mode)
        shape = [(4, 5, 3, 2)[(mode + step) % 4] for step in range(1, 4)]
        order = np.concatenate([np.arange(len(design)).reshape(shape)[spans].ravel() for _, spans in found.pieces])
        design = design[order]
        rows, entries = rng.standard_normal((3, design.shape[1])), rng.standard_normal((3, len(design)))
        mask = entries > 0
        np.testing.assert_allclose(found.forward(rows), rows @ design.T, atol=1e-12)
        np.testing.assert_allclose(found.adjoint(entries), entries @ design, atol=1e-12)
        grams = np.stack([design.T @ np.diag(seen) @ design for seen in mask])
        np.testing.assert_allclose(found.grams(mask), grams, atol=1e-12)


@pytest.mark.parametrize("numbers", [30, 1 << 23])
@pytest.mark.parametrize("p", [1.0, 0.6])
def test_lptrc_reweights_as_its_box_says(p, numbers, monkeypatch):
    monkeypatch.setattr("ringlet.baselines.subchain.HELD_NUMBERS", numbers)
    monkeypatch.setattr("ringlet.baselines.subchain.PIECE_NUMBERS", numbers)
    data, mask = damaged((7, 6, 5), outliers=0.02)
    start = random_cores((7, 6, 5), (2, 2, 2), seed=9)
    solver = LpTRC(p=p, epsilon=0.1, ridge=0.01, steps=3, sweeps=2, tol=0)
    found = decompose(data, 2, solver=solver, mask=mask, init=start).ring
    expected = reference.lp_ring(data, mask, start, p, 0.1, 0.01, 3, 2, subchain)
    np.testing.assert_allclose(np.asarray(found), dense(expected), rtol=1e-7, atol=1e-7)


def test_lptrc_reweights_as_its_box_says_also_some_slices_at_a_time():
    shape = (8, 130, 150)
    assert all(np.prod(shape) > SLICE_ENTRIES > np.prod(shape) / length for length in shape)
    data, mask = damaged(shape, outliers=0.02)
    start = random_cores(shape, (2, 2, 2), seed=9)
    solver = LpTRC(epsilon=0.1, ridge=0.01, steps=2, sweeps=1)
    found = decompose(data, 2, solver=solver, mask=mask, init=start).ring
    expected = reference.lp_ring(data, mask, start, 1.0, 0.1, 0.01, 2, 1, fast_subchain)
    np.testing.assert_allclose(np.asarray(found), fast_dense(expected), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("method", ["irls", "admm"])
def test_lptrc_regression_withstands_outliers_that_least_squares_does_not(method):
    rng = np.random.default_rng(5)
    cores = random_cores((10, 400), (2, 3), seed=5)
    clean = dense(cores)
    data = clean + np.where(rng.random(clean.shape) < 0.2, 10 * rng.standard_normal(clean.shape), 0.0)
    start = [cores[0] + 0.3 * rng.standard_normal(cores[0].shape), cores[1]]

    def error(**parameters):
        first = LpTRC(ridge=0, sweeps=1, **parameters)
        ring = decompose(data, (2, 3), solver=first, init=start).ring
        rows = subchain(list(ring.cores), 1)  # spanned by the new first core; with the second it gives the data
        projected = rows @ np.linalg.lstsq(rows, clean, rcond=None)[0]
        return np.linalg.norm(projected - clean) / np.linalg.norm(clean)

    robust = error(method=method, steps=40, epsilon=0.01)
    plain = error(epsilon=1e6)
    assert robust < 0.01 < 0.1 < plain or robust < plain / 20


def test_lptrc_methods_agree_on_a_convex_problem():
    data, _ = damaged((8, 7, 6), outliers=0.05)
    start = TensorRing(random_cores((8, 7, 6), (1, 1, 1), seed=1))
    slow, fast = (
        decompose(data, 1, solver=LpTRC(method=method, steps=steps, ridge=1e-9, epsilon=0.1, sweeps=1), init=start)
        for method, steps in (("admm", 500), ("irls", 100))
    )
    np.testing.assert_allclose(np.asarray(slow.ring), np.asarray(fast.ring), atol=1e-2)
