"""lp,eps-TRC: a tensor ring fitted in a smoothed lp norm, by one robust regression for every slice of every core."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod, sqrt
from typing import Any, ClassVar, Literal

import numpy as np

from ringlet.baselines.dense_plan import DensePlan, checked
from ringlet.baselines.lp_norm import lp_loss, lp_prox
from ringlet.baselines.observed import ObservedSlices
from ringlet.baselines.subchain import HELD_NUMBERS, PIECE_NUMBERS, NormalEquations, Subchain, weighted_grams
from ringlet.checks import check_number, check_one_of
from ringlet.errors import ArgumentError
from ringlet.execution import Threads
from ringlet.results.records import RunState, SweepReport
from ringlet.results.ring_snapshot import RingSnapshot
from ringlet.results.saved_state import named_cores, saved_cores
from ringlet.ring import GramChain
from ringlet.ring.arrays import Floats
from ringlet.ring.chain import refold, unfold
from ringlet.ring.gram import relative_change
from ringlet.ring.ranks import unknowns_per_entry
from ringlet.robust import Kernel
from ringlet.solvers.base import IterativeSolver, Problem, check_fits_machine, working_dtype
from ringlet.solvers.engine.core_plan import cut
from ringlet.solvers.engine.scaled_step import Penalties
from ringlet.solvers.sawrtrd.start import check_representable, given_start, measure, random_start

__all__ = ["SLICE_ENTRIES", "LpTRC"]


_EPSILON = 0.01  # eps over the data's size
_WIDEST = 1e6  # the same: beyond, its powers leave the range of floats
_PENALTY = 20.0  # mu, for data of size 1
_STEPS = {"irls": 2, "admm": 40}
SLICE_ENTRIES = 1 << 17  # of the data that a thread reads at a time
_ENTRY_ARRAYS = 12  # arrays with a number for every entry of these slices that a thread works in


@dataclass(frozen=True, kw_only=True)
class LpTRC(IterativeSolver):
    """Robust tensor ring completion in a smoothed lp norm.

    Minimises ``sum (e^2 + eps^2)^(p/2)`` over the residuals e of the observed entries, one core after the other. Every
    slice of a core is a separate robust regression, solved by reweighted least squares or by ADMM. Entries that lie
    farther from the centre of the data than twice their size are left out.

    Parameters
    ----------
    p : float
        The exponent, above 0 and at most 1.
    epsilon : float, optional
        eps, in the data's units; by default 0.01 of their size, and at least the working precision's rounding error of
        it. With ADMM and p < 1 it is the final value of the adaptive smoothing, which keeps the problem convex. The
        influence of outliers is then reduced only little, and "irls" is better.
    ridge : "auto" or float
        Penalty on the cores, relative to the mean diagonal of the normal equations, or, for data far from zero, to the
        part of it that is due to their variation. "auto" increases with the number of unknowns per observed entry, and
        is zero where all entries are observed.
    method : {"irls", "admm"}
        How a regression is solved. "irls" is many times faster and reaches the same result.
    steps : int, optional
        Iterations of a regression in a sweep; by default 2 of "irls" and 40 of "admm".
    penalty : float, optional
        mu of "admm", and only of it, in the data's units to the power p - 2; by default 20 for data of size 1.
    sweeps : int
        Maximum number of rounds over all cores.
    tol : float
        Stop when the relative change of ``D = Z_N G_N Z_N^T`` is below it for two sweeps, times the level of the data
        over their size where that is above 1; 0 runs all sweeps.
    dtype, memory, threads
        As in `ringlet.AWRTRD`.

    References
    ----------
    Li & So, "Robust low-rank tensor completion based on tensor ring rank via lp,eps-norm", IEEE Trans. Signal Process.
    69, 2021.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.add.outer(np.add.outer(np.arange(12.0), np.arange(10.0)), np.arange(8.0))
    >>> damaged = x.copy()
    >>> damaged[2, 3, 1] = 1e4                       # wrong
    >>> damaged[5, 6, :4] = np.nan                   # missing
    >>> fit = ringlet.decompose(damaged, rank=3, solver=LpTRC(epsilon=0.1))
    >>> bool(abs(fit.ring[2, 3, 1] - 6.0) < 0.1), bool(fit.weights((2, 3, 1)) < 0.01)
    (True, True)
    """

    handles_missing: ClassVar[bool] = True
    robust: ClassVar[bool] = True
    resumable: ClassVar[bool] = True
    patience: ClassVar[int] = 2

    p: float = 1.0
    epsilon: float | None = None
    ridge: Literal["auto"] | float = "auto"
    method: Literal["irls", "admm"] = "irls"
    steps: int | None = None
    penalty: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("p", self.p, above=0)
        if self.p > 1:
            raise ArgumentError(f"p={self.p!r} is not allowed; it must be above 0 and at most 1")
        check_one_of("method", self.method, _STEPS)
        if isinstance(self.ridge, str):
            check_one_of("ridge", self.ridge, ("auto",), " or a number, at least 0")
        else:
            check_number("ridge", self.ridge, at_least=0)
        for name in ("epsilon", "penalty"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), above=0)
        if self.penalty is not None and self.method != "admm":
            raise ArgumentError(
                f"penalty={self.penalty!r} is not allowed with method={self.method!r}, which has none; "
                "leave it out, or give method='admm'"
            )
        if self.steps is not None:
            check_number("steps", self.steps, at_least=1, whole=True)

    def plan(self, shape: tuple[int, ...], rank: tuple[int, ...], dtype: np.dtype[Any]) -> DensePlan:
        """Operations and memory of a sweep."""
        itemsize = working_dtype(dtype, self.dtype).itemsize
        threads = Threads(self.threads).count
        steps = self.steps or _STEPS[self.method]
        passes = steps if self.method == "irls" else 1
        operations, room, ring = 0, 0, 0
        for mode, length in enumerate(shape):
            unknowns = rank[mode] * rank[(mode + 1) % len(shape)]
            columns = prod(shape) // length
            operations += prod(shape) * (2 * passes * unknowns**2 + 4 * steps * unknowns)
            held = columns * unknowns <= HELD_NUMBERS
            piece = columns if held else min(columns, max(1, PIECE_NUMBERS // unknowns))
            formed = 2 * piece * unknowns * itemsize  # of S_k, and the cores merged for it
            at_once = piece if self.method == "irls" else columns
            entries = min(max(SLICE_ENTRIES, at_once), prod(shape))
            scratch = _ENTRY_ARRAYS * entries * itemsize + piece * unknowns * itemsize
            normal = 8 * min(length, max(1, SLICE_ENTRIES // at_once)) * unknowns**2
            room = max(room, (1 if held else threads) * formed + threads * scratch + (3 * threads + 3) * normal)
            ring += length * unknowns
        return checked(DensePlan("LpTRC", shape, operations, room + 4 * ring * itemsize), self.budget)

    @contextmanager
    def start(self, problem: Problem) -> Iterator["LpTRCRun"]:
        """Begin a fit; the driver sweeps it."""
        with Threads(self.threads) as threads:
            yield LpTRCRun(self, problem, threads)


class LpTRCRun:
    """A running fit of data divided by their size. Cores are replaced, never written to."""

    def __init__(self, solver: LpTRC, problem: Problem, threads: Threads) -> None:
        source = problem.source
        plan = solver.plan(source.shape, problem.rank, source.dtype)
        check_fits_machine(plan, f"LpTRC with rank {problem.rank} on shape {source.shape}", "give a smaller rank")
        self._problem = problem
        self._mapper = threads.run
        self._dtype = working_dtype(source.dtype, solver.dtype)
        scale = measure(source, problem.survey, problem.seed)
        check_representable(scale.data_range, self._dtype)
        self._size = scale.data_range
        self._level = scale.level
        self._observed = ObservedSlices(source, scale, self._dtype)
        if problem.init is None:
            self._cores = random_start(source.shape, problem.rank, scale.centre, self._dtype, problem.seed)
        else:
            self._cores = given_start(problem.init, source.shape, problem.rank, scale.data_range, self._dtype)
        self._p = solver.p
        self._loss = lp_loss(solver.p)
        self._epsilon = _epsilon_of(solver, scale.data_range, self._dtype)
        self._penalty = _PENALTY if solver.penalty is None else solver.penalty * scale.data_range ** (2 - solver.p)
        self._by_weights = solver.method == "irls"
        self._steps = solver.steps or _STEPS[solver.method]
        if isinstance(solver.ridge, str):
            share = problem.survey.observed / prod(source.shape)
            ridge = Penalties(None, ()).ridge_for(unknowns_per_entry(source.shape, problem.rank), share)
        else:
            ridge = float(solver.ridge)
        self._ridge = scale.penalty_unit * ridge
        self._shape_gram: Floats | None = None  # D after the last sweep

    def snapshot(self) -> RingSnapshot:
        """The current model; its kernel is the smoothed norm, as wide as its smoothing."""
        kernel = Kernel(self._epsilon * self._size, self._loss)
        return RingSnapshot(tuple(self._cores), self._size, self._problem.survey.empty, kernel)

    def state(self) -> RunState:
        """The cores, which are the whole state."""
        return named_cores(self._cores)

    def resume(self, state: RunState) -> None:
        """Continue from a state."""
        self._cores = saved_cores(state, self._cores)
        self._shape_gram = GramChain(self._cores, self._mapper).unfolding_gram(len(self._cores) - 1)

    def sweep(self, number: int) -> SweepReport:  # noqa: ARG002
        """Update every core once."""
        told = [self._update(mode) for mode in range(len(self._cores))]
        loss, trust = np.mean(told, axis=0) / self._problem.survey.observed
        before, self._shape_gram = (
            self._shape_gram,
            GramChain(self._cores, self._mapper).unfolding_gram(len(self._cores) - 1),
        )
        return SweepReport(
            change=relative_change(self._shape_gram, before) * self._level,  # against the data's size, not their level
            loss=float(loss) * self._size * self._size,
            sigma=self._epsilon * self._size,
            mean_weight=float(trust),
        )

    def _update(self, mode: int) -> tuple[float, float]:
        """One regression for every slice of core k; returns the loss and the weight of all entries before it."""
        rows = unfold(self._cores[mode])  # A_k
        subchain = Subchain(self._cores, mode)
        if self._by_weights:
            told = []
            for _ in range(self._steps):
                rows, *numbers = self._reweighted(mode, subchain, rows)
                told.append(numbers)
            loss, trust = told[0]
        else:
            rows, loss, trust = self._admm(mode, subchain, rows)
        before, _, after = self._cores[mode].shape
        self._cores[mode] = refold(rows, before, after)
        return loss, trust

    def _reweighted(self, mode: int, subchain: Subchain, rows: Floats) -> tuple[Floats, float, float]:
        """``u + (A^T W A)^-1 A^T W (y - A u)`` for all slices, W from the residuals; their loss and weight before."""
        pieces = subchain.pieces
        group = max(1, SLICE_ENTRIES // (pieces[0][0].stop - pieces[0][0].start))
        work = [(slices, *piece) for slices in cut(len(rows), group) for piece in pieces]

        def normal_equations(item: tuple[slice, slice, tuple[slice, ...]]) -> list[Any]:
            slices, _, spans = item
            values, mask = self._observed.read(mode, slices, spans)
            part = subchain.rows(spans)
            residuals = values - rows[slices] @ part.T
            weights = self._loss.weight(residuals, self._epsilon, np.empty_like(residuals))
            weights *= mask
            loss = float(np.sum(self._loss.value(residuals[mask], self._epsilon)))
            gradient = ((weights * residuals) @ part).astype(np.float64)
            return [weighted_grams(part, weights, mask), gradient, loss, float(np.sum(weights))]

        new, loss, trust = np.empty_like(rows), 0.0, 0.0
        total: list[Any] = []
        for (slices, place, _), found in zip(work, self._mapper(normal_equations, work), strict=True):
            total = [sofar + more for sofar, more in zip(total, found, strict=True)] if place.start else found
            if place.stop == subchain.columns:
                grams, gradient, *numbers = total
                equations = NormalEquations(grams, self._ridge, self._dtype)
                new[slices] = rows[slices] + equations.step(rows[slices], gradient)
                loss, trust = loss + numbers[0], trust + numbers[1]
        return new, loss, trust

    def _admm(self, mode: int, subchain: Subchain, rows: Floats) -> tuple[Floats, float, float]:
        """ADMM with ``e = A u - y`` for all slices; the loss and the weight of their residuals before."""

        def regress(slices: slice) -> tuple[Floats, float, float]:
            parts = [self._observed.read(mode, slices, spans) for _, spans in subchain.pieces]
            values, mask = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
            u = rows[slices]
            misfit: Floats = (subchain.forward(u) - values) * mask  # A u - y
            before = misfit[mask]
            loss = float(np.sum(self._loss.value(before, self._epsilon)))
            trust = float(np.sum(self._loss.weight(before, self._epsilon, np.empty_like(before))))
            equations = NormalEquations(subchain.grams(mask), self._ridge, self._dtype)
            errors, multiplier = misfit.copy(), np.zeros_like(misfit)  # e, q / mu
            for _ in range(self._steps):
                gradient = subchain.adjoint(errors - multiplier - misfit)
                u = (u + equations.step(u, gradient)).astype(rows.dtype)  # u = A^+ (e + y - q/mu)
                misfit = (subchain.forward(u) - values) * mask
                lifted = misfit + multiplier  # z = A u - y + q/mu
                largest = np.maximum(np.abs(errors).max(axis=1), np.abs(lifted).max(axis=1))
                smoothing = sqrt(1.0 - self._p) * largest[:, None] + self._epsilon  # eps
                smoothing = np.broadcast_to(smoothing, mask.shape)
                errors[mask] = lp_prox(lifted[mask], self._p, smoothing[mask], self._penalty)
                multiplier = lifted - errors  # q = q + mu (A u - e - y)
            return u, loss, trust

        groups = cut(len(rows), max(1, SLICE_ENTRIES // subchain.columns))
        solved, losses, trusts = zip(*self._mapper(regress, groups), strict=True)
        return np.concatenate(solved), sum(losses), sum(trusts)


def _epsilon_of(solver: LpTRC, size: float, dtype: np.dtype[Any]) -> float:
    """The smoothing over the data's size. Below rounding errors it has no effect, and 1 / eps^2 may overflow."""
    least = float(np.finfo(dtype).eps)
    if solver.epsilon is None:
        return _EPSILON
    if solver.epsilon < least * size:
        raise ArgumentError(
            f"epsilon={solver.epsilon!r} is not allowed with data of size {size:.3g} in {dtype.name}; "
            f"it must be at least {least * size:.3g}, their rounding errors"
        )
    if solver.epsilon > _WIDEST * size:
        raise ArgumentError(
            f"epsilon={solver.epsilon!r} is not allowed with data of size {size:.3g}; it must be at most "
            f"{_WIDEST * size:.3g}, where the method is least squares"
        )
    return solver.epsilon / size
