"""What all five completion methods promise: scale, precision, threads, gaps, callbacks, interruption, refusals."""

import tracemalloc
from dataclasses import replace
from math import prod

import numpy as np
import pytest

import ringlet
from oracles import dense, random_cores
from ringlet import complete, decompose
from ringlet.baselines import L1SNN, L1TNN, L1TRNN, TNTV, LpTRC, observed
from ringlet.errors import ArgumentError, ArgumentTypeError, BudgetError, DataWarning
from ringlet.results.records import Status

DENSE = [L1SNN(sweeps=12), L1TNN(sweeps=12), L1TRNN(sweeps=12), TNTV(sweeps=12)]
ALL = [*DENSE, LpTRC(sweeps=4)]
SHAPE = (14, 12, 9)


def name(solver):
    return type(solver).__name__


@pytest.fixture(params=ALL, ids=name)
def solver(request):
    return request.param


@pytest.fixture(params=DENSE, ids=name)
def dense_solver(request):
    return request.param


def picture(seed=0):
    """Positive data with outliers, and a mask."""
    rng = np.random.default_rng(seed)
    clean = 4 + dense(random_cores(SHAPE, (2, 2, 2), seed))
    data = np.where(rng.random(SHAPE) < 0.1, rng.uniform(-5, 12, SHAPE), clean)
    return data, rng.random(SHAPE) < 0.7


def run(data, solver, **arguments):
    return complete(data, solver=solver, rank=2 if solver.fits_ring else None, **arguments)


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.long)])
def test_seed_gives_same_bits_on_any_number_of_threads(solver, pieces_of_work, dtype):
    """With data large enough that every job over entries is cut, unfoldings and slices included."""
    shape = (8, 130, 150) if solver.fits_ring else (30, 18_000, 2)
    solver = replace(solver, sweeps=2)
    rng = np.random.default_rng(0)
    data, mask = 4 + rng.standard_normal(shape), rng.random(shape) < 0.7
    bits = set()
    for count in (1, 2, 3):
        pieces_of_work.clear()
        bits.add(run(data.astype(dtype), replace(solver, threads=count), mask=mask).tensor.tobytes())
        assert min(pieces_of_work) > 1
    assert len(bits) == 1


def test_cutting_into_blocks_changes_nothing(solver, monkeypatch, pieces_of_work):
    """The blocks of rows and of subchains; those of unfoldings and slices: test_iterations, with large data."""
    data, mask = picture()
    whole = run(data, solver, mask=mask).tensor
    before = max(pieces_of_work)
    monkeypatch.setattr(observed, "BLOCK_ENTRIES", 1)
    monkeypatch.setattr("ringlet.baselines.subchain.HELD_NUMBERS", 1)
    monkeypatch.setattr("ringlet.baselines.subchain.PIECE_NUMBERS", 1)
    np.testing.assert_allclose(run(data, solver, mask=mask).tensor, whole, rtol=1e-6, atol=1e-6)
    assert max(pieces_of_work) > before


@pytest.mark.parametrize("factor", [1e-12, 255.0, 1e15])
def test_scaled_data_give_the_scaled_estimate(solver, factor):
    data, mask = picture()
    plain = run(data, solver, mask=mask).tensor
    np.testing.assert_allclose(run(factor * data, solver, mask=mask).tensor / factor, plain, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("factor", [0.01, 100.0])
@pytest.mark.parametrize(
    ("solver", "units"),
    [
        (L1SNN(penalty=0.2, sweeps=10), {"penalty": -1}),
        (L1TNN(penalty=0.2, sweeps=10), {"penalty": -1}),
        (L1TRNN(penalty=0.02, sweeps=10), {"penalty": -1}),
        (TNTV(penalty=0.2, noise_weight=10.0, sweeps=10), {"penalty": -1, "noise_weight": -1}),
        (LpTRC(epsilon=0.1, sweeps=2), {"epsilon": 1}),
        (LpTRC(p=0.5, method="admm", penalty=3.0, epsilon=0.1, sweeps=1), {"epsilon": 1, "penalty": -1.5}),
    ],
)
def test_given_parameters_are_in_the_units_of_the_data(solver, units, factor):
    data, mask = picture()
    scaled = replace(solver, **{field: getattr(solver, field) * factor**power for field, power in units.items()})
    plain = run(data, solver, mask=mask).tensor
    np.testing.assert_allclose(run(factor * data, scaled, mask=mask).tensor / factor, plain, rtol=1e-6, atol=1e-6)


def test_integers_are_completed_in_single_precision_and_their_own_units(solver):
    data, mask = picture()
    bytes_ = np.clip(20 * data, 0, 255).astype(np.uint8)
    solver = replace(solver, sweeps=40)
    single = run(bytes_, solver, mask=mask).tensor
    double = run(bytes_, replace(solver, dtype="float64"), mask=mask).tensor
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(single, double, atol=0.2)
    assert 60 < np.median(single) < 100


def test_missing_may_be_nan_or_a_mask_and_input_stays_as_it_is(solver):
    data, mask = picture()
    gaps = np.where(mask, data, np.nan)
    before = gaps.copy()
    by_nan = run(gaps, solver).tensor
    np.testing.assert_array_equal(gaps, before)
    np.testing.assert_array_equal(by_nan, run(data, solver, mask=mask).tensor)
    np.testing.assert_array_equal(by_nan, run(np.ma.masked_array(data, ~mask), solver).tensor)
    assert np.isfinite(by_nan).all()


def test_slices_without_data_are_filled_from_their_neighbours(solver):
    data, mask = picture()
    mask[5], mask[:, :, 0] = False, False
    with pytest.warns(DataWarning, match="filled from their neighbours"):
        tensor = run(data, solver, mask=mask).tensor
    np.testing.assert_allclose(tensor[5], (tensor[4] + tensor[6]) / 2, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(tensor[:, :, 0], tensor[:, :, 1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(6, 1, 4), (1, 5, 3), (7, 6, 1), (2, 2, 2), (5, 4, 3, 2), (3, 2, 2, 2, 2)])
def test_any_shape_of_order_three_or_more_is_completed(solver, shape):
    data = 1 + np.random.default_rng(1).random(shape)
    tensor = run(data, solver).tensor
    assert tensor.shape == shape
    assert np.isfinite(tensor).all()


@pytest.mark.parametrize("value", [0.0, 7.0])
def test_constant_data_come_back(solver, value):
    solver = replace(solver, sweeps=100)
    tensor = run(np.full((6, 5, 4), value), solver).tensor
    np.testing.assert_allclose(tensor, value, atol=0.05 * value + 1e-100)


def test_history_tells_of_every_sweep_and_a_callback_can_stop(solver):
    data, mask = picture()
    seen = []

    def look(state):
        seen.append((state.sweep, state.ring is not None, state.tensor))
        return state.sweep == 3

    estimate = run(data, solver, mask=mask, callback=look)
    assert estimate.status is Status.STOPPED
    assert [record.sweep for record in estimate.history] == [1, 2, 3]
    assert [(sweep, ring) for sweep, ring, _ in seen] == [(sweep, solver.fits_ring) for sweep in (1, 2, 3)]
    assert all(record.loss > 0 and record.seconds > 0 for record in estimate.history)
    np.testing.assert_array_equal(estimate.tensor, seen[-1][2])
    assert (estimate.ring is not None) == solver.fits_ring


def test_a_snapshot_stays_as_it_was(solver):
    data, mask = picture()
    states, tensors = [], []

    def keep(state):
        states.append(state)
        tensors.append(state.tensor)

    run(data, solver, mask=mask, callback=keep)
    assert len(states) == solver.sweeps
    assert np.abs(tensors[-1] - tensors[0]).max() > 0  # there was something to overwrite
    for state, tensor in zip(states, tensors, strict=True):
        np.testing.assert_array_equal(state.tensor, tensor)


def test_loss_is_half_the_mean_squared_residual_in_the_units_of_the_data(dense_solver):
    data, mask = picture()
    estimate = run(data, dense_solver, mask=mask)
    residuals = (data - estimate.tensor)[mask]
    assert estimate.history[-1].loss == pytest.approx(np.mean(residuals**2) / 2, rel=1e-6)


@pytest.mark.parametrize(
    ("solver", "place"),
    [
        (L1SNN(), "l1snn.shrink"),
        (L1SNN(), "l1snn.soft"),
        (L1TNN(), "l1tnn.soft"),
        (L1TNN(), "tubal.shrink"),
        (L1TRNN(), "l1trnn.shrink"),
        (L1TRNN(), "l1trnn.soft"),
        (TNTV(), "tntv.soft"),
        (TNTV(), "tntv.smooth"),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_interrupted_sweep_leaves_the_model_of_the_last_finished_one(solver, place, threads, monkeypatch):
    monkeypatch.setattr(observed, "BLOCK_ENTRIES", 300)
    module = getattr(ringlet.baselines, place.split(".")[0])
    function = getattr(module, place.split(".")[1])
    data, mask = picture()
    finished = []
    calls = 0

    def interrupt(*arguments):
        nonlocal calls
        calls += len(finished) == 3
        if calls == 3 or (calls and place == "tntv.smooth"):
            raise KeyboardInterrupt
        return function(*arguments)

    monkeypatch.setattr(module, place.split(".")[1], interrupt)
    solver = replace(solver, threads=threads)
    estimate = run(data, solver, mask=mask, callback=lambda state: finished.append(state.tensor))
    assert estimate.status is Status.INTERRUPTED
    assert len(estimate.history) == len(finished) == 3
    np.testing.assert_array_equal(estimate.tensor, finished[-1])


def test_nothing_stops_while_the_estimate_is_still_zero():
    data, mask = picture()
    for solver in (L1TNN(penalty=1e-5, sweeps=12, tol=0.1), L1TRNN(penalty=1e-5, sweeps=12, tol=0.1)):
        assert run(data, solver, mask=mask).status is Status.SWEEPS_USED


def test_seed_matters_only_where_the_start_is_random():
    data, mask = picture()
    for solver in DENSE:
        first, second = (run(data, solver, mask=mask, seed=seed).tensor for seed in (0, 1))
        np.testing.assert_array_equal(first, second)
    first, second = (run(data, LpTRC(sweeps=1), mask=mask, seed=seed).tensor for seed in (0, 1))
    assert np.abs(first - second).max() > 0


@pytest.mark.parametrize("solver", [L1TNN(), L1SNN(), L1TRNN()], ids=name)
def test_matrices_are_completed(solver):
    data = np.add.outer(np.arange(20.0), np.arange(16.0))
    data[3, 4] = 500.0
    tensor = complete(data, solver=solver).tensor
    assert abs(tensor[3, 4] - 7.0) < 2.0


class TestRefusals:
    X = np.ones((4, 5, 3))

    def test_ranks_are_refused_by_methods_without_them(self, dense_solver):
        with pytest.raises(ArgumentError, match=f"rank=3 is not allowed with {name(dense_solver)}"):
            complete(self.X, solver=dense_solver, rank=3)

    def test_a_start_is_refused_by_methods_that_start_by_themselves(self, dense_solver):
        with pytest.raises(ArgumentError, match="init is not allowed"):
            complete(self.X, solver=dense_solver, init=random_cores((4, 5, 3), (1, 1, 1)))

    def test_methods_without_a_ring_do_not_decompose(self, dense_solver):
        with pytest.raises(ArgumentError, match="gives no ring"):
            decompose(self.X, None, solver=dense_solver)

    def test_lptrc_needs_a_rank(self):
        with pytest.raises(ArgumentError, match="rank=None"):
            complete(self.X, solver=LpTRC())

    def test_tntv_needs_three_modes(self):
        with pytest.raises(ArgumentError, match=r"order 3 or more.*L1TNN"):
            complete(np.ones((4, 5)), solver=TNTV())

    def test_more_unfoldings_than_differ(self):
        with pytest.raises(ArgumentError, match="only 2 differ"):
            complete(np.ones((2, 3, 4, 5)), solver=L1TRNN(unfoldings=3))

    @pytest.mark.parametrize(
        ("kind", "parameters", "error"),
        [
            (L1TNN, {"outlier_weight": 0}, ArgumentError),
            (L1SNN, {"penalty": -1}, ArgumentError),
            (L1SNN, {"penalty": "1"}, ArgumentTypeError),
            (L1TRNN, {"growth": 0.9}, ArgumentError),
            (L1TRNN, {"unfoldings": 0}, ArgumentError),
            (L1TRNN, {"unfoldings": 1.5}, ArgumentTypeError),
            (TNTV, {"tv_weight": -0.1}, ArgumentError),
            (TNTV, {"noise_weight": 0}, ArgumentError),
            (TNTV, {"sweeps": 0}, ArgumentError),
            (LpTRC, {"p": 0}, ArgumentError),
            (LpTRC, {"p": 1.5}, ArgumentError),
            (LpTRC, {"epsilon": 0}, ArgumentError),
            (LpTRC, {"ridge": "none"}, ArgumentError),
            (LpTRC, {"ridge": -1}, ArgumentError),
            (LpTRC, {"method": "newton"}, ArgumentError),
            (LpTRC, {"steps": 0}, ArgumentError),
            (LpTRC, {"penalty": 0}, ArgumentError),
            (LpTRC, {"tol": -1}, ArgumentError),
        ],
    )
    def test_parameters_that_make_no_sense(self, kind, parameters, error):
        with pytest.raises(error, match=next(iter(parameters))):
            kind(**parameters)


class TestPlan:
    SHAPE = (160, 150, 20)

    @staticmethod
    def peak(data, solver):
        tracemalloc.start()
        complete(data, solver=solver, rank=5 if solver.fits_ring else None)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    @pytest.mark.parametrize(
        "solver",
        [
            L1SNN(sweeps=2),
            L1TNN(sweeps=2),
            L1TRNN(sweeps=2),
            TNTV(sweeps=2),
            LpTRC(sweeps=1, ridge=0.1),
            LpTRC(sweeps=1, method="admm", steps=2),
        ],
        ids=name,
    )
    def test_memory_is_what_the_plan_says(self, solver):
        solver = replace(solver, threads=2)
        data = np.random.default_rng(0).integers(0, 255, self.SHAPE).astype(np.uint8)
        said = ringlet.plan(self.SHAPE, 5 if solver.fits_ring else None, solver=solver).memory
        assert said / 3 < self.peak(data, solver) < said

    @pytest.mark.parametrize("shape", [(25, 25, 600), (4, 5, 3000)])
    def test_memory_for_long_tubes_counts_their_transform(self, shape):
        solver = TNTV(sweeps=2, threads=1)
        data = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        said = ringlet.plan(shape, solver=solver, dtype="f4").memory
        assert said / 3 < self.peak(data, solver) < said

    @pytest.mark.parametrize(
        ("solver", "tensors"),
        [(L1TNN(), 5.5), (L1TRNN(), 7.5), (L1TRNN(unfoldings=1), 5.5), (L1SNN(), 8), (TNTV(), 15)],
    )
    def test_large_tensors_need_the_arrays_of_the_specification(self, solver, tensors):
        shape = (480, 854, 3, 200)
        cost = ringlet.plan(shape, solver=replace(solver, threads=2))
        assert cost.memory < tensors * 4 * prod(shape)
        assert cost.operations > 0

    def test_too_small_a_budget_is_refused_in_advance_saying_what_is_needed(self, solver):
        lean = replace(solver, memory="1MB")
        with pytest.raises(BudgetError, match=f"{name(solver)} on shape .* needs .*B of memory.*memory=1 MB"):
            ringlet.plan((200, 300, 30), 5 if solver.fits_ring else None, solver=lean)
        with pytest.raises(BudgetError, match="needs"):
            run(np.zeros((200, 100, 9), np.uint8), lean)

    def test_what_no_machine_has_is_refused(self, solver):
        huge = np.broadcast_to(np.uint8(1), (40_000, 30_000, 100))
        problem = ringlet.solvers.base.Problem(
            ringlet.sources.ArraySource(huge),
            ringlet.sources.Survey(0.0, 1.0, [np.full(length, huge.size // length) for length in huge.shape]),
            (80, 80, 80) if solver.fits_ring else (),
            0,
        )
        refused = replace(solver, method="admm") if isinstance(solver, LpTRC) else solver
        with pytest.raises(BudgetError, match="of this machine"), refused.start(problem):
            pass

    def test_enough_memory_is_enough(self, solver):
        data, mask = picture()
        said = ringlet.plan(SHAPE, 2 if solver.fits_ring else None, solver=solver, dtype=np.float64).memory
        assert run(data, replace(solver, memory=said), mask=mask).tensor.shape == SHAPE

    def test_plans_of_tiny_data_stay_small(self, solver):
        assert ringlet.plan((6, 5, 4), 2 if solver.fits_ring else None, solver=solver, dtype="f4").memory < 64_000

    def test_plans_print(self, solver):
        text = str(ringlet.plan(SHAPE, 2 if solver.fits_ring else None, solver=solver))
        assert text.startswith(f"{name(solver)} on shape (14, 12, 9):")


def test_an_infinite_outlier_weight_only_means_that_there_are_no_outliers(dense_solver):
    i, j, k = np.ogrid[:20, :18, :3]
    x = np.sin(i / 4) * np.cos(j / 5) + 0.1 * k + 2.0
    mask = np.random.default_rng(0).random(x.shape) < 0.9
    tensor = complete(x, solver=replace(dense_solver, outlier_weight=np.inf, sweeps=100), mask=mask).tensor
    assert np.linalg.norm(tensor - x) < 0.2 * np.linalg.norm(x - x.mean())


def test_l1trnn_settles_on_clean_data_without_any_outlier():
    x = np.add.outer(np.add.outer(np.arange(12.0), np.arange(10.0)), np.arange(8.0))
    fit = complete(x, solver=L1TRNN(tol=1e-4))
    assert fit.status is Status.CONVERGED
    assert np.linalg.norm(fit.tensor - x) < 1e-4 * np.linalg.norm(x)


@pytest.mark.parametrize("field", ["penalty", "growth"])
def test_infinite_parameters_are_refused(field):
    with pytest.raises(ArgumentError, match=f"{field}=inf"):
        L1TRNN(**{field: float("inf")})
