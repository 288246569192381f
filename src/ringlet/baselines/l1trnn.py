"""l1-TRNN: nuclear norms of circular unfoldings plus l1, by ADMM with a growing penalty (RTRC)."""

from dataclasses import dataclass
from math import ceil, log, sqrt
from typing import Any

import numpy as np

from ringlet.baselines.dense_completion import DenseCompletion, DenseRun
from ringlet.baselines.dense_plan import DensePlan
from ringlet.baselines.observed import RowBlock
from ringlet.baselines.proximal import ModeSplit, shrink, soft, spectral_norm
from ringlet.checks import check_number
from ringlet.errors import ArgumentError
from ringlet.execution import Threads
from ringlet.results.records import SweepReport
from ringlet.ring.arrays import Floats
from ringlet.solvers.base import Problem

__all__ = ["L1TRNN"]

_WEIGHT = 1.5  # of the default of lambda: measured, on photos
_FIRST_PENALTY = 1.25  # mu before the first sweep, over the inverse of the largest singular value of the data
_LARGEST_PENALTY = 1e10  # for data of size 1


@dataclass(frozen=True, kw_only=True)
class L1TRNN(DenseCompletion):
    """Robust completion by the tensor ring nuclear norm (RTRC).

    Minimises ``sum_n w_n ||X_<n>||_* + lambda ||S||_1`` subject to ``X + S = T`` on the observed entries. ``X_<n>`` has
    the modes n, n + 1, .. (cyclic, half of all, rounded up) as rows and the others as columns. The weights w_n sum to
    one; larger unfoldings have smaller ones. Tensors of any order are supported.

    Parameters
    ----------
    outlier_weight : float, optional
        lambda; by default 1.5 times the mean of ``1 / sqrt(rho max(a_n, b_n))`` over the unfoldings of size a_n x b_n,
        rho being the share of observed entries.
    penalty : float, optional
        mu of the first sweep, in inverse units of the data: singular values are thresholded by ``w_n / mu``. By default
        1.25 over the largest one of the data.
    growth : float
        mu is multiplied by it after every sweep.
    unfoldings : int, optional
        Number of unfoldings; by default all distinct ones: N, or N / 2 where N is even.
    sweeps : int
        Maximum number of iterations.
    tol : float
        Stop when the relative changes of both X and S (while S is zero, the relative distance of X from the data) are
        below it; 0 runs all sweeps.
    dtype, memory, threads
        As in `ringlet.AWRTRD`.

    References
    ----------
    Huang, Liu, Long & Zhu, "Robust low-rank tensor ring completion", IEEE Trans. Comput. Imaging 6, 2020.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.multiply.outer(np.outer(np.arange(1.0, 13), np.arange(1.0, 11)), np.arange(1.0, 9))
    >>> damaged = x.copy()
    >>> damaged[2, 3, 1] = 1e5                       # wrong
    >>> damaged[5, 6, :4] = np.nan                   # missing
    >>> estimate = ringlet.complete(damaged, solver=L1TRNN(tol=1e-5)).tensor
    >>> bool(np.linalg.norm(estimate - x) < 1e-3 * np.linalg.norm(x))
    True
    """

    sweeps: int = 100
    growth: float = 1.1
    unfoldings: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("growth", self.growth, at_least=1)
        if self.unfoldings is not None:
            check_number("unfoldings", self.unfoldings, at_least=1, whole=True)

    def matrices(self, shape: tuple[int, ...]) -> list[ModeSplit]:
        """The circular unfoldings that the method uses on a tensor of this shape."""
        order = len(shape)
        different = order if order % 2 else order // 2
        if self.unfoldings is not None and self.unfoldings > different:
            raise ArgumentError(
                f"unfoldings={self.unfoldings} is not allowed: of a tensor of order {order} only {different} differ"
            )
        return [ModeSplit.of(shape, mode, ceil(order / 2)) for mode in range(self.unfoldings or different)]

    def plan(self, shape: tuple[int, ...], rank: tuple[int, ...], dtype: np.dtype[Any]) -> DensePlan:  # noqa: ARG002
        """Operations and memory of a sweep."""
        matrices = self.matrices(shape)
        tensors = len(matrices) + 4  # A_n of all unfoldings, X, what is shrunk or the new X, S and W
        return self.shrinking_plan(shape, dtype, matrices, tensors)

    def run(self, problem: Problem, threads: Threads) -> "L1TRNNRun":
        """The fit, before its first sweep."""
        return L1TRNNRun(self, problem, threads)


class L1TRNNRun(DenseRun):
    """A running fit.

    L_n and Z_n are needed only as ``A_n = L_n + Z_n / mu``: the next multiplier is ``Z_n = mu (A_n - X)``.
    """

    def __init__(self, solver: L1TRNN, problem: Problem, threads: Threads) -> None:
        shape = problem.source.shape
        super().__init__(solver, problem, threads, shape)
        self._growth = solver.growth
        self._matrices = solver.matrices(shape)
        shares = [1 / (m.columns * m.rows * log(max(m.columns, 2)) ** 2.5) for m in self._matrices]
        self._weights = [share / sum(shares) for share in shares]  # w_n
        self._outliers = self.vector()  # S
        self._multiplier = self.vector()  # W / mu

        def begin(block: RowBlock) -> float:
            values, mask = self.observed.read(block)
            self._outliers[block.place] = self.extremes(values)
            values -= self._outliers[block.place]
            self.model[block.rows][mask] = values  # X = P o T
            return float(np.vdot(values, values))

        self._data_norm = sqrt(sum(self.mapper(begin, self.observed.blocks)))
        self._lifted = [self.model.copy() for _ in self._matrices]  # A_n, of Z_n = 0
        if solver.penalty is None:
            self._penalty = _FIRST_PENALTY / (spectral_norm(self.model, self._matrices[0], self.mapper) or 1.0)  # mu
        else:
            self._penalty = solver.penalty * self.size
        roots = [1 / sqrt(self.share * m.columns) for m in self._matrices]
        self._weight = solver.outlier_weight or _WEIGHT * sum(roots) / len(roots)  # lambda
        self._ratio = 1.0  # the last mu over mu

    def sweep(self, number: int) -> SweepReport:  # noqa: ARG002
        """One iteration."""
        rank = sum(map(self._step, self._matrices, self._weights, self._lifted))  # L_n
        count = len(self._lifted)
        model = np.empty_like(self.model)
        dtype = self.dtype.type

        def average(block: RowBlock) -> tuple[float, ...]:
            rows, place = block.rows, block.place
            values, mask = self.observed.read(block)
            last = self._outliers[place]
            multiplier = dtype(self._ratio) * self._multiplier[place]
            total = np.add.reduce([lifted[rows] for lifted in self._lifted])  # sum_n (L_n + Z_n/mu)
            now = model[rows]
            np.divide(total, count, out=now)
            # X = [sum_n (L_n + Z_n/mu) + P o (T - S - W/mu)] / (L + P)
            now[mask] = (total[mask] + values - last - multiplier) / (count + 1)
            residuals = values - now[mask]
            outliers = soft(residuals - multiplier, self._weight / self._penalty)  # S = soft(T - X - W/mu, lambda/mu)
            self._multiplier[place] = multiplier + outliers - residuals  # W = W + mu (X + S - T)
            parts = (now - self.model[rows], self.model[rows], outliers - last, last, residuals)
            squares = tuple(float(np.vdot(part, part)) for part in parts)
            self._outliers[place] = outliers
            return squares

        moved, size, jumped, sparse, squares = np.sum(list(self.mapper(average, self.observed.blocks)), axis=0)
        self.model = model
        penalty = min(self._growth * self._penalty, max(_LARGEST_PENALTY, self._penalty))
        self._ratio, self._penalty = self._penalty / penalty, penalty
        # While S is zero, X has converged only if it also fits the data.
        found = _relative(jumped, sparse) if jumped or sparse else _relative(squares, self._data_norm**2)
        return SweepReport(
            change=max(_relative(moved, size), found) if self._data_norm else 0.0,
            loss=self.mean_loss(squares),
            settling=rank == 0 and self._data_norm > 0.0,  # nothing moves until mu has grown enough
        )

    def _step(self, unfolding: ModeSplit, weight: float, lifted: Floats) -> int:
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

        for _ in self.mapper(enter, blocks):
            pass
        rank = shrink(part, unfolding, weight / self._penalty, self.mapper)
        for _ in self.mapper(leave, blocks):
            pass
        return rank


def _relative(squares: float, reference: float) -> float:
    """Relative change from squared norms; infinite before there is anything to compare with."""
    return sqrt(squares / reference) if reference else float("inf")
