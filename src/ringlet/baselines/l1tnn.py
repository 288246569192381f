"""l1-TNN: tensor nuclear norm plus l1, by symmetric Gauss-Seidel ADMM."""

from dataclasses import dataclass
from math import prod, sqrt
from typing import Any

import numpy as np

from ringlet.baselines.dense_completion import DenseCompletion, TubalRun, row_room, third_order
from ringlet.baselines.dense_plan import DensePlan, checked
from ringlet.baselines.observed import RowBlock
from ringlet.baselines.proximal import ModeSplit, shrink_cost, shrink_room, soft
from ringlet.baselines.tubal import FourierSlices
from ringlet.execution import Threads
from ringlet.results.records import SweepReport
from ringlet.solvers.base import Problem, working_dtype

__all__ = ["L1TNN"]

_TAU = 1.618  # step of the multiplier, below the golden ratio
_WEIGHT = 0.9  # lambda over the value of the theory: measured, on photos
_THRESHOLD = 0.05  # 1 / beta over the largest singular value of the data


@dataclass(frozen=True, kw_only=True)
class L1TNN(DenseCompletion):
    """Robust completion by the tensor nuclear norm.

    Minimises ``||L||_TNN + lambda ||E||_1`` subject to ``L + E = X`` on the observed entries. ``||L||_TNN`` is the mean
    nuclear norm of the slices after a discrete Fourier transform along the third mode. Tensors of a higher order are
    taken as I1 x I2 x (all others); a matrix has one slice.

    Parameters
    ----------
    outlier_weight : float, optional
        lambda; by default ``0.9 / sqrt(rho max(n1, n2) n3)``, rho being the share of observed entries.
    penalty : float, optional
        beta, in inverse units of the data: singular values are thresholded by ``1 / beta``. By default that is 0.05 of
        the largest one of the data. It changes the convergence, not the solution.
    sweeps : int
        Maximum number of iterations.
    tol : float
        Stop when ``||L - L_last||_F`` is below this share of the norm of the observed entries; 0 runs all sweeps.
    dtype, memory, threads
        As in `ringlet.AWRTRD`.

    References
    ----------
    Jiang & Ng, "Robust low-tubal-rank tensor completion via convex optimization", IJCAI 2019.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.multiply.outer(np.outer(np.arange(20.0, 40), np.arange(20.0, 36)), [1.0, 2.0, 3.0])
    >>> damaged = x.copy()
    >>> damaged[2, 3, 1] = 1e6                       # wrong
    >>> damaged[5, 6] = np.nan                       # missing
    >>> estimate = ringlet.complete(damaged, solver=L1TNN(tol=1e-5)).tensor
    >>> bool(np.linalg.norm(estimate - x) < 1e-3 * np.linalg.norm(x))
    True
    """

    sweeps: int = 100

    def plan(self, shape: tuple[int, ...], rank: tuple[int, ...], dtype: np.dtype[Any]) -> DensePlan:  # noqa: ARG002
        """Operations and memory of a sweep."""
        n1, n2, n3 = third_order(shape)
        itemsize = working_dtype(dtype, self.dtype).itemsize
        threads = Threads(self.threads).count
        slices = n3 // 2 + 1
        matrix = ModeSplit.of((n1, n2), 0, 1)
        # L before and after, E, Z, and the Fourier slices
        memory = itemsize * (4 * prod(shape) + 2 * slices * n1 * n2)
        memory += min(threads, slices) * shrink_room(matrix, 1, itemsize=16) + row_room(shape, itemsize, threads)
        transforms = 2 * 5 * prod(shape) * max(1, n3.bit_length())
        plan = DensePlan("L1TNN", shape, transforms + 2 * n3 * shrink_cost(matrix), memory)
        return checked(plan, self.budget)

    def run(self, problem: Problem, threads: Threads) -> "L1TNNRun":
        """The fit, before its first sweep."""
        return L1TNNRun(self, problem, threads)


class L1TNNRun(TubalRun):
    """A running fit. E and Z vanish off Omega and are kept on it only; there M is L itself."""

    def __init__(self, solver: L1TNN, problem: Problem, threads: Threads) -> None:
        n1, n2, n3 = shape = third_order(problem.source.shape)
        super().__init__(solver, problem, threads, shape)
        self._slices = FourierSlices(shape, self.dtype)
        self._outliers = self.vector()  # E
        self._multiplier = self.vector()  # Z / beta
        self._data_norm = sqrt(sum(self.mapper(self.begin, self.observed.blocks)))
        if solver.penalty is None:
            self._threshold = _THRESHOLD * self._slices.norm(self.mapper) or 1.0  # 1 / beta
        else:
            self._threshold = 1.0 / (solver.penalty * self.size)
        self._weight = solver.outlier_weight or _WEIGHT / sqrt(self.share * max(n1, n2) * n3)  # lambda

    def sweep(self, number: int) -> SweepReport:  # noqa: ARG002
        """One iteration."""
        for _ in self.mapper(self._enter, self.observed.blocks):
            pass
        left = self._slices.shrink(self._threshold, self.mapper)  # L = prox_TNN(M + Z/beta - E, 1/beta)
        model = np.empty_like(self.model)

        def leave(block: RowBlock) -> tuple[float, float]:
            rows, place = block.rows, block.place
            model[rows] = self._slices.read(rows)
            moved = model[rows] - self.model[rows]
            values, mask = self.observed.read(block)
            residuals = values - model[rows][mask]  # M - L
            lifted = residuals + self._multiplier[place]
            outliers = soft(lifted, self._weight * self._threshold)  # E = soft(M + Z/beta - L, lambda/beta)
            self._outliers[place] = outliers
            self._multiplier[place] += _TAU * (residuals - outliers)  # Z = Z - tau beta (L + E - M)
            return float(np.vdot(moved, moved)), float(np.vdot(residuals, residuals))

        moved, squares = np.sum(list(self.mapper(leave, self.observed.blocks)), axis=0)
        self.model = model
        return SweepReport(
            change=sqrt(moved) / self._data_norm if self._data_norm else 0.0,
            loss=self.mean_loss(squares),
            settling=left == 0 and self._data_norm > 0.0,
        )

    def _enter(self, block: RowBlock) -> None:
        """``M + Z/beta - E`` into the slices, with M = X on Omega and the last L off it."""
        values, mask = self.observed.read(block)
        tubes = self.model[block.rows].copy()
        tubes[mask] = values + self._multiplier[block.place] - self._outliers[block.place]
        self._slices.write(block.rows, tubes)
