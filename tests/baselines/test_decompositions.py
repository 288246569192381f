"""What all five decomposition baselines promise: bits, dtypes, histories, callbacks, plans, and clear refusals."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import ringlet
from oracles import fast_dense, random_cores
from ringlet import Status, TensorRing, complete, decompose
from ringlet.baselines import TRALS, TRSVD, RandomizedTRALS, RandomizedTRSVD, SampledTRALS
from ringlet.baselines.unfolding import unfold_source
from ringlet.errors import ArgumentError, ArgumentTypeError, BudgetError, DataWarning
from ringlet.solvers.engine.core_plan import plan_core
from ringlet.sources import ArraySource

SHAPE, RANK = (24, 20, 16), (3, 3, 3)
X = fast_dense(random_cores(SHAPE, RANK)) + 5.0
X = X + 0.1 * np.random.default_rng(0).standard_normal(SHAPE)
ITERATIVE = [
    TRALS(sweeps=4, tol=0),
    RandomizedTRALS(sweeps=4, tol=0, sketch=12),
    SampledTRALS(sweeps=4, tol=0),
    SampledTRALS(sweeps=4, tol=0, sampling="exact-leverage"),
    SampledTRALS(sweeps=4, tol=0, sampling="uniform"),
]
ONE_PASS = [TRSVD(), RandomizedTRSVD()]
ALL = [*ITERATIVE, *ONE_PASS]


def name(solver):
    return type(solver).__name__ + getattr(solver, "sampling", "")


def bits(ring):
    return b"".join(core.tobytes() for core in ring.cores)


# Data that are cut: into blocks of slices and, for the short mode, into tiles of columns; or into blocks of columns.
THIN, CUBIC = (620, 440, 4), (150, 128, 64)
CUT = [
    *[(replace(solver, sweeps=2, samples=3000), THIN) for solver in ITERATIVE if isinstance(solver, SampledTRALS)],
    (TRALS(sweeps=2, tol=0), THIN),
    (RandomizedTRALS(sweeps=2, tol=0, sketch=40), CUBIC),
    *[(solver, CUBIC) for solver in ONE_PASS],
]


@pytest.mark.parametrize(("solver", "shape"), CUT, ids=[name(solver) for solver, _ in CUT])
def test_seed_gives_the_same_bits_on_any_number_of_threads(solver, shape, pieces_of_work):
    rank = (2, 16, 16)  # wide enough in one core that also its Gram matrix is filled in pieces
    x = np.random.default_rng(1).standard_normal(shape)
    found = set()
    for count in (1, 2, 3, None):
        pieces_of_work.clear()
        found.add(bits(decompose(x, rank, solver=replace(solver, threads=count), seed=7).ring))
        assert max(pieces_of_work) > 1
    assert len(found) == 1


def test_the_data_of_the_test_of_threads_are_tiled_and_cut_into_blocks():
    plans = [plan_core(THIN, (2, 16, 16), mode) for mode in range(3)]
    assert [plan.tiles > 1 for plan in plans] == [False, False, True]
    assert [plan.slices > plan.block for plan in plans] == [True, True, False]
    assert len(unfold_source(ArraySource(np.empty(CUBIC, "u1")), 0, 1.0, np.dtype("f8")).blocks) > 1


@pytest.mark.parametrize("solver", ITERATIVE, ids=name)
def test_another_seed_gives_another_start(solver):
    assert bits(decompose(X, RANK, solver=solver, seed=1).ring) != bits(decompose(X, RANK, solver=solver, seed=2).ring)


@pytest.mark.parametrize("solver", ALL, ids=name)
@pytest.mark.parametrize("dtype", ["u1", "i4", "f4", "f8"])
def test_every_dtype_is_fitted_in_its_working_precision(solver, dtype):
    x = np.clip(10 * X + 50, 0, 255).astype(dtype)
    before = x.copy()
    fit = decompose(x, RANK, solver=solver)
    assert fit.ring.dtype == (np.float64 if dtype in ("i4", "f8") else np.float32)
    double = decompose(x, RANK, solver=replace(solver, dtype="f8"))
    ours, theirs = (np.linalg.norm(np.asarray(other.ring) - x.astype(float)) for other in (fit, double))
    assert ours < 1.02 * theirs
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("solver", ALL, ids=name)
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_results_follow_the_units_of_the_data(solver, scale):
    plain, scaled = decompose(X, RANK, solver=solver), decompose(X * scale, RANK, solver=solver)
    np.testing.assert_allclose(np.asarray(scaled.ring) / scale, np.asarray(plain.ring), rtol=1e-4, atol=1e-3)
    assert scaled.history[-1].loss == pytest.approx(plain.history[-1].loss * scale**2, rel=1e-3)


@pytest.mark.parametrize("solver", ITERATIVE, ids=name)
def test_histories_callbacks_and_statuses(solver):
    seen = []
    fit = decompose(X, RANK, solver=solver, callback=lambda state: seen.append((state.sweep, state.ring)))
    assert fit.status is Status.SWEEPS_USED
    assert [record.sweep for record in fit.history] == [1, 2, 3, 4] == [sweep for sweep, _ in seen]
    assert bits(seen[-1][1]) == bits(fit.ring)
    assert all(isinstance(ring, TensorRing) and ring.shape == SHAPE for _, ring in seen)
    assert all(record.sigma == np.inf and record.mean_weight == 1.0 for record in fit.history)
    assert fit.weights((0, 0)).tolist() == [1.0] * SHAPE[2]
    stopped = decompose(X, RANK, solver=solver, callback=lambda state: state.sweep == 2)
    assert stopped.status is Status.STOPPED
    assert len(stopped.history) == 2
    loose = decompose(X, RANK, solver=replace(solver, tol=10.0, sweeps=20))
    assert loose.status is Status.CONVERGED


@pytest.mark.parametrize("solver", ONE_PASS, ids=name)
def test_one_pass_is_enough(solver):
    fit = decompose(X, RANK, solver=solver, callback=lambda state: state.ring.shape == SHAPE and None)
    assert fit.status is Status.DONE
    assert len(fit.history) == 1


@pytest.mark.parametrize("solver", ALL, ids=name)
def test_interruption_leaves_a_ring(solver):
    def interrupt(state):
        raise KeyboardInterrupt

    fit = decompose(X, RANK, solver=solver, callback=interrupt)
    assert fit.status is Status.INTERRUPTED
    assert fit.ring.shape == SHAPE


def test_an_interrupted_first_pass_leaves_zeros(monkeypatch):
    def interrupt(self, *_):
        raise KeyboardInterrupt

    monkeypatch.setattr(TRSVD, "truncate", interrupt)
    fit = decompose(X, RANK, solver=TRSVD())
    assert fit.status is Status.INTERRUPTED
    assert fit.ring.norm() == 0.0


@pytest.mark.parametrize("solver", ALL, ids=name)
def test_complete_gives_the_dense_tensor_and_the_ring(solver, capsys):
    est = complete(X, solver=solver, rank=RANK, progress=True)
    np.testing.assert_array_equal(est.tensor, np.asarray(est.ring))
    assert est.tensor.shape == SHAPE


@pytest.mark.parametrize("solver", ALL, ids=name)
@pytest.mark.parametrize("order", [2, 4])
def test_matrices_and_higher_orders_work(solver, order):
    shape = (24, 20, 6, 5)[:order]
    x = fast_dense(random_cores(shape, (2,) * order, seed=3))
    fit = decompose(x, 2, solver=replace(solver, sweeps=40) if solver in ITERATIVE else solver)
    assert fit.ring.shape == shape
    if order == 2:  # rank-2 bonds carry a matrix of rank 4
        assert np.linalg.norm(np.asarray(fit.ring) - x) < 0.6 * np.linalg.norm(x)


@pytest.mark.parametrize("solver", ALL, ids=name)
def test_missing_data_are_refused(solver):
    mask = np.ones(SHAPE, bool)
    assert np.isfinite(decompose(X, RANK, solver=solver, mask=mask).ring.norm())  # nothing is missing
    mask[1, 2, 3] = False
    with pytest.raises(ArgumentError, match=rf"solver={type(solver).__name__}\(\) needs complete data, but 1 entries"):
        decompose(X, RANK, solver=solver, mask=mask)
    holed = X.copy()
    holed[0, 0, 0] = np.nan
    with pytest.raises(ArgumentError, match="needs complete data"):
        complete(holed, rank=RANK, solver=solver)


@pytest.mark.parametrize("solver", ONE_PASS, ids=name)
def test_methods_that_start_by_themselves_take_no_init(solver):
    with pytest.raises(ArgumentError, match="init is not allowed"):
        decompose(X, RANK, solver=solver, init=random_cores(SHAPE, RANK))


@pytest.mark.parametrize("solver", ITERATIVE, ids=name)
def test_init_must_fit(solver):
    with pytest.raises(ArgumentError, match="init has shape"):
        decompose(X, RANK, solver=solver, init=random_cores(SHAPE, (2, 3, 3)))


@pytest.mark.parametrize("solver", ALL, ids=name)
def test_a_budget_that_is_too_small_is_refused_with_what_is_needed(solver):
    cost = ringlet.plan(SHAPE, RANK, solver=solver, dtype="f8")
    assert cost.operations > 0
    assert type(solver).__name__ in str(cost) or "sweep" in str(cost)
    roomy = replace(solver, memory=cost.memory)
    assert decompose(X, RANK, solver=roomy).ring.shape == SHAPE
    with pytest.raises(BudgetError, match=r"memory=1 kB.*|.*more than memory=1 kB"):
        decompose(X, RANK, solver=replace(solver, memory="1kB"))


@pytest.mark.parametrize("solver", ALL, ids=name)
def test_working_memory_stays_within_the_plan(solver):
    shape, rank = (120, 100, 40), (5, 5, 5)
    x = np.random.default_rng(0).standard_normal(shape).astype("f4")
    solver = replace(solver, threads=1)
    planned = ringlet.plan(shape, rank, solver=solver, dtype=x.dtype).memory
    decompose(x[:10, :10, :10], 2, solver=solver)  # modules are imported, caches filled
    tracemalloc.start()
    try:
        decompose(x, rank, solver=solver)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.3 * planned + 2_000_000  # the survey of the data, and small things


@pytest.mark.parametrize("solver", [RandomizedTRSVD(power=0), RandomizedTRSVD(oversampling=11)])
def test_the_plan_of_a_sketch_counts_what_it_projects(solver):
    shape, solver = (14, 20, 9000), replace(solver, threads=1)
    data = np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8)
    decompose(data[:, :, :9], (1, 2, 2), solver=solver)  # what is imported or set up once does not count
    tracemalloc.start()
    decompose(data, (1, 2, 2), solver=solver)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    said = ringlet.plan(shape, (1, 2, 2), solver=solver, dtype="u1").memory
    assert said / 3 < peak < said


def test_numbers_that_the_precision_cannot_hold_are_refused():
    for solver in ALL:
        with pytest.raises(ArgumentError, match="float32 cannot work with"):
            decompose(X * 1e-60, RANK, solver=replace(solver, dtype="f4"))


def test_sampled_trals_does_not_stop_by_chance_before_it_has_averaged():
    x = np.fromfunction(lambda i, j, k: np.cos(i / 9 + j / 7 + k), (30, 25, 20))
    x = x + 0.3 * np.random.default_rng(1).standard_normal(x.shape)

    def error(solver, seed):
        ring = ringlet.decompose(x, 3, solver=solver, seed=seed).ring
        return np.linalg.norm(np.asarray(ring) - x) / np.linalg.norm(x)

    best = error(TRALS(), 0)
    assert max(error(SampledTRALS(), seed) for seed in range(6)) < 1.05 * best


@pytest.mark.parametrize("solver", ALL, ids=lambda solver: type(solver).__name__)
def test_plans_of_tiny_data_stay_small(solver):
    assert ringlet.plan((6, 5, 4), 2, solver=solver, dtype="f4").memory < 64_000


@pytest.mark.parametrize("sketch", [2, (9, 2, 9)])
def test_a_sketch_must_leave_as_many_slices_as_the_ranks_beside_it(sketch):
    with pytest.raises(ArgumentError, match=r"sketch=.* leaves 2 slices of mode [01].*at least 3"):
        ringlet.plan(SHAPE, RANK, solver=RandomizedTRALS(sketch=sketch))
    shorter = RandomizedTRALS(sketch=3)  # the last mode has only two slices, and is left whole
    assert shorter.sketch_sizes((24, 20, 2), RANK) == (3, 3, 2)


def test_sketches_may_be_arrays():
    assert RandomizedTRALS(sketch=np.array(3)) == RandomizedTRALS(sketch=3)
    assert RandomizedTRALS(sketch=np.array([4, 5, 6])) == RandomizedTRALS(sketch=(4, 5, 6))
    for wrong in (np.array(2.5), np.array([[4, 5, 6]]), "abc"):
        with pytest.raises(ArgumentTypeError, match="sketch"):
            RandomizedTRALS(sketch=wrong)


def test_few_samples_for_many_unknowns_are_warned_of():
    with pytest.warns(DataWarning, match=r"samples=10 .*9 unknowns.*samples=45"):
        decompose(X, RANK, solver=SampledTRALS(samples=10, sweeps=1))
    decompose(X, RANK, solver=SampledTRALS(samples=18, sweeps=1))  # a warning would be an error here


def test_a_sampling_method_is_not_told_to_sample():
    with pytest.raises(BudgetError, match="smaller rank or fewer samples"):
        ringlet.plan(SHAPE, RANK, solver=SampledTRALS(memory="1kB"))


@pytest.mark.parametrize("kind", [TRALS, SampledTRALS])
def test_many_modes_do_not_overflow_single_precision(kind):
    x = (np.sin(np.linspace(0, 20, 2**18)) + 2).astype("f4").reshape((2,) * 18)
    ring = decompose(x, 9, solver=kind(sweeps=1, tol=0)).ring
    assert np.linalg.norm(np.asarray(ring) - x) < 0.5 * np.linalg.norm(x)
