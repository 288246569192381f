"""TRALS and RandomizedTRALS: the dense trajectory, monotone, exact recovery, stable without full rank."""

from itertools import pairwise

import numpy as np
import pytest

import ringlet
from oracles import dense, fast_dense, fast_subchain, random_cores, trals_blocks
from ringlet import AWRTRD, Status, decompose
from ringlet.baselines import TRALS, RandomizedTRALS
from ringlet.errors import ArgumentError, ArgumentTypeError
from ringlet.solvers.engine.core_plan import plan_core


def relative(ring, x):
    return np.linalg.norm(np.asarray(ring) - x) / np.linalg.norm(x)


def noisy(shape, rank, seed=0, noise=0.1):
    x = fast_dense(random_cores(shape, rank, seed=seed))
    return x + noise * np.std(x) * np.random.default_rng(seed).standard_normal(shape)


def photo():
    """A smooth colour picture, small enough for tests, with some texture."""
    i, j = np.mgrid[0:48, 0:64] / 8
    bands = [np.sin(i + 0.3 * c) * np.cos(j * (1 + 0.1 * c)) + 0.5 * np.sin(i * j / 4 + c) for c in range(3)]
    return np.stack(bands, axis=2) + 0.05 * np.random.default_rng(0).standard_normal((48, 64, 3))


@pytest.mark.parametrize(
    ("shape", "rank"), [((7, 6), (2, 2)), ((6, 5, 7), (2, 3, 2)), ((4, 3, 5, 3), (2, 2, 1, 2)), ((3, 4, 3, 2, 3), 2)]
)
def test_the_trajectory_is_that_of_dense_least_squares(shape, rank):
    bonds = (rank,) * len(shape) if isinstance(rank, int) else rank
    x, init = noisy(shape, bonds), random_cores(shape, bonds, seed=5)
    states = []
    fit = decompose(x, rank, solver=TRALS(sweeps=4, tol=0), init=init, callback=lambda state: states.append(state.ring))
    reference = list(trals_blocks(init, x, 4))[len(shape) - 1 :: len(shape)]
    for ring, cores in zip(states, reference, strict=True):
        assert relative(ring, dense(cores)) < 1e-6
    assert fit.history[-1].loss == pytest.approx(0.5 * np.mean((dense(reference[-1]) - x) ** 2), rel=1e-6)


def test_pieces_and_tiles_change_nothing_but_rounding():
    """Data that are cut into blocks and tiles, against least squares with the whole subchain."""
    shape, rank = (620, 440, 4), (2, 3, 2)
    plans = [plan_core(shape, rank, mode) for mode in range(3)]
    assert any(plan.tiles > 1 for plan in plans)
    assert any(plan.slices > plan.block for plan in plans)
    x = noisy(shape, rank)
    near, other = (random_cores(shape, rank, seed=seed) for seed in (0, 5))  # well conditioned: only rounding differs
    init = [core + 0.3 * change for core, change in zip(near, other, strict=True)]
    pieces = decompose(x, rank, solver=TRALS(sweeps=2, tol=0), init=init)
    *_, whole = trals_blocks(init, x, 2, fast_subchain)
    expected = fast_dense(whole)
    assert relative(pieces.ring, expected) < 1e-9
    assert pieces.history[-1].loss == pytest.approx(0.5 * np.mean((expected - x) ** 2), rel=1e-9)


def test_one_robust_step_with_unit_weights_is_the_same_update():
    x, init = noisy((6, 5, 7), (2, 3, 2)), random_cores((6, 5, 7), (2, 3, 2), seed=4)
    robust = decompose(x, (2, 3, 2), solver=AWRTRD(smooth=0.0, sweeps=1, loss="l2", ridge=0.0), init=init)
    assert relative(decompose(x, (2, 3, 2), solver=TRALS(sweeps=1), init=init).ring, np.asarray(robust.ring)) < 1e-6


def test_most_random_starts_recover_an_exact_ring():
    found = 0
    for seed in range(8):
        x = fast_dense(random_cores((30, 32, 28), (4, 4, 4), seed=seed))
        fit = decompose(x, 4, solver=TRALS(sweeps=30, tol=0), seed=seed)
        found += relative(fit.ring, x) < 1e-9
    assert found >= 5


@pytest.mark.parametrize("solver", [TRALS(tol=0), RandomizedTRALS(tol=0, sketch=(6, 9, 6))])
@pytest.mark.parametrize("rank", [(2, 2, 2), (3, 4, 3), (6, 6, 6)])
def test_the_objective_never_grows_and_is_the_true_one(solver, rank):
    x = noisy((8, 9, 7), (3, 3, 3), noise=0.5)
    losses = []
    fit = decompose(
        x, rank, solver=solver, callback=lambda state: losses.append(0.5 * np.mean((np.asarray(state.ring) - x) ** 2))
    )
    np.testing.assert_allclose([record.loss for record in fit.history], losses, rtol=1e-9, atol=1e-14 * np.mean(x**2))
    assert len(losses) > 5
    assert losses[-1] < losses[0]
    assert all(after <= before * (1 + 1e-9) + 1e-16 for before, after in pairwise(losses))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_designs_without_full_rank_stay_stable_and_monotone(dtype):
    x = photo().astype(dtype)  # (12, 12, 3) on three colours: 108 of 144 columns
    fit = decompose(x, (12, 12, 3), solver=TRALS(tol=0))
    losses = [record.loss for record in fit.history]
    slack = 1e-6 if dtype == "f4" else 1e-12
    assert losses[-1] < losses[0]
    assert all(after <= before * (1 + slack) for before, after in pairwise(losses))
    lean = decompose(x, (9, 12, 3), solver=TRALS(tol=0))
    assert losses[-1] < 1.05 * lean.history[-1].loss
    assert losses[-1] == pytest.approx(0.5 * np.mean((np.asarray(fit.ring) - x) ** 2), rel=1e-3)


@pytest.mark.parametrize(("dtype", "accuracy"), [("f4", 2e-5), ("f8", 1e-12)])
def test_exact_data_are_reached_up_to_the_precision_and_not_left_again(dtype, accuracy):
    x = np.add.outer(np.add.outer(np.linspace(0, 1, 12), np.linspace(0, 2, 10)), np.linspace(0, 1, 8)).astype(dtype)
    errors = []
    decompose(x, 2, solver=TRALS(tol=0), seed=3, callback=lambda state: errors.append(relative(state.ring, x)))
    assert max(errors[14:]) < accuracy


def test_cores_have_equal_norms():
    ring = decompose(noisy((8, 9, 7), (3, 3, 3)) * 1e6, 3, solver=TRALS(sweeps=3)).ring
    norms = [np.linalg.norm(core) for core in ring.cores]
    np.testing.assert_allclose(norms, norms[0], rtol=1e-9)


def test_it_stops_when_the_relative_error_settles():
    x = noisy((8, 9, 7), (2, 2, 2))
    fit = decompose(x, 2, solver=TRALS(sweeps=200, tol=1e-3))
    assert fit.status is Status.CONVERGED
    assert fit.history[-1].change < 1e-3 <= fit.history[-2].change
    errors = [np.sqrt(2 * record.loss * x.size) / np.linalg.norm(x) for record in fit.history]
    assert fit.history[-1].change == pytest.approx(abs(errors[-1] - errors[-2]), abs=1e-9)


def test_resuming_from_a_fit_does_not_lose_what_was_reached():
    x = fast_dense(random_cores((12, 11, 10), (2, 2, 2), seed=1))
    first = decompose(x, 2, solver=TRALS(sweeps=60, tol=0), seed=3)
    again = decompose(x, 2, solver=TRALS(sweeps=1, tol=0), init=first.ring)
    assert again.history[0].loss <= first.history[-1].loss * (1 + 1e-6) + 1e-28


def test_data_of_zeros_give_zeros():
    for solver in (TRALS(tol=0), RandomizedTRALS(sketch=3, tol=0)):
        fit = decompose(np.zeros((5, 6, 4)), 2, solver=solver)
        assert np.abs(np.asarray(fit.ring)).max() < 1e-12


def test_projection_on_whole_modes_is_trals_itself():
    x = noisy((8, 9, 7), (3, 3, 3))
    whole = decompose(x, 3, solver=TRALS(sweeps=5, tol=0))
    for sketch in ((8, 9, 7), 100):
        fit = decompose(x, 3, solver=RandomizedTRALS(sweeps=5, tol=0, sketch=sketch))
        np.testing.assert_array_equal(np.asarray(fit.ring), np.asarray(whole.ring))


def test_a_projection_that_loses_nothing_follows_trals():
    """Data of multilinear rank below K_n: an orthogonal change of basis."""
    rng = np.random.default_rng(2)
    x, init = noisy((4, 5, 3), (2, 2, 2)), random_cores((4, 5, 3), (2, 2, 2), seed=1)
    for mode, length in enumerate((20, 15, 12)):  # data and first cores in the same few dimensions
        matrix = rng.standard_normal((length, x.shape[mode]))
        x = np.moveaxis(np.tensordot(matrix, x, axes=(1, mode)), 0, mode)
        init[mode] = matrix @ init[mode]
    whole = decompose(x, 2, solver=TRALS(sweeps=4, tol=0), init=init)
    short = decompose(x, 2, solver=RandomizedTRALS(sweeps=4, tol=0, sketch=(6, 7, 5)), init=init)
    assert relative(short.ring, np.asarray(whole.ring)) < 1e-6


def test_a_projection_costs_little_where_the_signal_is_strong():
    x = noisy((20, 18, 16), (3, 3, 3), noise=0.1)

    def best(solver):
        return min(relative(decompose(x, 3, solver=solver, seed=seed).ring, x) for seed in range(4))

    assert best(RandomizedTRALS(sketch=15, tol=0)) < 1.4 * best(TRALS(tol=0))


def test_default_sketch_sizes():
    assert RandomizedTRALS().sketch_sizes((1000, 20, 5000), (3, 4, 5)) == (100, 20, 500)
    assert RandomizedTRALS().sketch_sizes((1000, 300, 50), (20, 3, 3)) == (120, 30, 50)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: TRALS(sweeps=0), ArgumentError, "sweeps=0"),
        (lambda: TRALS(tol=-1), ArgumentError, "tol=-1"),
        (lambda: RandomizedTRALS(sketch=0), ArgumentError, "sketch=0"),
        (lambda: RandomizedTRALS(sketch=(3, 2.5)), ArgumentTypeError, r"sketch=2\.5"),
        (lambda: RandomizedTRALS(sketch="all"), ArgumentTypeError, "sketch"),
        (
            lambda: ringlet.plan((4, 5, 6), 2, solver=RandomizedTRALS(sketch=(3, 3))),
            ArgumentError,
            "2 entries.*3 modes",
        ),
    ],
)
def test_wrong_parameters_are_refused_by_name(make, error, words):
    with pytest.raises(error, match=words):
        make()
