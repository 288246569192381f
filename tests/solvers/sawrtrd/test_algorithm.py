"""AWRTRD and SAWRTRD: against a dense reference, and the promises about states, bits, units and inputs."""

import math
import os
import signal
import threading
import tracemalloc
from contextlib import closing
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest

import ringlet
from oracles import dense, fast_dense, random_cores
from reference_awrtrd import sweep as reference_sweep
from reference_awrtrd import trals_sweep
from ringlet import AWRTRD, SAWRTRD, TensorRing, complete, decompose
from ringlet.ring import GramChain
from ringlet.solvers.base import Problem, first_look
from ringlet.solvers.engine.subchain import Resources
from ringlet.solvers.sawrtrd.algorithm import Algorithm
from ringlet.sources import as_source


def damaged(shape=(12, 11, 10), rank=(2, 3, 2), seed=0, outliers=0.1):
    rng = np.random.default_rng(seed)
    truth = dense(random_cores(shape, rank, seed=seed)) + 3.0
    x = truth.copy()
    hit = rng.random(shape) < outliers
    x[hit] += rng.standard_normal(shape)[hit] * 30
    return truth, x, hit


def bits(ring):
    return b"".join(core.tobytes() for core in ring.cores)


def relative(estimate, truth):
    return np.linalg.norm(np.asarray(estimate) - truth) / np.linalg.norm(truth)


@pytest.mark.parametrize("loss", ["correntropy", "cauchy", "huber", "l2"])
@pytest.mark.parametrize(("ridge", "scaling"), [(0.0, "global"), (0.02, "global"), (0.0, "none"), (0.0, "local")])
def test_a_sweep_equals_the_dense_reference(loss, ridge, scaling):
    shape, rank = (5, 4, 3, 4), (2, 3, 2, 2)
    _, x, _ = damaged(shape, rank, outliers=0.2)
    observed = np.random.default_rng(3).random(shape) < 0.7
    init = random_cores(shape, rank, seed=5)
    solver = AWRTRD(smooth=0.0, sweeps=2, tol=0, sigma=2.5, loss=loss, ridge=ridge, scaling=scaling)
    fit = decompose(x, rank, solver=solver, mask=observed, init=init)
    expected = init
    for _ in range(2):
        expected = reference_sweep(expected, x, observed, 2.5, loss, ridge, scaling)
    np.testing.assert_allclose(np.asarray(fit.ring), dense(expected), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("shape", "rank"), [((7, 6), (2, 2)), ((6, 5, 7), (2, 3, 2)), ((4, 3, 5, 3), (2, 2, 3, 2))])
def test_infinite_width_and_all_entries_is_a_sweep_of_trals(shape, rank):
    x = dense(random_cores(shape, rank, seed=1)) + 0.1 * np.random.default_rng(0).standard_normal(shape)
    init = random_cores(shape, rank, seed=4)
    expected = dense(trals_sweep(init, x))
    for solver in (
        AWRTRD(smooth=0.0, sweeps=1, sigma=math.inf),
        SAWRTRD(smooth=0.0, sweeps=1, loss="l2", samples=10**9),
    ):
        fit = decompose(x, rank, solver=solver, init=init)
        assert relative(fit.ring, expected) < 1e-5


def test_sampling_everything_gives_the_bits_of_awrtrd():
    _, x, _ = damaged()
    a = decompose(x, 3, solver=AWRTRD(smooth=0.0, sweeps=5, tol=0))
    b = decompose(x, 3, solver=SAWRTRD(smooth=0.0, sweeps=5, tol=0, samples=132))
    c = decompose(x, 3, solver=SAWRTRD(smooth=0.0, sweeps=5, tol=0, samples=10**6))
    assert bits(a.ring) == bits(b.ring) == bits(c.ring)


@pytest.mark.parametrize(
    "solver", [AWRTRD(smooth=0.0, sweeps=2, tol=0), SAWRTRD(smooth=0.0, samples=8000, sweeps=2, tol=0)]
)
@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_seed_gives_same_bits_on_any_thread_count(solver, dtype):
    shape, rank = (80, 70, 3, 48), (4, 3, 2, 3)
    plans = [core.plan for core in solver.plan(shape, rank, np.dtype(dtype)).cores]
    assert sum(len(plan.pieces) > 2 for plan in plans) >= 2  # the work is cut
    x = fast_dense(random_cores(shape, rank)) + 3.0
    x = np.clip(x * 8, 0, 255).astype(dtype)
    mask = np.random.default_rng(0).random(x.shape, np.float32) < 0.8
    fits = [decompose(x, rank, mask=mask, seed=7, solver=replace(solver, threads=threads)) for threads in (1, 2, 3)]
    assert len({bits(fit.ring) for fit in fits}) == 1
    other = decompose(x, rank, mask=mask, seed=8, solver=solver)
    assert bits(other.ring) != bits(fits[0].ring)


@pytest.mark.parametrize("factor", [4.0, 3.7, 1e-6, 1e200, -2.0])
def test_scaled_data_give_the_scaled_ring(factor):
    _, x, _ = damaged()
    plain = decompose(x, 3, solver=AWRTRD(smooth=0.0, sweeps=10, tol=0))
    scaled = decompose(factor * x, 3, solver=AWRTRD(smooth=0.0, sweeps=10, tol=0))
    assert relative(np.asarray(scaled.ring) / factor, np.asarray(plain.ring)) < 1e-6
    assert scaled.sigma == pytest.approx(abs(factor) * plain.sigma)


def test_outliers_are_found_and_the_truth_comes_back():
    truth, x, hit = damaged((20, 18, 16), (2, 3, 2))
    fit = decompose(x, (3, 3, 3), solver=AWRTRD(smooth=0.0, sweeps=200, tol=1e-6))
    least_squares = decompose(x, (3, 3, 3), solver=AWRTRD(smooth=0.0, sweeps=200, tol=1e-6, loss="l2"))
    assert relative(fit.ring, truth) < 0.05 < 0.3 < relative(least_squares.ring, truth)
    weights = fit.weights()
    far = np.abs(x - truth) > 10
    assert weights[far].max() < 0.2
    assert weights[~hit].min() > 0.8


@pytest.mark.parametrize("sampling", ["subtensor", "uniform-rows", "leverage-rows"])
@pytest.mark.parametrize("scaling", ["global", "local"])
def test_every_sampling_and_scaling_recovers_a_ring(sampling, scaling):
    truth, x, _ = damaged((20, 18, 16), (2, 2, 2), outliers=0.05)
    mask = np.random.default_rng(1).random(x.shape) < 0.8
    solver = SAWRTRD(smooth=0.0, samples=150, sweeps=60, tol=0, sampling=sampling, scaling=scaling)
    fit = decompose(x, 3, solver=solver, mask=mask)
    assert relative(fit.ring, truth) < 0.1
    assert not math.isnan(fit.history[-1].loss)


def test_gradient_descent_without_scaling_makes_progress():
    truth, x, _ = damaged()
    fit = decompose(x, 3, solver=SAWRTRD(smooth=0.0, samples=60, sweeps=30, tol=0, scaling="none"))
    assert relative(fit.ring, truth) < relative(np.full_like(truth, truth.mean()), truth)


@pytest.mark.parametrize("loss", ["correntropy", "cauchy", "huber"])
@pytest.mark.parametrize("sigma", ["iqr", "maxabs", 1.0])
def test_every_robust_loss_and_width_beats_least_squares(loss, sigma):
    truth, x, _ = damaged((16, 15, 14), (2, 2, 2))
    robust = decompose(x, 3, solver=AWRTRD(smooth=0.0, sweeps=60, loss=loss, sigma=sigma))
    plain = decompose(x, 3, solver=AWRTRD(smooth=0.0, sweeps=60, loss="l2"))
    assert relative(robust.ring, truth) < 0.6 * relative(plain.ring, truth)


def test_all_ways_to_say_missing_give_the_same_bits():
    _, x, _ = damaged()
    observed = np.random.default_rng(2).random(x.shape) < 0.7
    with_nan = np.where(observed, x, np.nan)
    solver = AWRTRD(smooth=0.0, sweeps=4, tol=0)
    fits = [
        decompose(with_nan, 3, solver=solver),
        decompose(x, 3, mask=observed, solver=solver),
        decompose(np.ma.array(x, mask=~observed), 3, solver=solver),
        decompose(np.ma.array(with_nan, mask=False), 3, mask=observed, solver=solver),
    ]
    assert len({bits(fit.ring) for fit in fits}) == 1


def test_what_is_missing_does_not_matter():
    _, x, _ = damaged()
    observed = np.random.default_rng(2).random(x.shape) < 0.7
    ruined = np.where(observed, x, 1e30)
    solver = AWRTRD(smooth=0.0, sweeps=4, tol=0)
    a, b = (decompose(data, 3, mask=observed, solver=solver) for data in (x, ruined))
    assert bits(a.ring) == bits(b.ring)


@pytest.mark.parametrize(
    "dtype",
    [np.uint8, np.int8, np.uint16, np.int32, np.uint64, np.float16, np.float32, np.float64, ">f4", ">f8", ">i2"],
)
def test_every_dtype_is_fitted_in_its_own_units(dtype):
    rng = np.random.default_rng(0)
    truth = 70 + 10 * np.add.outer(np.sin(np.arange(30)), np.cos(np.arange(25)))[:, :, None] * np.ones(6)
    x = truth.round().astype(dtype)
    x[rng.random(x.shape) < 0.05] = 0
    fit = decompose(x, (2, 3, 2), solver=AWRTRD(smooth=0.0, sweeps=60, tol=0))
    assert relative(fit.ring, truth) < 0.05
    assert fit.ring.dtype == (
        np.float64 if np.dtype(dtype).itemsize >= (8 if np.dtype(dtype).kind == "f" else 4) else np.float32
    )


def test_any_memory_layout_gives_the_same_bits():
    _, x, _ = damaged()
    padded = np.zeros((24, 11, 20))
    padded[::2, :, ::2] = x
    solver = SAWRTRD(smooth=0.0, samples=50, sweeps=3, tol=0)
    fits = [decompose(data, 3, solver=solver) for data in (x, np.asfortranarray(x), padded[::2, :, ::2])]
    assert len({bits(fit.ring) for fit in fits}) == 1


def test_inputs_are_never_changed():
    _, x, _ = damaged()
    x[0, 0, 0] = np.nan
    mask = np.random.default_rng(2).random(x.shape) < 0.7
    init = random_cores(x.shape, (3, 3, 3))
    copies = x.copy(), mask.copy(), [core.copy() for core in init]
    for array in (x, mask, *init):
        array.flags.writeable = False
    decompose(x, 3, mask=mask, init=init, solver=SAWRTRD(smooth=0.0, samples=50, sweeps=3))
    np.testing.assert_array_equal(x, copies[0])
    np.testing.assert_array_equal(mask, copies[1])
    for core, copy in zip(init, copies[2], strict=True):
        np.testing.assert_array_equal(core, copy)


@pytest.mark.parametrize(
    "solver", [AWRTRD(smooth=0.0, sweeps=1, threads=2), SAWRTRD(smooth=0.0, samples=2000, sweeps=2, threads=2)]
)
def test_no_float_copy_of_a_uint8_array_is_made(solver):
    x = np.random.default_rng(0).integers(0, 255, (400, 300, 3, 80), dtype=np.uint8)  # 29 MB, 115 MB as float32
    tracemalloc.start()
    decompose(x, (4, 4, 3, 4), solver=solver)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 70e6


def test_a_memory_budget_changes_no_bit_and_an_impossible_one_is_refused():
    _, x, _ = damaged((40, 30, 20), (3, 3, 3))
    plenty = decompose(x, 3, solver=AWRTRD(smooth=0.0, sweeps=2, memory="1GB"))
    plan = ringlet.plan(x.shape, 3, solver=AWRTRD(smooth=0.0, sweeps=30), dtype=x.dtype)
    weights = x.size * 8
    tight = decompose(x, 3, solver=AWRTRD(smooth=0.0, sweeps=2, memory=plan.memory - weights // 2))
    assert bits(plenty.ring) == bits(tight.ring)
    with pytest.raises(ringlet.errors.BudgetError, match="smallest possible budget is"):
        decompose(x, 3, solver=AWRTRD(smooth=0.0, sweeps=30, memory=1000))


def test_init_is_where_the_fit_starts():
    _, x, _ = damaged()
    first = decompose(x, 3, solver=AWRTRD(smooth=0.0, sweeps=40, tol=0))
    again = decompose(x, 3, solver=AWRTRD(smooth=0.0, sweeps=1), init=first.ring)
    assert relative(again.ring, np.asarray(first.ring)) < 0.05
    unbalanced = TensorRing([first.ring.cores[0] * 1e6, first.ring.cores[1] / 1e6, first.ring.cores[2]])
    same = decompose(x, 3, solver=AWRTRD(smooth=0.0, sweeps=1), init=unbalanced)
    assert relative(same.ring, np.asarray(again.ring)) < 1e-6


def test_complete_gives_the_dense_tensor():
    truth, x, _ = damaged()
    est = complete(x, solver=AWRTRD(smooth=0.0, sweeps=60), rank=3)
    np.testing.assert_array_equal(est.tensor, np.asarray(est.ring))
    assert relative(est.tensor, truth) < 0.2


def test_interrupt_returns_the_best_ring_so_far():
    _, x, _ = damaged((60, 50, 40), (3, 3, 3))
    seen = []

    def interrupt_in_the_next_sweep(state):
        seen.append(state.sweep)
        if state.sweep == 3:
            threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)).start()

    fit = decompose(x, 12, solver=AWRTRD(smooth=0.0, sweeps=10_000, tol=0), callback=interrupt_in_the_next_sweep)
    assert fit.status is ringlet.Status.INTERRUPTED
    assert 3 <= len(fit.history) < 10_000
    assert np.isfinite(np.asarray(fit.ring)).all()
    assert "init=" in str(fit.status)


def test_slices_with_few_known_entries_are_not_shrunk_to_nothing():
    rng = np.random.default_rng(0)
    slow, fast = 10 + np.sin(np.arange(400) / 30), 1 + 0.1 * np.cos(np.arange(50) / 9)
    x = np.multiply.outer(slow, fast)[:, :, None] * np.array([1, 1.1, 1.2])
    observed = np.ones(x.shape, bool)
    observed[100:300] = False
    for i in range(100, 300):
        observed[i].reshape(-1)[rng.permutation(150)[:10]] = True
    fit = decompose(x, 1, mask=observed, solver=AWRTRD(smooth=0.0, sweeps=60))
    assert np.median(np.abs(np.asarray(fit.ring) - x)[100:300].max(axis=(1, 2))) < 0.5
    assert np.nanmean(fit.weights(slice(100, 300))) > 0.9


def test_whole_numbers_far_from_zero_keep_their_digits():
    wave = np.add.outer(np.cos(np.arange(30) / 4), np.sin(np.arange(25) / 5))[:, :, None] + np.arange(4) / 9
    x = np.round(100 * wave + 1e9).astype(np.int64)
    fit = decompose(x, 4, solver=AWRTRD(smooth=0.0, sweeps=30))
    assert np.abs(np.asarray(fit.ring) - x).max() < 2


@pytest.mark.filterwarnings("ignore::ringlet.errors.DataWarning")
@pytest.mark.parametrize("solver", [SAWRTRD(smooth=0.0, samples=100, sweeps=6), AWRTRD(smooth=0.0, sweeps=6)])
def test_a_pilot_without_data_is_no_sign_of_convergence(solver):
    rng = np.random.default_rng(0)
    truth = np.add.outer(np.add.outer(np.arange(100.0), np.arange(100.0)), np.arange(100.0)) / 30
    x = np.full(truth.shape, np.nan)
    known = rng.permutation(truth.size)[:3]
    x.flat[known] = truth.flat[known]
    fit = decompose(x, 1, solver=solver, seed=3)
    for record in fit.history:
        assert record.loss != 0.0
        assert record.mean_weight != 0.0
    assert any(np.isnan(record.loss) for record in fit.history)
    assert fit.status.name != "CONVERGED"


def algorithm_of(x, rank, solver, mask=None):
    source = as_source(x, mask)
    return Algorithm.of(solver, Problem(source, first_look(source, None), rank, seed=3), Resources())


def frozen(state):
    """All numbers of a state, and which arrays hold them."""
    return [core.tobytes() for core in state.cores], state.penalties, state.sigma, state.narrowest


@pytest.mark.parametrize(
    "solver",
    [
        AWRTRD(sweeps=30, ridge=0.1, smooth=0.3, threads=1),
        SAWRTRD(smooth=0.0, sweeps=30, samples=40, threads=1),
        SAWRTRD(smooth=0.0, sweeps=30, samples=40, sampling="leverage-rows", scaling="local", threads=1),
    ],
)
def test_a_step_leaves_the_state_it_is_taken_from_untouched(solver):
    _, x, _ = damaged()
    mask = np.random.default_rng(0).random(x.shape) < 0.8
    algorithm = algorithm_of(x, (2, 3, 2), solver, mask)
    with closing(algorithm.engine):
        start = algorithm.init()
        state, _ = algorithm.sweep(start, 1)
        for core in state.cores:
            core.flags.writeable = False
        before, cores = frozen(state), state.cores
        swept = [algorithm.sweep(state, 2) for _ in range(2)]
        for k in range(3):
            grams = GramChain(state.cores)
            updates = [algorithm.update(state, grams, algorithm.look(state, grams, (2, k))) for _ in range(2)]
            assert frozen(updates[0][0]) == frozen(updates[1][0])
            assert updates[0][2].moved
            assert all(core is updates[0][0].cores[mode] for mode, core in enumerate(state.cores) if mode != k)
    assert state.cores is cores
    assert frozen(state) == before
    assert frozen(swept[0][0]) == frozen(swept[1][0]) != before  # the same step twice gives the same bits
    assert repr(swept[0][1]) == repr(swept[1][1])  # NaN equals itself there, in every Python


@pytest.mark.parametrize("scaling", ["global", "none"])
def test_updates_that_share_a_look_are_those_that_look_themselves(scaling, monkeypatch):
    _, x, _ = damaged()
    source = as_source(x)
    problem = Problem(source, first_look(source, None), (2, 2, 2), 0)
    algorithm = Algorithm.of(AWRTRD(scaling=scaling), problem, Resources())
    state = algorithm.init()
    other = replace(state, penalties=replace(state.penalties, ridge=0.3, smooth=(0.0, 0.5, 0.0)))
    grams = GramChain(state.cores)
    alone = [
        algorithm.update(given, grams, algorithm.look(given, grams, (1, 1)))[0].cores[1] for given in (state, other)
    ]
    pass_over, passes = algorithm.engine.pass_over, []
    monkeypatch.setattr(algorithm.engine, "pass_over", lambda *given: passes.append(given) or pass_over(*given))
    look = algorithm.look(state, grams, (1, 1))
    shared = [algorithm.update(given, grams, look, again=given is state)[0].cores[1] for given in (state, other)]
    assert [core.tobytes() for core in shared] == [core.tobytes() for core in alone]
    assert len(passes) == 1


def test_gram_matrices_are_rounded_only_where_a_ridge_outweighs_it():
    _, x, _ = damaged((8, 9, 7))
    cores = random_cores(x.shape, (32, 32, 2), dtype=np.float32)

    def of(solver, data):
        algorithm = algorithm_of(data.astype(np.float32), (2, 3, 2), solver)
        with closing(algorithm.engine):
            return algorithm.grams(replace(algorithm.init(), cores=tuple(cores))).without(1).dense()

    exact, rough = GramChain(cores).without(1).dense(), GramChain(cores, rough=True).without(1).dense()
    assert not np.array_equal(exact, rough)
    np.testing.assert_array_equal(of(SAWRTRD(smooth=0.0), x), rough)
    np.testing.assert_array_equal(of(SAWRTRD(smooth=0.0, ridge=0.1), x), rough)
    np.testing.assert_array_equal(of(SAWRTRD(smooth=0.0, ridge=0.0), x), exact)
    np.testing.assert_array_equal(of(SAWRTRD(smooth=0.0, solve="exact"), x), exact)
    np.testing.assert_array_equal(of(SAWRTRD.paper(), x), exact)
    np.testing.assert_array_equal(of(SAWRTRD(smooth=0.0), x + 1000.0), exact)  # what varies is a millionth of it


def test_gram_matrices_follow_a_ridge_that_is_tried_within_a_sweep():
    """A resumed fit computes them anew from the state: it has to find the same bits."""
    _, x, _ = damaged((8, 9, 7))
    cores = tuple(random_cores(x.shape, (32, 32, 2), dtype=np.float32))
    algorithm = algorithm_of(x.astype(np.float32), (2, 3, 2), SAWRTRD(smooth=0.0))
    with closing(algorithm.engine):
        state = algorithm.with_cores(algorithm.init(), cores)
        states = [replace(state, penalties=replace(state.penalties, ridge=ridge)) for ridge in (0.01, 0.0)]
        for given, tried in (states, states[::-1]):
            grams = algorithm.grams(given)
            moved, grams, report = algorithm.update(tried, grams, algorithm.look(given, grams, (1, 2)))
            assert report.moved
            expected = algorithm.grams(moved)
            assert grams.rough == expected.rough
            np.testing.assert_array_equal(grams.unfolding_gram(2), expected.unfolding_gram(2))


def test_a_state_is_immutable():
    _, x, _ = damaged()
    algorithm = algorithm_of(x, (2, 3, 2), AWRTRD(smooth=0.0, sweeps=30))
    state = algorithm.init()
    for field in fields(state):
        with pytest.raises(FrozenInstanceError):
            setattr(state, field.name, None)
