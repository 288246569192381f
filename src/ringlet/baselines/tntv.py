"""TNTV: transformed tensor nuclear norm plus total variation plus l1, by symmetric Gauss-Seidel ADMM, in two stages."""

from dataclasses import dataclass
from math import ceil, pi, prod, sqrt
from typing import Any

import numpy as np
import scipy.fft

from ringlet.baselines.dense_completion import DenseCompletion, DenseRun, Floats, row_room, third_order
from ringlet.baselines.dense_plan import DensePlan, checked
from ringlet.baselines.observed import RowBlock
from ringlet.baselines.proximal import OrthogonalSlices, Unfolding, shrink_cost, shrink_room, soft
from ringlet.errors import ArgumentError
from ringlet.execution import Threads
from ringlet.ring.arrays import Run
from ringlet.solvers.checks import check_number
from ringlet.solvers.driver import SweepReport
from ringlet.solvers.problem import Problem
from ringlet.solvers.solver import working_dtype

__all__ = ["TNTV"]

_TAU = 1.618


@dataclass(frozen=True, kw_only=True)
class TNTV(DenseCompletion):
    """Robust completion by a transformed tensor nuclear norm and total variation."""

    sweeps: int = 200
    tv_weight: float = 0.01
    noise_weight: tuple[float, float] = (400.0, 1000.0)
    warm: bool = False

    def plan(self, shape: tuple[int, ...], rank: tuple[int, ...], dtype: np.dtype[Any]) -> DensePlan:  # noqa: ARG002
        itemsize = working_dtype(dtype, self.dtype).itemsize
        return checked(DensePlan("TNTV", shape, 1, 14 * itemsize * prod(shape)), self.budget)

    def run(self, problem: Problem, threads: Threads) -> "TNTVRun":
        return TNTVRun(self, problem, threads)


class TNTVRun(DenseRun):
    def __init__(self, solver: TNTV, problem: Problem, threads: Threads) -> None:
        if len(problem.source.shape) < 3:
            raise ArgumentError("order 2")
        self._shape3 = n1, n2, n3 = third_order(problem.source.shape)
        super().__init__(solver, problem, threads, self._shape3)
        self._solver = solver
        self._beta = solver.penalty * self.size if solver.penalty else 0.1
        self._lam = solver.outlier_weight or ceil(0.7 * n3) / sqrt(self.share * n3 * max(n1, n2))
        self._gamma = solver.tv_weight
        self._rho = solver.noise_weight[0] * self.size
        U = scipy.fft.dct(np.eye(n3), axis=0, norm="ortho").T
        self._slices = OrthogonalSlices(self._shape3, U.astype(self.dtype))
        self._zero()

        def begin(block: RowBlock) -> float:
            values, mask = self.observed.read(block)
            self._S[block.place] = e = self.extremes(values)
            values -= e
            return float(np.vdot(values, values))

        self._data_norm = sqrt(sum(self.run(begin, self.observed.blocks)))
        self._stage = 1

    def _zero(self):
        z = lambda: np.zeros(self._shape3, self.dtype)
        self._L = z()
        self._M = z()
        self._F = [z() for _ in range(3)]
        self._t2 = [z() for _ in range(3)]
        self._t3 = z()
        self._S = self.vector()
        self._t1 = self.vector()

    def sweep(self, number: int) -> SweepReport:
        if self._stage == 1 and number > self._solver.sweeps // 2:
            flat = self._L.reshape(-1, self._shape3[2]).astype(np.float64)
            _, U = np.linalg.eigh(flat.T @ flat)
            self._slices = OrthogonalSlices(self._shape3, U.astype(self.dtype))
            self._stage = 2
            self._rho = self._solver.noise_weight[1] * self.size
            if not self._solver.warm:
                self._zero()
        beta, rho, lam, gamma = self._beta, self._rho, self._lam, self._gamma
        M = self._M

        def A(block):
            rows, pl = block.rows, block.place
            v, mask = self.observed.read(block)
            L = self._L[rows]
            B = M[rows] + L - self._t3[rows]
            Z = beta * (v - L[mask] - self._S[pl] - self._t1[pl]) / (beta + rho)
            B[mask] = v + M[rows][mask] - self._S[pl] - Z - self._t1[pl] - self._t3[rows][mask]
            B /= 2
            self._slices.write(rows, B)

        for _ in self.run(A, self.observed.blocks):
            pass
        for m in range(3):
            self._F[m] = soft(np.roll(M, -1, m) - M - self._t2[m], gamma / beta)
        left = self._slices.shrink(1 / (2 * beta), self.run)
        new = np.empty_like(M)

        def Bp(block):
            rows, pl = block.rows, block.place
            v, mask = self.observed.read(block)
            new[rows] = self._slices.read(rows)
            r = v - new[rows][mask]
            Z = beta * (r - self._S[pl] - self._t1[pl]) / (beta + rho)
            S = soft(r - Z - self._t1[pl], lam / beta)
            self._t1[pl] += _TAU * (S + Z - r)
            self._S[pl] = S
            mv = new[rows] - self._L[rows]
            return float(np.vdot(mv, mv)), float(np.vdot(r, r))

        moved, sq = np.sum(list(self.run(Bp, self.observed.blocks)), axis=0)
        rhs = new + self._t3
        for m in range(3):
            g = self._t2[m] + self._F[m]
            rhs += np.roll(g, 1, m) - g
        den = 1.0
        for m in range(3):
            n = self._shape3[m]
            s = [1, 1, 1]
            f = np.arange(n if m < 2 else n // 2 + 1)
            s[m] = len(f)
            den = den + (2 - 2 * np.cos(2 * pi * f / n)).reshape(s)
        M = self._M = scipy.fft.irfftn(scipy.fft.rfftn(rhs) / den.astype(self.dtype), s=self._shape3)
        for m in range(3):
            self._t2[m] += _TAU * (self._F[m] - (np.roll(M, -1, m) - M))
        self._t3 += _TAU * (new - M)
        self._L = new
        self.model = new
        ap = float(np.linalg.norm(new - M))
        return SweepReport(change=max(sqrt(moved), ap) / self._data_norm, loss=self.mean_loss(sq), settling=self._stage == 1)
