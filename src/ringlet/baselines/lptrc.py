"""lp,eps-TRC: a tensor ring fitted in a smoothed lp norm, by one robust regression for every slice of every core."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod, sqrt
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.baselines.dense_plan import DensePlan, checked
from ringlet.baselines.observed import ordinary_range
from ringlet.errors import ArgumentError
from ringlet.execution import Threads
from ringlet.ring import GramChain
from ringlet.ring.chain import Core, merge
from ringlet.robust import Kernel, Loss
from ringlet.solvers.checks import check_number, check_one_of
from ringlet.solvers.driver import SweepReport, relative_change
from ringlet.solvers.problem import Problem
from ringlet.solvers.robust_run import RingSnapshot, automatic_ridge, check_representable, unknowns_per_entry
from ringlet.solvers.solver import IterativeSolver, check_fits_machine, working_dtype
from ringlet.solvers.start import given_start, measure, random_start
from ringlet.solvers.streamed_pass import refold, unfold
from ringlet.sources.base import slabs

__all__ = ["LpTRC", "lp_loss", "lp_prox"]

Floats: TypeAlias = NDArray[np.floating[Any]]

_EPSILON = 0.01  # eps over the data's size
_PENALTY = 20.0  # mu, for data of size 1
_STEPS = {"irls": 2, "admm": 40}
_NEWTON_STEPS = 8
_SUBCHAIN_NUMBERS = 1 << 23  # of the subchain that are formed at a time
_SLICE_ENTRIES = 1 << 17  # of the data that a thread reads at a time
_ENTRY_ARRAYS = 12  # arrays with a number for every entry of these slices that a thread works in
_CHANGE_SLICES = 1024  # slices of the last mode that the stop rule compares at most


@dataclass(frozen=True, kw_only=True)
class LpTRC(IterativeSolver):
    """Robust tensor ring completion in a smoothed lp norm.

    Minimises ``sum (e^2 + eps^2)^(p/2)`` over the residuals e of the observed entries, one core after the other. Every
    slice of a core is a robust regression of its own, solved by reweighted least squares or by ADMM. Entries that lie
    farther from the centre of the data than twice their size are left out.

    Parameters
    ----------
    p : float
        The exponent, above 0 and at most 1.
    epsilon : float, optional
        eps, in the data's units; by default 0.01 of their size. With ADMM and p < 1 it is what the adaptive smoothing,
        which keeps the problem convex, ends at: then outliers lose little of their influence, and "irls" is better.
    ridge : "auto" or float
        Penalty on the cores, relative to the mean diagonal of the normal equations. "auto" grows with the unknowns that
        each observed entry has to determine, and is zero where all entries are observed.
    method : {"irls", "admm"}
        How a regression is solved. "irls" is many times faster and reaches the same.
    steps : int, optional
        Iterations of a regression in a sweep; by default 2 of "irls" and 40 of "admm".
    penalty : float, optional
        mu of "admm", in the data's units to the power p - 2; by default 20 for data of size 1.
    sweeps : int
        At most so many rounds over all cores.
    tol : float
        Stop when the relative change of ``D = Z_N G_N Z_N^T`` is below it for two sweeps; 0 runs all sweeps.
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
            formed = min(columns, max(_SUBCHAIN_NUMBERS // unknowns, 1)) * unknowns * itemsize  # of S_k
            group = max(1, _SLICE_ENTRIES // columns)  # slices that a thread works on
            entries = _ENTRY_ARRAYS * group * columns * max(itemsize, 4)
            normal = 3 * 8 * group * unknowns**2
            room = max(room, 2 * formed + threads * (2 * formed + entries + normal))
            ring += length * unknowns
        return checked(DensePlan("LpTRC", shape, operations, room + 4 * ring * itemsize), self.budget)

    @contextmanager
    def start(self, problem: Problem) -> Iterator["LpTRCRun"]:
        """Begin a fit; the driver sweeps it."""
        with Threads(self.threads) as threads:
            yield LpTRCRun(self, problem, threads)


class LpTRCRun:
    """A fit under way, of data divided by their size. Cores are replaced, never written to."""

    def __init__(self, solver: LpTRC, problem: Problem, threads: Threads) -> None:
        source = problem.source
        plan = solver.plan(source.shape, problem.rank, source.dtype)
        check_fits_machine(plan, f"LpTRC with rank {problem.rank} on shape {source.shape}", "give a smaller rank")
        self._problem = problem
        self._run = threads.run
        self._dtype = working_dtype(source.dtype, solver.dtype)
        scale = measure(source, problem.survey, problem.seed)
        check_representable(scale.size, self._dtype)
        self._size = scale.size
        self._ordinary = ordinary_range(scale)
        if problem.init is None:
            self._cores = random_start(source.shape, problem.rank, scale.centre, self._dtype, problem.seed)
        else:
            self._cores = given_start(problem.init, source.shape, problem.rank, scale.size, self._dtype)
        self._p = solver.p
        self._loss = lp_loss(solver.p)
        self._epsilon = _EPSILON if solver.epsilon is None else solver.epsilon / scale.size
        self._penalty = _PENALTY if solver.penalty is None else solver.penalty * scale.size ** (2 - solver.p)
        self._by_weights = solver.method == "irls"
        self._steps = solver.steps or _STEPS[solver.method]
        if isinstance(solver.ridge, str):
            share = problem.survey.observed / prod(source.shape)
            level = max(1.0, abs(scale.centre))
            self._ridge = automatic_ridge(unknowns_per_entry(source.shape, problem.rank), share, level)
        else:
            self._ridge = float(solver.ridge)
        self._shape_gram: Floats | None = None  # D after the last sweep

    @property
    def kernel(self) -> Kernel:
        """The smoothed norm, as wide as its smoothing, in the data's units."""
        return Kernel(self._epsilon * self._size, self._loss)

    def snapshot(self) -> RingSnapshot:
        """The present model."""
        return RingSnapshot(tuple(self._cores), self._size, self._problem.survey.empty)

    def sweep(self, number: int) -> SweepReport:  # noqa: ARG002
        """Update every core once."""
        told = [self._update(mode) for mode in range(len(self._cores))]
        loss, trust = np.mean(told, axis=0) / self._problem.survey.observed
        before, self._shape_gram = self._shape_gram, self._last_mode_gram()
        return SweepReport(
            change=relative_change(self._shape_gram, before),
            loss=float(loss) * self._size * self._size,
            sigma=self.kernel.width,
            mean_weight=float(trust),
        )

    def _update(self, mode: int) -> tuple[float, float]:
        """One regression for every slice of core k; returns the loss and the weight of all entries before it."""
        rows = unfold(self._cores[mode])  # A_k
        subchain = Subchain(self._cores, mode)
        group = max(1, _SLICE_ENTRIES // subchain.columns)
        starts = range(0, len(rows), group)

        def regress(start: int) -> tuple[Floats, float, float]:
            slices = slice(start, min(start + group, len(rows)))
            values, mask = self._read(mode, slices, subchain)
            old = rows[slices]
            residuals = (values - subchain.forward(old))[mask]
            loss = float(np.sum(self._loss.value(residuals, self._epsilon)))
            trust = float(np.sum(self._loss.weight(residuals, self._epsilon, np.empty_like(residuals))))
            solve = self._irls if self._by_weights else self._admm
            return solve(subchain, values, mask, old), loss, trust

        solved, losses, trusts = zip(*self._run(regress, starts), strict=True)
        before, _, after = self._cores[mode].shape
        self._cores[mode] = refold(np.concatenate(solved), before, after)
        return sum(losses), sum(trusts)

    def _irls(self, subchain: "Subchain", values: Floats, mask: NDArray[np.bool_], rows: Floats) -> Floats:
        """Reweighted least squares: ``u = (A^T W A)^-1 A^T W y`` with W of the last residuals."""
        for _ in range(self._steps):
            residuals = values - subchain.forward(rows)
            weights = self._loss.weight(residuals, self._epsilon, np.empty_like(residuals))
            weights *= mask
            inverses = self._inverses(subchain.grams(weights, mask))
            right = subchain.adjoint(weights * values)
            rows = np.where(_speaks(mask), _times(inverses, right).astype(rows.dtype), rows)
        return rows

    def _admm(self, subchain: "Subchain", values: Floats, mask: NDArray[np.bool_], rows: Floats) -> Floats:
        """ADMM with ``e = A u - y``; the multiplier q is kept over mu."""
        inverses = self._inverses(subchain.grams(mask.astype(values.dtype), mask))
        errors: Floats = (subchain.forward(rows) - values) * mask  # e
        multiplier = np.zeros_like(errors)  # q / mu
        convex = values.dtype.type(sqrt(1.0 - self._p))
        for _ in range(self._steps):
            right = subchain.adjoint((errors + values - multiplier) * mask)
            rows = np.where(_speaks(mask), _times(inverses, right).astype(rows.dtype), rows)  # u = A^+ (e + y - q/mu)
            lifted = (subchain.forward(rows) - values + multiplier) * mask  # z = A u - y + q/mu
            largest = np.maximum(np.abs(errors).max(axis=1), np.abs(lifted).max(axis=1))
            smoothing = np.broadcast_to(convex * largest[:, None] + self._epsilon, mask.shape)  # eps
            errors[mask] = lp_prox(lifted[mask], self._p, smoothing[mask], self._penalty)
            multiplier = lifted - errors  # q = q + mu (A u - e - y)
        return rows

    def _inverses(self, grams: Floats) -> Floats:
        """Inverses of the normal equations of all slices, the ridge added; anything for slices without data."""
        unknowns = grams.shape[-1]
        levels = np.trace(grams, axis1=1, axis2=2) / unknowns
        least = 10 * unknowns * np.finfo(self._dtype).eps
        diagonal = np.arange(unknowns)
        grams[:, diagonal, diagonal] += np.where(levels > 0.0, max(self._ridge, least) * levels, 1.0)[:, None]
        return np.asarray(np.linalg.inv(grams))

    def _read(self, mode: int, slices: slice, subchain: "Subchain") -> tuple[Floats, NDArray[np.bool_]]:
        """Slices of the data as rows, in the order of the subchain, 0 where they say nothing; and where they do.

        Entries that are plainly outliers say nothing: a bond to spare would be spent on them.
        """
        order = len(self._cores)
        ring_order = [(mode + step) % order for step in range(order)]
        shape = (slices.stop - slices.start, subchain.columns)
        scaled, mask = np.zeros(shape, self._dtype), np.ones(shape, bool)
        for place, spans in subchain.pieces:
            block = dict(zip(ring_order, (slices, *spans), strict=True))
            values, observed = self._problem.source.read(tuple(block[axis] for axis in range(order)))
            if observed is not None:
                mask[:, place] = observed.transpose(ring_order).reshape(shape[0], -1)
            part = np.divide(values.transpose(ring_order).reshape(shape[0], -1), self._size, dtype=np.float64)
            low, high = self._ordinary
            mask[:, place] &= (part >= low) & (part <= high)
            np.copyto(scaled[:, place], part, where=mask[:, place], casting="same_kind")
        return scaled, mask

    def _last_mode_gram(self) -> Floats:
        """D = A_N G_N A_N^T, the Gram matrix of the model's last unfolding (at evenly spaced slices, if many)."""
        last = self._cores[-1]
        chosen = np.linspace(0, last.shape[1] - 1, min(last.shape[1], _CHANGE_SLICES)).astype(np.intp)
        rows = unfold(last[:, chosen, :]).astype(np.float64)
        gram: Floats = GramChain(self._cores, self._run).gram_without(len(self._cores) - 1)
        return rows @ gram @ rows.T


class Subchain:
    """S_k, of which only a piece is formed at a time unless it is small.

    Attributes
    ----------
    columns : int
        Rows of S_k, the columns of the unfolding X_k.
    pieces : list of (slice, tuple of slices)
        Which columns a piece holds, and the indices of the modes k+1, .., k-1 that they are.
    """

    def __init__(self, cores: list[Core], mode: int) -> None:
        self._chain = [*cores[mode + 1 :], *cores[:mode]]
        self._unknowns = cores[mode].shape[0] * cores[mode].shape[2]
        sizes = [core.shape[1] for core in self._chain]
        self.columns = prod(sizes)
        self.pieces = []
        start = 0
        for spans in slabs(sizes, max(1, _SUBCHAIN_NUMBERS // self._unknowns)):
            stop = start + prod(span.stop - span.start for span in spans)
            self.pieces.append((slice(start, stop), spans))
            start = stop
        self._held = self._form(self.pieces[0][1]) if len(self.pieces) == 1 else None

    def forward(self, rows: Floats) -> Floats:
        """``A S^T``: the model of some slices."""
        out = np.empty((len(rows), self.columns), rows.dtype)
        for place, part in self._parts():
            np.matmul(rows, part.T, out=out[:, place])
        return out

    def adjoint(self, entries: Floats) -> Floats:
        """``Y S``, in double precision."""
        total = np.zeros((len(entries), self._unknowns))
        for place, part in self._parts():
            total += entries[:, place] @ part
        return total

    def grams(self, weights: Floats, mask: NDArray[np.bool_]) -> Floats:
        """``S^T diag(w_i) S`` for every slice, in double precision, from the observed entries only."""
        total = np.zeros((len(weights), self._unknowns, self._unknowns))
        for place, part in self._parts():
            for gram, row, observed in zip(total, weights[:, place], mask[:, place], strict=True):
                design = part[observed]
                gram += design.T @ (design * row[observed, None])
        return total

    def _parts(self) -> Iterator[tuple[slice, Floats]]:
        for place, spans in self.pieces:
            yield place, self._form(spans) if self._held is None else self._held

    def _form(self, spans: tuple[slice, ...]) -> Floats:
        """Rows of S_k: ``S_k[j, (a, b)]`` is entry (b, a) of the product of the other cores at index j."""
        merged = merge([core[:, span, :] for core, span in zip(self._chain, spans, strict=True)])
        return np.ascontiguousarray(merged.transpose(1, 2, 0)).reshape(-1, self._unknowns)


def lp_loss(p: float) -> Loss:
    """The smoothed lp norm as a loss, of width eps: ``(e^2 + eps^2)^(p/2)`` up to a factor and a constant.

    Examples
    --------
    >>> loss = lp_loss(1.0)
    >>> residuals = np.array([0.0, 3.0])
    >>> loss.weight(residuals, 4.0, np.empty(2)), loss.value(residuals, 4.0)
    (array([1. , 0.8]), array([0., 4.]))
    """

    def weight(residual: Floats, width: float, out: Floats) -> Floats:
        np.multiply(residual, residual, out=out)
        out *= 1.0 / width**2
        out += 1.0
        return np.power(out, p / 2 - 1, out=out)  # w = (1 + e^2 / eps^2)^(p/2 - 1)

    def value(residual: Floats, width: float) -> Floats:
        return np.asarray(width**2 / p * ((1.0 + (residual / width) ** 2) ** (p / 2) - 1.0))

    return Loss("lp", weight, value)


def lp_prox(values: Floats, p: float, epsilon: float | Floats, penalty: float) -> Floats:
    """The minimiser of ``(e^2 + eps^2)^(p/2) + (mu/2) (e - z)^2`` for every entry z.

    It is the root of ``e + (p/mu) e (e^2 + eps^2)^(p/2 - 1) = z``. As long as the problem is convex (p = 1, or eps at
    least ``sqrt(1 - p) |z|``) the left side is concave for e >= 0: Newton's method climbs to the root from below.

    Examples
    --------
    >>> lp_prox(np.array([-2.0, 0.0, 2.0]), 1.0, 1e-6, 1.0).round(6)
    array([-1.,  0.,  1.])
    """
    goal = np.abs(values)
    root = goal / (1.0 + p / penalty * epsilon ** (p - 2))
    for _ in range(_NEWTON_STEPS):
        square = root * root + epsilon * epsilon
        slope = p / penalty * square ** (p / 2 - 1)
        root += (goal - root - slope * root) / (1.0 + slope * (1.0 + (p - 2) * root * root / square))
    return np.asarray(np.copysign(root, values))


def _speaks(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which slices hold any data, as a column; the others keep their core slice."""
    return np.asarray(mask.any(axis=1))[:, None]


def _times(matrices: Floats, rows: Floats) -> Floats:
    """One matrix for every row."""
    return np.asarray((matrices @ rows[..., None])[..., 0])
