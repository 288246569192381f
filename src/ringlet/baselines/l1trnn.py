"""l1-TRNN: nuclear norms of circular unfoldings plus l1, by ADMM with a growing penalty (RTRC)."""

from dataclasses import dataclass
from math import ceil, log, prod, sqrt
from typing import Any, Literal

import numpy as np

from ringlet.baselines.dense_completion import DenseCompletion, DenseRun, Floats, row_room
from ringlet.baselines.dense_plan import DensePlan, checked
from ringlet.baselines.observed import RowBlock
from ringlet.baselines.proximal import Unfolding, shrink, shrink_cost, shrink_room, soft, spectral_norm
from ringlet.execution import Threads
from ringlet.solvers.checks import check_number, check_one_of
from ringlet.solvers.driver import SweepReport
from ringlet.solvers.problem import Problem
from ringlet.solvers.solver import working_dtype

__all__ = ["L1TRNN"]

_LARGEST_PENALTY = 1e10
_FIRST_PENALTY = 1.25


@dataclass(frozen=True, kw_only=True)
class L1TRNN(DenseCompletion):
    """Robust completion by the tensor ring nuclear norm."""

    sweeps: int = 100
    growth: float = 1.1
    unfoldings: Literal["all", "half"] = "all"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("growth", self.growth, at_least=1)
        check_one_of("unfoldings", self.unfoldings, ("all", "half"))

    def matrices(self, shape: tuple[int, ...]) -> list[Unfolding]:
        order = len(shape)
        half = ceil(order / 2)
        count = order if self.unfoldings == "all" and order % 2 else half
        return [Unfolding.of(shape, mode, half) for mode in range(count)]

    def plan(self, shape: tuple[int, ...], rank: tuple[int, ...], dtype: np.dtype[Any]) -> DensePlan:  # noqa: ARG002
        """Operations and memory of a sweep."""
        itemsize = working_dtype(dtype, self.dtype).itemsize
        threads = Threads(self.threads).count
        matrices = self.matrices(shape)
        memory = itemsize * (len(matrices) + 4) * prod(shape)
        memory += max(shrink_room(matrix, threads) for matrix in matrices) + row_room(shape, itemsize, threads)
        return checked(DensePlan("L1TRNN", shape, sum(map(shrink_cost, matrices)), memory), self.budget)

    def run(self, problem: Problem, threads: Threads) -> "L1TRNNRun":
        """The fit, before its first sweep."""
        return L1TRNNRun(self, problem, threads)


class L1TRNNRun(DenseRun):
    """A fit under way.

    L_n and Z_n are needed only as ``A_n = L_n + Z_n / mu``: the next multiplier is ``Z_n = mu (A_n - X)``.
    """

    def __init__(self, solver: L1TRNN, problem: Problem, threads: Threads) -> None:
        shape = problem.source.shape
        super().__init__(solver, problem, threads, shape)
        self._growth = solver.growth
        self._matrices = solver.matrices(shape)
        needs = [1 / (m.columns * m.rows * log(max(m.columns, 2)) ** 2.5) for m in self._matrices]
        self._weights = [need / sum(needs) for need in needs]  # w_n
        self._outliers = self.vector()  # S
        self._multiplier = self.vector()  # W / mu

        def begin(block: RowBlock) -> float:
            values, mask = self.observed.read(block)
            self._outliers[block.place] = self.extremes(values)
            values -= self._outliers[block.place]
            self.model[block.rows][mask] = values  # X = P o T
            return float(np.vdot(values, values))

        self._data_norm = sqrt(sum(self.run(begin, self.observed.blocks)))
        self._lifted = [self.model.copy() for _ in self._matrices]  # A_n, of Z_n = 0
        if solver.penalty is None:
            self._penalty = _FIRST_PENALTY / (spectral_norm(self.model, self._matrices[0], self.run) or 1.0)  # mu
        else:
            self._penalty = solver.penalty * self.size
        roots = [1 / sqrt(self.share * m.columns) for m in self._matrices]
        self._weight = solver.outlier_weight or sum(roots) / len(roots)  # lambda
        self._ratio = 1.0  # the last mu over mu

    def sweep(self, number: int) -> SweepReport:  # noqa: ARG002
        """One iteration."""
        left = sum(map(self._step, self._matrices, self._weights, self._lifted))
        count = len(self._lifted)
        model = np.empty_like(self.model)
        dtype = self.dtype.type

        def average(block: RowBlock) -> tuple[float, ...]:
            rows, place = block.rows, block.place
            values, mask = self.observed.read(block)
            last = self._outliers[place]
            multiplier = dtype(self._ratio) * self._multiplier[place]
            total = sum(lifted[rows] for lifted in self._lifted)
            now = model[rows]
            np.divide(total, count, out=now)
            now[mask] = (total[mask] + values - last - multiplier) / (count + 1)
            residuals = values - now[mask]
            outliers = soft(residuals - multiplier, self._weight / self._penalty)  # S = soft(T - X - W/mu, lambda/mu)
            self._multiplier[place] = multiplier + outliers - residuals  # W = W + mu (X + S - T)
            self._outliers[place] = outliers
            parts = (now - self.model[rows], self.model[rows], outliers - last, last, residuals)
            return tuple(float(np.vdot(part, part)) for part in parts)

        moved, size, jumped, sparse, squares = np.sum(list(self.run(average, self.observed.blocks)), axis=0)
        self.model = model
        penalty = min(self._growth * self._penalty, max(_LARGEST_PENALTY, self._penalty))
        self._ratio, self._penalty = self._penalty / penalty, penalty
        return SweepReport(
            change=max(_relative(moved, size), _relative(jumped, sparse)),
            loss=self.mean_loss(squares),
            settling=left == 0 and self._data_norm > 0.0,
        )

    def _step(self, unfolding: Unfolding, weight: float, lifted: Floats) -> int:
        """``L_n = SVT(X - Z_n/mu, w_n/mu)`` for one unfolding; returns its rank."""
        part = np.empty_like(lifted)
        blocks = [block.rows for block in self.observed.blocks]
        ratio = self.dtype.type(self._ratio)

        def enter(rows: slice) -> None:
            lifted[rows] -= self.model[rows]
            lifted[rows] *= ratio  # Z_n / mu
            part[rows] = self.model[rows] - lifted[rows]

        def leave(rows: slice) -> None:
            lifted[rows] += part[rows]

        for _ in self.run(enter, blocks):
            pass
        rank = shrink(part, unfolding, weight / self._penalty, self.run)
        for _ in self.run(leave, blocks):
            pass
        return rank


def _relative(squares: float, reference: float) -> float:
    return sqrt(squares / reference) if reference else float("inf")
