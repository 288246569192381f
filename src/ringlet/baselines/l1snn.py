"""l1-SNN: the sum of the nuclear norms of all unfoldings plus l1, by ADAL (HoRPCA-S with missing entries)."""

from dataclasses import dataclass
from math import prod, sqrt
from typing import Any

import numpy as np

from ringlet.baselines.dense_completion import DenseCompletion, DenseRun, row_room
from ringlet.baselines.dense_plan import DensePlan, checked
from ringlet.baselines.observed import RowBlock
from ringlet.baselines.proximal import Unfolding, shrink, shrink_cost, shrink_room, soft, spectral_norm
from ringlet.execution import Threads
from ringlet.solvers.driver import SweepReport
from ringlet.solvers.problem import Problem
from ringlet.solvers.solver import working_dtype

__all__ = ["L1SNN"]

_RATIO = 1.0
_FIRST_THRESHOLD = 0.05


@dataclass(frozen=True, kw_only=True)
class L1SNN(DenseCompletion):
    """Robust completion by the sum of nuclear norms."""

    sweeps: int = 100

    def plan(self, shape: tuple[int, ...], rank: tuple[int, ...], dtype: np.dtype[Any]) -> DensePlan:  # noqa: ARG002
        """Operations and memory of a sweep."""
        itemsize = working_dtype(dtype, self.dtype).itemsize
        threads = Threads(self.threads).count
        matrices = unfoldings(shape)
        # D_n of all modes, Y, what is shrunk or the new Y, E and v
        memory = itemsize * (len(shape) + 4) * prod(shape)
        memory += max(shrink_room(matrix, threads) for matrix in matrices) + row_room(shape, itemsize, threads)
        return checked(DensePlan("L1SNN", shape, sum(map(shrink_cost, matrices)), memory), self.budget)

    def run(self, problem: Problem, threads: Threads) -> "L1SNNRun":
        """The fit, before its first sweep."""
        return L1SNNRun(self, problem, threads)


class L1SNNRun(DenseRun):
    """A fit under way.

    X_n and V_n are needed only as ``D_n = X_n - mu V_n``: the next multiplier is ``mu V_n = Y - D_n``, and what the
    next step shrinks is ``Y + mu V_n = 2 Y - D_n``.
    """

    def __init__(self, solver: L1SNN, problem: Problem, threads: Threads) -> None:
        shape = problem.source.shape
        super().__init__(solver, problem, threads, shape)
        self._unfoldings = unfoldings(shape)
        self._shifted = [np.zeros(shape, self.dtype) for _ in shape]  # D_n
        self._multiplier = self.vector()  # mu v
        self._outliers = self.vector()  # E
        filled = np.zeros(shape, self.dtype)

        def begin(block: RowBlock) -> float:
            values, mask = self.observed.read(block)
            values -= self.extremes(values)
            filled[block.rows][mask] = values
            return float(np.vdot(values, values))

        self._data_norm = sqrt(sum(self.run(begin, self.observed.blocks)))
        if solver.penalty is None:
            norm = max(spectral_norm(filled, matrix, self.run) for matrix in self._unfoldings)
            self._threshold = _FIRST_THRESHOLD * norm or 1.0  # mu
        else:
            self._threshold = 1.0 / (solver.penalty * self.size)
        self._weight = solver.outlier_weight or _RATIO / sqrt(max(shape))  # lambda_1

    def sweep(self, number: int) -> SweepReport:  # noqa: ARG002
        """One iteration."""
        apart = sum(map(self._step, self._unfoldings, self._shifted))
        order = len(self._shifted)
        model = np.empty_like(self.model)

        def average(block: RowBlock) -> tuple[float, ...]:
            rows, place = block.rows, block.place
            values, mask = self.observed.read(block)
            last = self.model[rows]
            target = values + self._multiplier[place]
            outliers = soft(target - last[mask], self._weight * self._threshold)  # E = soft(b - Y + mu v, mu lambda_1)
            total = sum(shifted[rows] for shifted in self._shifted)  # M = sum_n (X_n - mu V_n)
            now = model[rows]
            np.divide(total, order, out=now)
            now[mask] = (total[mask] + target - outliers) / (order + 1)
            residuals = values - now[mask]
            left = outliers - residuals  # Y + E - b
            self._multiplier[place] -= left  # mu v = mu v - (Y + E - b)
            self._outliers[place] = outliers
            moved = now - last
            return tuple(float(np.vdot(part, part)) for part in (moved, now, left, residuals))

        moved, size, left, squares = np.sum(list(self.run(average, self.observed.blocks)), axis=0)
        self.model = model
        infeasible = sqrt((apart + left) / (order * size + self._data_norm**2)) if self._data_norm else 0.0
        return SweepReport(
            change=max(infeasible, sqrt(moved / size) if size else 0.0),
            loss=self.mean_loss(squares),
            settling=size == 0.0 and self._data_norm > 0.0,
        )

    def _step(self, unfolding: Unfolding, shifted: Any) -> float:
        """``X_n = SVT(Y + mu V_n, mu)`` for one mode; returns ``||X_n - Y||^2``."""
        part = np.empty_like(shifted)
        blocks = [block.rows for block in self.observed.blocks]

        def enter(rows: slice) -> None:
            part[rows] = 2 * self.model[rows] - shifted[rows]

        def leave(rows: slice) -> float:
            apart = part[rows] - self.model[rows]
            shifted[rows] += apart
            return float(np.vdot(apart, apart))

        for _ in self.run(enter, blocks):
            pass
        shrink(part, unfolding, self._threshold, self.run)
        return float(sum(self.run(leave, blocks)))


def unfoldings(shape: tuple[int, ...]) -> list[Unfolding]:
    """One mode against all others, for every mode."""
    return [Unfolding.of(shape, mode, 1) for mode in range(len(shape))]
