"""l1-SNN: the sum of the nuclear norms of all unfoldings plus l1, by ADAL (HoRPCA-S with missing entries)."""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from ringlet.baselines.dense_completion import DenseCompletion, DenseRun
from ringlet.baselines.dense_plan import DensePlan
from ringlet.baselines.observed import RowBlock
from ringlet.baselines.proximal import ModeSplit, shrink, soft, spectral_norm
from ringlet.execution import Threads
from ringlet.results.records import SweepReport
from ringlet.ring.arrays import Floats
from ringlet.solvers.base import Problem

__all__ = ["L1SNN"]

_WEIGHT = 1.25  # of the default of lambda_1: measured, on photos
_THRESHOLD = 0.03  # mu over the largest singular value of the data


@dataclass(frozen=True, kw_only=True)
class L1SNN(DenseCompletion):
    """Robust completion by the sum of the nuclear norms of all unfoldings (HoRPCA-S).

    Minimises ``sum_n ||Y_(n)||_* + lambda_1 ||E||_1`` subject to ``Y + E = X`` on the observed entries, where ``Y_(n)``
    has mode n as rows and all others as columns. Tensors of any order are supported.

    Parameters
    ----------
    outlier_weight : float, optional
        lambda_1; by default 1.25 times the sum of ``1 / sqrt(rho max(a_n, b_n))`` over the unfoldings of size
        a_n x b_n, rho being the share of observed entries.
    penalty : float, optional
        1 / mu, in inverse units of the data: singular values are thresholded by mu. By default that is 0.03 of the
        largest one of the data. It changes the convergence, not the solution.
    sweeps : int
        Maximum number of iterations.
    tol : float
        Stop when both the relative change of Y and the relative violation of the constraints are below it; 0 runs all
        sweeps.
    dtype, memory, threads
        As in `ringlet.AWRTRD`.

    References
    ----------
    Goldfarb & Qin, "Robust low-rank tensor recovery: models and algorithms", SIAM J. Matrix Anal. Appl. 35, 2014.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.multiply.outer(np.outer(np.arange(1.0, 13), np.arange(1.0, 11)), np.arange(1.0, 9))
    >>> damaged = x.copy()
    >>> damaged[2, 3, 1] = 1e5                       # wrong
    >>> damaged[5, 6, :4] = np.nan                   # missing
    >>> estimate = ringlet.complete(damaged, solver=L1SNN(tol=1e-5, sweeps=300)).tensor
    >>> bool(np.linalg.norm(estimate - x) < 1e-3 * np.linalg.norm(x))
    True
    """

    sweeps: int = 100

    def plan(self, shape: tuple[int, ...], rank: tuple[int, ...], dtype: np.dtype[Any]) -> DensePlan:  # noqa: ARG002
        """Operations and memory of a sweep."""
        tensors = len(shape) + 3  # D_n of all modes, Y, what is shrunk or the new Y, and v
        return self.shrinking_plan(shape, dtype, unfoldings(shape), tensors)

    def run(self, problem: Problem, threads: Threads) -> "L1SNNRun":
        """The fit, before its first sweep."""
        return L1SNNRun(self, problem, threads)


class L1SNNRun(DenseRun):
    """A running fit.

    X_n and V_n are needed only as ``D_n = X_n - mu V_n``: the next multiplier is ``mu V_n = Y - D_n``, and what the
    next step shrinks is ``Y + mu V_n = 2 Y - D_n``. Their sum over n follows from Y: it is ``N Y``, less ``mu v`` where
    entries are observed.
    """

    def __init__(self, solver: L1SNN, problem: Problem, threads: Threads) -> None:
        shape = problem.source.shape
        super().__init__(solver, problem, threads, shape)
        self._unfoldings = unfoldings(shape)
        self._shifted = [np.zeros(shape, self.dtype) for _ in shape]  # D_n
        self._multiplier = self.vector()  # mu v
        filled = np.zeros(shape, self.dtype)

        def begin(block: RowBlock) -> float:
            values, mask = self.observed.read(block)
            values -= self.extremes(values)
            filled[block.rows][mask] = values
            return float(np.vdot(values, values))

        self._data_norm = sqrt(sum(self.mapper(begin, self.observed.blocks)))
        if solver.penalty is None:
            norm = max(spectral_norm(filled, matrix, self.mapper) for matrix in self._unfoldings)
            self._threshold = _THRESHOLD * norm or 1.0  # mu
        else:
            self._threshold = 1.0 / (solver.penalty * self.size)
        roots = [1 / sqrt(self.share * matrix.columns) for matrix in self._unfoldings]
        self._weight = solver.outlier_weight or _WEIGHT * sum(roots)  # lambda_1

    def sweep(self, number: int) -> SweepReport:  # noqa: ARG002
        """One iteration."""
        apart = sum(map(self._step, self._unfoldings, self._shifted))  # X_n
        order = len(self._shifted)
        model = np.empty_like(self.model)

        def average(block: RowBlock) -> tuple[float, ...]:
            rows, place = block.rows, block.place
            values, mask = self.observed.read(block)
            last = self.model[rows]
            target = values + self._multiplier[place]
            outliers = soft(target - last[mask], self._weight * self._threshold)  # E = soft(b - Y + mu v, mu lambda_1)
            total = np.add.reduce([shifted[rows] for shifted in self._shifted])  # M = sum_n (X_n - mu V_n)
            now = model[rows]
            np.divide(total, order, out=now)
            now[mask] = (total[mask] + target - outliers) / (order + 1)
            parting = total - order * last  # sum_n (X_n - Y), with the last Y
            parting[mask] += self._multiplier[place]
            residuals = values - now[mask]
            left = outliers - residuals  # Y + E - b
            self._multiplier[place] -= left  # mu v = mu v - (Y + E - b)
            moved = now - last
            squares = (float(np.vdot(part, part)) for part in (moved, now, left, residuals))
            return (float(np.vdot(parting, moved)), *squares)

        along, moved, size, left, squares = np.sum(list(self.mapper(average, self.observed.blocks)), axis=0)
        self.model = model
        apart = max(0.0, apart - 2 * along + order * moved)  # sum_n || X_n - Y ||^2, now with the new Y
        infeasible = sqrt((apart + left) / (order * size + self._data_norm**2)) if self._data_norm else 0.0
        return SweepReport(
            change=max(infeasible, sqrt(moved / size) if size else 0.0),
            loss=self.mean_loss(squares),
            settling=size == 0.0 and self._data_norm > 0.0,
        )

    def _step(self, unfolding: ModeSplit, shifted: Floats) -> float:
        """``X_n = SVT(Y + mu V_n, mu)`` for one mode; returns ``||X_n - Y||^2`` with the last Y."""
        part = np.empty_like(shifted)
        blocks = [block.rows for block in self.observed.blocks]

        def enter(rows: slice) -> None:
            part[rows] = 2 * self.model[rows] - shifted[rows]

        def leave(rows: slice) -> float:
            apart = part[rows] - self.model[rows]
            shifted[rows] += apart
            return float(np.vdot(apart, apart))

        for _ in self.mapper(enter, blocks):
            pass
        shrink(part, unfolding, self._threshold, self.mapper)
        return float(sum(self.mapper(leave, blocks)))


def unfoldings(shape: tuple[int, ...]) -> list[ModeSplit]:
    """One mode against all others, for every mode."""
    return [ModeSplit.of(shape, mode, 1) for mode in range(len(shape))]
