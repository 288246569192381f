"""Conjugate gradients on sums of Kronecker products, against NumPy's dense solver."""

import numpy as np
import pytest

from oracles import random_cores
from ringlet import SAWRTRD, decompose
from ringlet.execution import Threads
from ringlet.ring import GramChain
from ringlet.ring.gram import KroneckerSum
from ringlet.solvers.engine.kronecker_solve import conjugate_solve
from ringlet.solvers.engine.smoothness import laplacian, smooth_solve
from ringlet.solvers.engine.solve_plan import SolvePlan

SHAPE, RANK = (30, 25, 3, 8), (6, 7, 2, 5)
UNKNOWNS = 6 * 7


def gram_of_ring(factor=1.0):
    cores = random_cores(SHAPE, RANK, dtype=np.float64)
    found = GramChain(cores).without(0)
    return KroneckerSum(found.left * factor, found.right)


def right_hand_sides(count=SHAPE[0]):
    return np.random.default_rng(1).standard_normal((count, UNKNOWNS))


def dense_solution(gram, shifts, rows):
    matrix, identity = gram.dense(), np.eye(gram.size)
    shifts = np.broadcast_to(shifts, len(rows))
    return np.stack([np.linalg.solve(matrix + shift * identity, row) for shift, row in zip(shifts, rows, strict=True)])


def lost(found, expected, rows):
    """What a direction gains less than the solution does, ``<d, h>`` over its largest value."""
    return 1.0 - np.vdot(rows, found) / np.vdot(rows, expected)


@pytest.mark.parametrize("relative", [0.1, 0.01, "each row its own"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_solution_is_close_to_that_of_a_dense_solver(relative, dtype):
    gram, rows = gram_of_ring(), right_hand_sides().astype(dtype)
    level = gram.trace() / gram.size
    shifts = level * (np.geomspace(0.01, 10.0, len(rows)) if isinstance(relative, str) else relative)
    found, expected = conjugate_solve(gram, shifts, rows), dense_solution(gram, shifts, rows)
    assert found.dtype == rows.dtype
    assert abs(lost(found, expected, rows)) < 0.03
    np.testing.assert_allclose(found, expected, atol=0.2 * np.abs(expected).max())


def test_one_kronecker_product_is_solved_in_one_step():
    rng = np.random.default_rng(0)
    factors = [rng.standard_normal((2 * size, size)) for size in (6, 7)]
    gram, rows = KroneckerSum(*[(factor.T @ factor)[np.newaxis] for factor in factors]), right_hand_sides()
    np.testing.assert_allclose(conjugate_solve(gram, 0.5, rows), dense_solution(gram, 0.5, rows), atol=1e-8)


def test_singular_gram_gives_a_descent_direction():
    left = np.zeros((1, 6, 6))
    left[0, 0, 0] = 1.0
    gram = KroneckerSum(left, np.eye(7)[np.newaxis])
    rows = right_hand_sides()
    found = conjugate_solve(gram, 0.0, rows)
    assert np.isfinite(found).all()
    assert (np.sum(found * rows, axis=1) > 0).all()


@pytest.mark.parametrize("factor", [1e-30, 1e30])
def test_solution_follows_the_scale_of_rows_and_gram(factor):
    rows = right_hand_sides().astype("f4")
    rows[3] = 0.0
    small = conjugate_solve(gram_of_ring(), 1.0, rows)
    np.testing.assert_allclose(
        conjugate_solve(gram_of_ring(factor), factor, rows * np.float32(factor)), small, rtol=1e-4, atol=1e-6
    )
    assert not small[3].any()


def test_threads_do_not_change_the_bits():
    cores = random_cores((200, 25, 3, 8), (40, 40, 3, 5), dtype=np.float64)
    gram = GramChain(cores).without(0)
    rows = np.random.default_rng(1).standard_normal((200, 1600)).astype("f4")
    results = set()
    for count in (1, 2, 3):
        with Threads(count) as threads:
            results.add(conjugate_solve(gram, 1.0, rows, threads.run).tobytes())
    assert len(results) == 1


def test_waves_have_shifts_of_their_own():
    gram, rows = gram_of_ring(), right_hand_sides()
    level = gram.trace() / gram.size
    ridge, smooth = 0.1 * level, 0.5 * level
    found = smooth_solve(gram, ridge, smooth, rows, map, exact=False)
    along = laplacian(np.eye(len(rows)))
    system = np.kron(np.eye(len(rows)), gram.dense() + ridge * np.eye(gram.size))
    system += smooth * np.kron(along, np.eye(gram.size))
    expected = np.linalg.solve(system, rows.ravel()).reshape(rows.shape)
    assert abs(lost(found, expected, rows)) < 0.03


def test_plans_know_which_solve_and_its_memory():
    wide = {"core": (1920, 80, 80), "terms": 9, "itemsize": 4, "threads": 2}
    iterated, exact = SolvePlan.of(**wide), SolvePlan.of(**wide, exact=True)
    assert not iterated.exact
    assert exact.exact
    assert exact.memory > 10 * iterated.memory
    assert exact.operations == 6400**3 // 3 + 2 * 1920 * 6400**2 + 2 * 9 * 6400**2
    assert SolvePlan.of((1920, 80, 80), 80**2, 4, 2).exact  # as many terms as a ring of equal bonds has


def test_several_factorisations_are_avoided_where_a_mode_is_smooth():
    core = {"core": (216, 16, 159), "terms": 16, "itemsize": 4, "threads": 2}
    plan = SolvePlan.of(**core)
    assert plan.exact
    assert not plan.exact_smooth
    assert SolvePlan.of(**core, exact=True).exact_smooth
    assert SolvePlan.of((216, 16, 32), 16, 4, 2).exact_smooth  # few unknowns


class TestFitOfWideBonds:
    """A ring with a core of 1024 unknowns a slice: conjugate gradients in place of a factorisation."""

    rank = (32, 32, 2, 4)

    def fit(self, factor=1.0, **fields):
        rng, places = np.random.default_rng(0), np.ogrid[:40, :60, :3, :12]
        data = np.sin(places[0] / 5 + places[1] / 7 + places[2]) + places[3] / 6
        data = (data + 0.02 * rng.standard_normal(data.shape)).astype("f4")
        mask = rng.random(data.shape) < 0.6
        solver = SAWRTRD(samples=1500, sweeps=4, tol=0, smooth=0.0, **fields)
        return decompose(data * np.float32(factor), self.rank, solver=solver, mask=mask), data

    def test_it_is_as_good_as_with_an_exact_solve(self):
        errors = {}
        for solve in ("auto", "exact"):
            fit, data = self.fit(solve=solve)
            errors[solve] = np.linalg.norm(np.asarray(fit.ring) - data)
        assert errors["auto"] < 1.02 * errors["exact"]
        assert errors["auto"] != errors["exact"]

    def test_threads_do_not_change_the_bits(self):
        one, two = (self.fit(threads=threads)[0].ring.cores[0].tobytes() for threads in (1, 2))
        assert one == two

    def test_scaled_data_give_a_scaled_ring(self):
        plain, scaled = (np.asarray(self.fit(factor)[0].ring) for factor in (1.0, 1000.0))
        np.testing.assert_allclose(scaled, 1000.0 * plain, atol=1.0)
