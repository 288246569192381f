"""The paper's step on one core."""

import math

import numpy as np

from oracles import dense, random_cores, subchain, unfolding
from ringlet.ring import GramChain
from ringlet.robust import LOSSES, Kernel
from ringlet.solvers.engine.scaled_step import Descent, scaled_step, solver_of
from ringlet.solvers.engine.streamed_pass import Sketch, StreamedPass
from ringlet.solvers.engine.subchain import Resources
from ringlet.sources import as_source


def test_the_scaled_step_without_weights_and_ridge_is_the_update_of_als():
    """W = P = 1 and lambda = 0: one core of alternating least squares, whatever the core was before."""
    shape, rank = (6, 5, 7), (2, 3, 2)
    x = dense(random_cores(shape, rank, seed=1)) + 0.1 * np.random.default_rng(0).standard_normal(shape)
    cores = random_cores(shape, rank, seed=4)
    for k in range(3):
        sketch = Sketch(as_source(x), k, tuple(map(np.arange, shape)), cores)
        data = StreamedPass(sketch, 1.0, Resources())
        solve = solver_of(GramChain(cores).without(k), 0.0, 0.0)
        rows = scaled_step(Descent(data, *data.gradient(Kernel(math.inf, LOSSES["correntropy"]))), solve=solve)
        expected = np.linalg.lstsq(subchain(cores, k), unfolding(x, k).T, rcond=None)[0].T
        np.testing.assert_allclose(rows, expected, rtol=1e-6, atol=1e-7)


def test_a_step_that_cannot_move_says_so():
    shape, rank = (6, 5, 7), (2, 3, 2)
    cores = random_cores(shape, rank)
    sketch = Sketch(as_source(dense(cores)), 1, tuple(map(np.arange, shape)), [0 * core for core in cores])
    data = StreamedPass(sketch, 1.0, Resources())
    assert scaled_step(Descent(data, *data.gradient(Kernel(math.inf, LOSSES["correntropy"])))) is None
