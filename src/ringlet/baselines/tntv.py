"""TNTV: transformed tensor nuclear norm plus total variation plus l1, by symmetric Gauss-Seidel ADMM, in two stages."""

from dataclasses import dataclass
from math import pi, prod, sqrt
from typing import Any

import numpy as np
import scipy

from ringlet.baselines.dense_completion import DenseCompletion, TubalRun, row_room, third_order
from ringlet.baselines.dense_plan import DensePlan, checked
from ringlet.baselines.observed import RowBlock, row_spans
from ringlet.baselines.proximal import EIGEN_ARRAYS, ModeSplit, shrink_cost, shrink_room, soft
from ringlet.baselines.tubal import CosineSlices, OrthogonalSlices, TubalSlices
from ringlet.checks import check_number
from ringlet.errors import ArgumentError
from ringlet.execution import Threads
from ringlet.results.records import SweepReport
from ringlet.ring.arrays import Floats, Mapper
from ringlet.solvers.base import Problem, working_dtype

__all__ = ["TNTV", "adjoint_difference", "forward_difference", "smooth"]

_TAU = 1.618  # step of the multipliers, below the golden ratio
# Defaults, measured on photos: lambda over 1 / sqrt(rho max(n1, n2)), gamma and rho over that lambda.
_OUTLIERS, _VARIATION, _NOISE = 1.2, 0.03, 100.0
_THRESHOLD = 0.05  # 1 / (2 beta) over the largest singular value of the data
_AXES = range(3)
_SECOND_LEAST = 10  # sweeps that the second stage makes before it may stop


@dataclass(frozen=True, kw_only=True)
class TNTV(DenseCompletion):
    """Robust completion by a transformed tensor nuclear norm and total variation.

    Minimises ``||L||_T + lambda ||S||_1 + gamma ||D L||_1 + (rho/2) ||P o Z||_F^2`` subject to ``L + S + Z = P o X``.
    ``||L||_T`` sums the nuclear norms of the slices after an orthogonal transform along the third mode, D are the
    periodic differences along all three modes, and Z takes up dense noise. The transform is the discrete cosine
    transform at first, then the left singular vectors of the third unfolding of the estimate so far (at most n1 n2);
    the second stage continues from the first. Tensors of a higher order are taken as I1 x I2 x (all others).

    Parameters
    ----------
    outlier_weight : float, optional
        lambda; by default ``1.2 / sqrt(rho_s max(n1, n2))``, rho_s being the share of observed entries.
    tv_weight : float, optional
        gamma; by default 0.03 of the default of lambda.
    noise_weight : float, optional
        rho, in inverse units of the data: residuals up to lambda / rho are dense noise, not outliers. By default 100
        times the default of lambda over the data's size, so that with both defaults they are 0.01 of that size.
    penalty : float, optional
        beta, in inverse units of the data: singular values are thresholded by ``1 / (2 beta)``. By default that is 0.05
        of the largest one of the data. It changes the convergence, not the solution.
    sweeps : int
        Maximum number of iterations; the first stage uses at most half of them.
    tol : float
        A stage ends when ``||L - L_last||_F`` and the violation of the constraint ``L = M`` are below this share of the
        norm of the observed entries; 0 runs all sweeps.
    dtype, memory, threads
        As in `ringlet.AWRTRD`.

    References
    ----------
    Qiu, Bai, Ng & Zhang, "Robust low-rank tensor completion via transformed tensor nuclear norm with total variation
    regularization", Neurocomputing 435, 2021.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.add.outer(np.add.outer(np.arange(20.0), np.arange(16.0)), np.zeros(3))
    >>> damaged = x.copy()
    >>> damaged[2, 3, 1] = 1e3                       # wrong
    >>> damaged[5, 6] = np.nan                       # missing
    >>> estimate = ringlet.complete(damaged, solver=TNTV()).tensor
    >>> bool(abs(estimate[2, 3, 1] - 5.0) < 0.5), bool(abs(estimate[5, 6, 0] - 11.0) < 0.5)
    (True, True)
    """

    sweeps: int = 200
    tv_weight: float | None = None
    noise_weight: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tv_weight is not None:
            check_number("tv_weight", self.tv_weight, at_least=0)
        if self.noise_weight is not None:
            check_number("noise_weight", self.noise_weight, above=0)

    def plan(self, shape: tuple[int, ...], rank: tuple[int, ...], dtype: np.dtype[Any]) -> DensePlan:  # noqa: ARG002
        """Operations and memory of a sweep."""
        if len(shape) < 3:
            raise ArgumentError(
                f"TNTV needs a tensor of order 3 or more, but the data have shape {shape}; "
                "for a matrix take ringlet.baselines.L1TNN()"
            )
        n1, n2, n3 = third_order(shape)
        itemsize = working_dtype(dtype, self.dtype).itemsize
        threads = Threads(self.threads).count
        matrix = ModeSplit.of((n1, n2), 0, 1)
        # L before and after, M, T3, three of F and of T2; the slices; S and T1; the half spectrum of M
        memory = itemsize * (13 * prod(shape) + 2 * n1 * n2 * (n3 // 2 + 1))
        width = min(n3, n1 * n2)  # columns of U
        memory += itemsize * n3 * width + _transform_room(n1 * n2, n3, itemsize)
        memory += min(threads, n3) * shrink_room(matrix, 1) + row_room(shape, itemsize, threads)
        transforms = 2 * prod(shape) * (2 * width + 5 * (n1 * n2 * n3).bit_length())
        return checked(DensePlan("TNTV", shape, transforms + n3 * shrink_cost(matrix), memory), self.budget)

    def run(self, problem: Problem, threads: Threads) -> "TNTVRun":
        """The fit, before its first sweep."""
        return TNTVRun(self, problem, threads)


class TNTVRun(TubalRun):
    """A running fit.

    S and T1 vanish off Omega and are kept on it only; Z follows from the others and is -L off Omega. Multipliers are
    kept over beta: T1 is T1 / beta, and so on.
    """

    def __init__(self, solver: TNTV, problem: Problem, threads: Threads) -> None:
        n1, n2, _ = shape = third_order(problem.source.shape)
        super().__init__(solver, problem, threads, shape)
        self._slices: TubalSlices = CosineSlices(shape, self.dtype)
        self._outliers, self._t1 = self.vector(), self.vector()  # S
        self._split = np.zeros(shape, self.dtype)  # M
        self._differences = [np.zeros(shape, self.dtype) for _ in _AXES]  # F
        self._t2 = [np.zeros(shape, self.dtype) for _ in _AXES]
        self._t3 = np.zeros(shape, self.dtype)
        self._data_norm = sqrt(sum(self.mapper(self.begin, self.observed.blocks)))
        if solver.penalty is None:
            self._beta = 0.5 / (_THRESHOLD * self._slices.norm(self.mapper) or 1.0)
        else:
            self._beta = solver.penalty * self.size
        usual = _OUTLIERS / sqrt(self.share * max(n1, n2))
        self._weight = solver.outlier_weight or usual  # lambda
        self._variation = _VARIATION * usual if solver.tv_weight is None else solver.tv_weight  # gamma
        noise = _NOISE * usual if solver.noise_weight is None else solver.noise_weight * self.size  # rho
        self._noise_share = self._beta / (self._beta + noise)
        self._last_of_first, self._tol = max(1, solver.sweeps // 2), solver.tol

    def sweep(self, number: int) -> SweepReport:
        """One iteration; the last of the first stage also chooses the transform of the second."""
        blocks = self.observed.blocks
        for _ in self.mapper(self._enter, blocks):
            pass
        left = self._slices.shrink(0.5 / self._beta, self.mapper)  # L = prox(.., 1 / (2 beta))
        model = np.empty_like(self.model)
        moved, squares = np.sum(list(self.mapper(lambda block: self._leave(block, model), blocks)), axis=0)
        smooth(self._split, self.mapper)  # (D^T D + I) M = D^T (T2/beta + F) + L + T3/beta
        apart = sum(self.mapper(lambda block: self._lift(block, model), blocks))
        self.model = model
        change = sqrt(max(moved, apart)) / self._data_norm if self._data_norm else 0.0
        first = number <= self._last_of_first
        if first and (number == self._last_of_first or (change < self._tol and left)):
            self._last_of_first = number
            self._slices = OrthogonalSlices(model.shape, _third_basis(model))
        settling = number < self._last_of_first + _SECOND_LEAST or left == 0
        return SweepReport(change, self.mean_loss(squares), settling=settling and self._data_norm > 0.0)

    def _enter(self, block: RowBlock) -> None:
        """What becomes L, and the differences F."""
        rows, place = block.rows, block.place
        values, mask = self.observed.read(block)
        rest = values - self._outliers[place] - self._t1[place]  # O - S - T1/beta
        noise = self._noise_share * (rest - self.model[rows][mask])  # Z = (beta (O - L - S) - T1) / (beta + rho)
        tubes = self.model[rows].copy()  # -Z off Omega
        tubes[mask] = rest - noise
        tubes += self._split[rows]
        tubes -= self._t3[rows]
        tubes *= self.dtype.type(0.5)
        self._slices.write(rows, tubes)  # (O + M - S - Z - (T1 + T3)/beta) / 2
        for axis in _AXES:  # F = soft(D M - T2/beta, gamma/beta)
            differences = forward_difference(self._split, axis, rows) - self._t2[axis][rows]
            self._differences[axis][rows] = soft(differences, self._variation / self._beta)

    def _leave(self, block: RowBlock, model: Floats) -> tuple[float, float]:
        """The new L, the outliers S, the multiplier T1, and the right-hand side of the equation for M."""
        rows, place = block.rows, block.place
        values, mask = self.observed.read(block)
        model[rows] = self._slices.read(rows)
        residuals = values - model[rows][mask]
        noise = self._noise_share * (residuals - self._outliers[place] - self._t1[place])  # Z again, with the new L
        lifted = residuals - noise - self._t1[place]
        self._outliers[place] = outliers = soft(lifted, self._weight / self._beta)  # S = soft(O - L - Z - T1/beta, ..)
        self._t1[place] += _TAU * (outliers + noise - residuals)  # T1 = T1 + tau beta (L + S + Z - O)
        right = self._split[rows]
        np.add(model[rows], self._t3[rows], out=right)
        for axis in _AXES:
            right += adjoint_difference(self._t2[axis], axis, rows)
            right += adjoint_difference(self._differences[axis], axis, rows)
        moved = model[rows] - self.model[rows]
        return float(np.vdot(moved, moved)), float(np.vdot(residuals, residuals))

    def _lift(self, block: RowBlock, model: Floats) -> float:
        """The multipliers T2 and T3; returns ``||L - M||^2``."""
        rows = block.rows
        for axis in _AXES:  # T2 = T2 + tau beta (F - D M)
            violation = self._differences[axis][rows] - forward_difference(self._split, axis, rows)
            self._t2[axis][rows] += _TAU * violation
        apart = model[rows] - self._split[rows]
        self._t3[rows] += _TAU * apart  # T3 = T3 + tau beta (L - M)
        return float(np.vdot(apart, apart))


def forward_difference(field: Floats, axis: int, rows: slice) -> Floats:
    """Some rows of the periodic forward difference along an axis.

    Examples
    --------
    >>> forward_difference(np.array([1.0, 3.0, 7.0]), 0, slice(1, 3))
    array([ 4., -6.])
    """
    return _neighbours(field, axis, rows, 1) - field[rows]


def adjoint_difference(field: Floats, axis: int, rows: slice) -> Floats:
    """Some rows of the adjoint of `forward_difference`."""
    return _neighbours(field, axis, rows, -1) - field[rows]


def smooth(field: Floats, mapper: Mapper) -> None:
    """Solve ``(D^T D + I) M = field`` in place, D being the periodic differences along three modes.

    The Fourier transform makes it a division by ``1 + sum_m (2 - 2 cos(2 pi f_m / n_m))``.
    """
    n1, n2, n3 = field.shape
    spectrum = np.empty((n1, n2, n3 // 2 + 1), np.result_type(field.dtype, np.complex64))
    first, second, third = (2 - 2 * np.cos(2 * pi * np.arange(length) / length) for length in field.shape)
    rows = row_spans(field.shape)
    columns = row_spans((n2, n1, n3))

    def transform(span: slice) -> None:
        spectrum[span] = scipy.fft.fft(scipy.fft.rfft(field[span], axis=2), axis=1)

    def divide(span: slice) -> None:
        part = scipy.fft.fft(spectrum[:, span], axis=0)
        part /= (1.0 + first[:, None, None] + second[span, None] + third[: n3 // 2 + 1]).astype(field.dtype)
        spectrum[:, span] = scipy.fft.ifft(part, axis=0)

    def back(span: slice) -> None:
        field[span] = scipy.fft.irfft(scipy.fft.ifft(spectrum[span], axis=1), n=n3, axis=2)

    for work, spans in ((transform, rows), (divide, columns), (back, rows)):
        for _ in mapper(work, spans):
            pass


def _neighbours(field: Floats, axis: int, rows: slice, step: int) -> Floats:
    """The entries one step ahead along an axis, periodic, of some rows."""
    if axis == 0:
        return np.take(field, np.arange(rows.start + step, rows.stop + step), axis=0, mode="wrap")
    return np.asarray(np.roll(field[rows], -step, axis))


def _third_basis(model: Floats) -> Floats:
    """U: the left singular vectors of the third unfolding, as columns."""
    n1, n2, n3 = model.shape
    if n3 > n1 * n2:
        basis, triangle = np.linalg.qr(model.reshape(-1, n3).T)
        return np.asarray(basis @ np.linalg.svd(triangle)[0])
    gram = np.zeros((n3, n3))
    for rows in row_spans(model.shape):
        tubes = model[rows].reshape(-1, n3).astype(np.float64)
        gram += tubes.T @ tubes
    return np.asarray(np.linalg.eigh(gram)[1].astype(model.dtype))


def _transform_room(columns: int, n3: int, itemsize: int) -> int:
    """Working memory in bytes for the left singular vectors of the third unfolding, beside the result."""
    return 3 * itemsize * n3 * columns if n3 > columns else 8 * EIGEN_ARRAYS * n3 * n3
