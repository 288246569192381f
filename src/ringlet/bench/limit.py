"""The limit: the bare BLAS and LAPACK calls of a plan, on dummy arrays of the same shapes, with all cores.

Gathers, element-wise work and scheduling are not included: this is the time of the arithmetic alone.
"""

from collections.abc import Callable
from math import ceil
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ringlet.bench.timing import least_seconds
from ringlet.execution import Threads
from ringlet.ring.gram import passes_unformed
from ringlet.solvers.engine.core_plan import CorePlan
from ringlet.solvers.engine.fit_plan import CoreCost, FitPlan
from ringlet.solvers.engine.kronecker_solve import rows_at_once
from ringlet.solvers.engine.solve_plan import PLANNED_STEPS
from ringlet.solvers.engine.subchain import Workspace

__all__ = ["limit_seconds"]


def limit_seconds(plan: FitPlan, repeats: int = 5) -> list[float]:
    """Seconds that the products, the Gram matrix and the solve of every core take at the machine's own speed."""
    with Threads() as threads:
        products = [_products_seconds(core, threads, repeats) for core in plan.cores]
    return [
        seconds + _gram_seconds(plan, core.plan.mode, repeats) + _solve_seconds(core, min(plan.rank) ** 2, repeats)
        for seconds, core in zip(products, plan.cores, strict=True)
    ]


def _products_seconds(core: CoreCost, threads: Threads, repeats: int) -> float:
    """Forward products and one adjoint, in the plan's own blocks, shared among threads; fewer for a partial search."""
    plan, one_of = core.plan, core.searched_one_of
    products = _split_products if plan.second else _subchain_products
    searching = 1 if core.keeps_weights else 2
    work, search = products(plan, 1 if one_of > 1 else 1 + searching, 1), products(plan, searching, 0)
    blocks = plan.tiles * ceil(plan.slices / plan.block)
    times = []
    for _ in range(repeats):
        start = perf_counter()
        for _ in threads.run(work, range(blocks)):
            pass
        for _ in threads.run(search, range(ceil(blocks / one_of) if one_of > 1 else 0)):
            pass
        times.append(perf_counter() - start)
    return min(times)


def _subchain_products(plan: CorePlan, forwards: int, adjoints: int) -> Callable[[int], None]:
    rows, chain = _ones(plan.block, plan.alpha * plan.beta), _ones(plan.alpha * plan.beta, plan.tile_columns)
    residuals = _ones(plan.block, plan.tile_columns)
    room = Workspace()

    def work(_block: int) -> None:
        entries = room.array("entries", residuals.shape, residuals.dtype)
        for _ in range(forwards):
            np.matmul(rows, chain, out=entries)
        for _ in range(adjoints):
            np.matmul(residuals, chain.T, out=room.array("back", rows.shape, rows.dtype))

    return work


def _split_products(plan: CorePlan, forwards: int, adjoints: int) -> Callable[[int], None]:
    columns_first, columns_second = plan.tile_first, plan.tile_columns // plan.tile_first
    rows = _ones(plan.alpha * plan.block, plan.beta)
    first, second = _ones(plan.bond, plan.beta, columns_first), _ones(plan.bond * plan.alpha, columns_second)
    residuals = _ones(plan.block * columns_first, columns_second)
    room = Workspace()

    def work(_block: int) -> None:
        between = room.array("between", (plan.bond, plan.alpha * plan.block, columns_first), rows.dtype)
        flat = between.reshape(plan.bond * plan.alpha, -1)
        entries = room.array("entries", residuals.shape, rows.dtype)
        for _ in range(forwards):
            np.matmul(rows, first, out=between)
            np.matmul(flat.T, second, out=entries)
        for _ in range(adjoints):
            np.matmul(second, residuals.T, out=flat)
            back = room.array("back", (plan.bond, *rows.shape), rows.dtype)
            np.matmul(between, first.transpose(0, 2, 1), out=back)

    return work


def _gram_seconds(plan: FitPlan, mode: int, repeats: int) -> float:
    """Partial products passing through this core, twice a sweep, and the sum of Kronecker products."""
    order = len(plan.rank)
    a, slices, b = plan.rank[mode], plan.shape[mode], plan.rank[(mode + 1) % order]
    pairs = min(plan.rank) * (min(plan.rank) + 1) // 2
    seconds = 0.0
    if passes_unformed(a, slices, b, pairs):
        product, core = _ones64(a, a), _ones64(a, slices * b)
        middle, out = _ones64(a, slices * b), _ones64(b, b)

        def sandwich() -> None:
            np.matmul(product, core, out=middle)
            np.matmul(core.reshape(-1, b).T, middle.reshape(-1, b), out=out)

        seconds += 2 * pairs * least_seconds(sandwich, repeats)
    else:
        unfolded, transfer = _ones64(slices, a * b), _ones64(a * b, a * b)
        rows, through = _ones64(pairs, a * a), _ones64(pairs, b * b)
        square = _ones64(a * a, b * b)
        seconds += least_seconds(lambda: np.matmul(unfolded.T, unfolded, out=transfer), repeats)
        seconds += 2 * least_seconds(lambda: np.matmul(rows, square, out=through), repeats)
    terms = min(plan.rank) ** 2
    left, right, gram = _ones64(terms, a * a), _ones64(terms, b * b), _ones64(a * a, b * b)
    return seconds + least_seconds(lambda: np.matmul(left.T, right, out=gram), repeats)


def _solve_seconds(core: CoreCost, terms: int, repeats: int) -> float:
    """Cholesky in float64 and two triangular solves in float32; or the usual number of steps of conjugate gradients."""
    from scipy.linalg.blas import strsm
    from scipy.linalg.lapack import dpotrf

    plan = core.plan
    if not core.solve.exact:
        return PLANNED_STEPS * _step_seconds(plan, terms, repeats)
    size = plan.alpha * plan.beta
    lower = np.asfortranarray(np.eye(size, dtype=np.float32))  # repeated solves with it do not change the result
    rows = np.asfortranarray(_ones(size, plan.slices))
    matrix = np.eye(size, order="F") * size + 1.0

    def factor() -> None:
        dpotrf(matrix, lower=1, overwrite_a=0)

    def solve() -> None:
        strsm(1.0, lower, rows, lower=1, overwrite_b=1)
        strsm(1.0, lower, rows, lower=1, trans_a=1, overwrite_b=1)

    return least_seconds(factor, repeats) + least_seconds(solve, repeats)


def _step_seconds(plan: CorePlan, terms: int, repeats: int) -> float:
    """The two products of all rows with a sum of Kronecker products."""
    a, b = plan.alpha, plan.beta
    rows, right, left = _ones(plan.slices * a, b), _ones(b, terms * b), _ones(a, a * terms)
    count = min(plan.slices, rows_at_once((a, b), terms))
    between = _ones(count * a, terms * b)

    def step() -> None:
        for start in range(0, plan.slices - count + 1, count):
            np.matmul(rows[start * a : (start + count) * a], right, out=between)
            np.matmul(left, between.reshape(count, a * terms, b))

    return least_seconds(step, repeats)


def _ones(*shape: int) -> NDArray[np.float32]:
    return np.ones(shape, np.float32)


def _ones64(*shape: int) -> NDArray[np.float64]:
    return np.ones(shape)
