"""SampledTRALS (TRALS-S): alternating least squares in which every core update uses a few sampled rows.

Malik & Becker, "A Sampling-Based Method for Tensor Ring Decomposition", 2021; exact leverage scores after Malik, "More
Efficient Sampling for Tensor Decomposition With Worst-Case Guarantees", 2022.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from math import isfinite, prod
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ringlet.baselines.alternating import AlternatingRun, data_size, nearly_exact, relative_error, start_cores
from ringlet.baselines.dense_plan import DensePlan, checked
from ringlet.baselines.row_sampler import RowSampler
from ringlet.checks import check_number, check_one_of
from ringlet.errors import ArgumentError, ArgumentTypeError, DataWarning, warn
from ringlet.execution import Threads
from ringlet.results.records import RunState, SweepReport
from ringlet.results.saved_state import saved_array, saved_number
from ringlet.ring.arrays import Floats, Mapper
from ringlet.ring.chain import unfold
from ringlet.ring.gram import KroneckerSum
from ringlet.ring.ranks import bond_limits
from ringlet.sampling import Purpose, stream
from ringlet.sampling.exact_leverage import PIECE_ENTRIES
from ringlet.solvers.base import IterativeSolver, Problem, Solver, check_fits_machine, working_dtype
from ringlet.solvers.engine.gram_solve import solve_once
from ringlet.solvers.engine.row_sampling import row_core
from ringlet.solvers.sawrtrd.start import check_representable
from ringlet.sources import ArraySource

__all__ = ["SampledTRALS"]

_DEFAULT_SAMPLES = 10  # times the unknowns of a slice
_ENOUGH_SAMPLES = 2  # times the unknowns of a slice; fewer give a warning
_BLOCK_ENTRIES = 1 << 18  # sampled entries that are gathered at once
_BLOCK_ROWS = 1024  # sampled rows in a piece of the Gram matrix
_AVERAGED_SHARE = 3  # the last third of the sweeps averages, or all after the error first stalled
_AVERAGED_SWEEPS = 5  # averaging sweeps before which a small change is chance, and the fit continues
_FALLING = 0.7  # an error that falls by this factor in a sweep needs no averaging
_LEAST_STEP = 0.5


@dataclass(frozen=True, kw_only=True)
class SampledTRALS(IterativeSolver):
    """TRALS with sampled least squares problems (TRALS-S).

    Each core update draws J rows of the subchain and of the unfolded data, with replacement, by leverage scores, and
    solves the small, reweighted least squares problem ``min_A || (X_k - A S_k^T) sqrt(W) ||_F^2``. Only the sampled
    entries are read. Complete data in memory only, and not robust.

    Parameters
    ----------
    samples : int, optional
        Rows drawn for every update (the paper's J); by default ten times the largest ``r_k r_{k+1}``. Fewer than the
        unknowns of a slice are an error, fewer than twice as many give a `DataWarning`.
    sampling : {"product-leverage", "exact-leverage", "uniform"}
        "product-leverage" is the published method: each index is drawn by the leverage scores of its own core.
        "exact-leverage" draws rows by their scores in the whole subchain, which takes fewer rows where there are more
        than three modes, at O(J I r^4) operations for drawing them. "uniform" draws all rows with equal probability.
    average : bool
        The solution from a sample raises the squared error by a share of about ``r_k r_{k+1} / J`` in every core. True
        shortens steps by this share and, over the last third of the sweeps or once the error stalls, to 1/2, 1/3, ...,
        which averages over samples; a fit does not end before. False takes full steps, as published.
    ridge : float
        Penalty on the cores, relative to the mean diagonal of the Gram matrix.
    sweeps : int
        Maximum number of rounds over all cores.
    tol : float
        Stop when the relative error, estimated on fresh samples, changes by less in two consecutive sweeps; 0 runs all
        sweeps.
    dtype, memory, threads
        As in `ringlet.AWRTRD`.

    References
    ----------
    Malik & Becker, "A Sampling-Based Method for Tensor Ring Decomposition", ICML 2021. Malik, "More Efficient Sampling
    for Tensor Decomposition With Worst-Case Guarantees", ICML 2022.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.fromfunction(lambda i, j, k: np.cos(i / 9 + j / 7 + k), (60, 50, 40))
    >>> fit = ringlet.decompose(x, rank=2, solver=SampledTRALS(samples=40, tol=0))
    >>> bool(np.allclose(fit.ring, x, atol=1e-5))
    True
    """

    handles_missing: ClassVar[bool] = False
    robust: ClassVar[bool] = False
    resumable: ClassVar[bool] = True
    neutral: ClassVar[frozenset[str]] = Solver.neutral  # not `sweeps`: the last third of them averages
    patience: ClassVar[int] = 2

    samples: int | None = None
    sampling: Literal["product-leverage", "exact-leverage", "uniform"] = "product-leverage"
    average: bool = True
    ridge: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.samples is not None:
            check_number("samples", self.samples, at_least=1, whole=True)
        check_one_of("sampling", self.sampling, ("product-leverage", "exact-leverage", "uniform"))
        check_number("ridge", self.ridge, at_least=0)
        if not isinstance(self.average, bool):
            raise ArgumentTypeError(f"average={self.average!r} is not allowed; give True or False")

    def rows(self, shape: Sequence[int], rank: Sequence[int]) -> int:
        """J, at least as many as a slice has unknowns that data can determine."""
        if self.samples is None:
            return _DEFAULT_SAMPLES * max(_columns(rank))
        unknowns = max(_columns(bond_limits(shape, rank)))
        if self.samples < unknowns:
            raise ArgumentError(
                f"samples={self.samples} is not allowed with rank={tuple(rank)}: a slice has {unknowns} unknowns and "
                f"needs at least as many rows; five times as many, samples={5 * unknowns}, is a good start"
            )
        return self.samples

    def _warn_of_few_samples(self, shape: Sequence[int], rank: Sequence[int]) -> None:
        """Warn about few rows: their unknowns fit noise, and the error on other rows may exceed that of zeros."""
        unknowns = max(_columns(bond_limits(shape, rank)))
        if self.samples is not None and self.samples < _ENOUGH_SAMPLES * unknowns:
            warn(
                f"samples={self.samples} is little for rank={tuple(rank)}: a slice has {unknowns} unknowns, and the "
                f"fit may be worse than none; samples={5 * unknowns} is a good start",
                DataWarning,
            )

    def plan(self, shape: tuple[int, ...], rank: tuple[int, ...], dtype: np.dtype[Any]) -> DensePlan:
        """Operations of a sweep and memory."""
        rows, threads = self.rows(shape, rank), Threads(self.threads).count
        itemsize = working_dtype(dtype, self.dtype).itemsize
        wide = _columns(rank)
        operations, memory = 0, 0
        for length, columns in zip(shape, wide, strict=True):
            operations += 2 * rows * columns * (columns + length) + columns**3 + 4 * length * columns**2
            if self.sampling == "product-leverage":
                operations += 2 * length * columns * min(length, columns) + min(length, columns) ** 3
            elif self.sampling == "exact-leverage":  # all but the first mode are scored for every sample
                operations += 20 * columns**3 + 2 * rows * max(shape) * (len(shape) - 2) * max(wide) ** 2
            design = rows * columns * 3 * itemsize + columns**2 * (2 * itemsize + 24) + 5 * length * columns * 8
            block = min(_BLOCK_ENTRIES + rows, rows * length)
            memory = max(memory, design + threads * 3 * block * itemsize)
        if self.sampling == "exact-leverage":
            piece = max(PIECE_ENTRIES, max(shape) * max(wide))
            memory += 8 * (3 * threads * min(piece, rows * max(shape) * max(wide)) + 3 * rows * max(shape))
        ring = itemsize * sum(length * columns for length, columns in zip(shape, wide, strict=True))
        plan = DensePlan(type(self).__name__, shape, operations, memory + 2 * ring)
        return checked(plan, self.budget, advice="or a smaller rank or fewer samples")

    @contextmanager
    def start(self, problem: Problem) -> Iterator["SampledRun"]:
        """Begin a fit; the driver sweeps it."""
        source, rank = problem.source, problem.rank
        if not isinstance(source, ArraySource):
            raise ArgumentError("SampledTRALS needs data in memory, for it reads single rows; use ringlet.SAWRTRD()")
        plan = self.plan(source.shape, rank, source.dtype)
        self._warn_of_few_samples(source.shape, rank)
        check_fits_machine(plan, f"rank {rank} on shape {source.shape}", "give a smaller rank or fewer samples")
        with Threads(self.threads) as threads:
            yield SampledRun(self, problem, source, threads.run)


class SampledRun(AlternatingRun):
    """A running fit by sampled alternating least squares."""

    def __init__(self, solver: SampledTRALS, problem: Problem, source: ArraySource, mapper: Mapper) -> None:
        size, dtype = data_size(problem.survey), working_dtype(source.dtype, solver.dtype)
        check_representable(size, dtype)
        super().__init__(start_cores(problem, size, dtype), size)
        self._solver = solver
        self._source = source
        self._seed = problem.seed
        self._mapper = mapper
        self._sampler = RowSampler(self._cores, solver.sampling, solver.rows(source.shape, problem.rank), mapper)
        self._averaged = 0  # sweeps that have averaged
        self._calm = False  # time to average

    def state(self) -> RunState:
        """The cores, their scores, the last error, and the progress of averaging."""
        scores = {f"scores.{mode}": scores for mode, scores in enumerate(self._sampler.scores)}
        return {**super().state(), **scores, "averaged": self._averaged, "calm": int(self._calm)}

    def resume(self, state: RunState) -> None:
        """Continue from a state."""
        super().resume(state)
        scores = [
            saved_array(state, f"scores.{mode}", scores.shape, scores.dtype)
            for mode, scores in enumerate(self._sampler.scores)
        ]
        self._sampler.resume(self._cores, scores)
        self._averaged = int(saved_number(state, "averaged"))
        self._calm = bool(saved_number(state, "calm"))

    def sweep(self, number: int) -> SweepReport:
        """Update every core once, each from a sample of its own."""
        squares, norms = 0.0, 0.0
        rng = stream(self._seed, Purpose.SAMPLE, number)
        for mode in range(len(self._cores)):
            squared, norm = self._update(mode, rng)
            squares, norms = squares + squared, norms + norm
        before, self._error = self._error, relative_error(squares, norms)
        change = abs(before - self._error)
        last_third = _AVERAGED_SHARE * number >= (_AVERAGED_SHARE - 1) * self._solver.sweeps
        self._calm = self._calm or last_third or change < self._solver.tol
        if self._solver.average and self._calm and self._error >= _FALLING * before:
            self._averaged += 1
        mean = max(squares, 0.0) / len(self._cores) / prod(self._source.shape)
        return SweepReport(
            change=change,
            loss=0.5 * mean * self._size * self._size,
            settling=self._solver.average and self._averaged < _AVERAGED_SWEEPS,
        )

    def _update(self, mode: int, rng: np.random.Generator) -> tuple[float, float]:
        """Sampled least squares for core k; before it, the squared norms of residual and data, from the sample."""
        rows, weights = self._sampler.draw(self._cores, mode, rng)
        a, _, b = self._cores[mode].shape
        roots = np.sqrt(weights).astype(self._cores[mode].dtype)
        chain = row_core(self._cores, mode, rows)  # Z_{k+1}(i_{k+1}) .. Z_{k-1}(i_{k-1}) at each sampled row
        design = chain.transpose(1, 2, 0).reshape(len(roots), a * b)
        design *= roots[:, None]  # sqrt(W) S
        gram = self._gram(design)  # S^T W S
        core, level = unfold(self._cores[mode]), float(gram.trace())  # A
        right, norm = self._times_design(mode, rows, roots, design)  # X_k W S, || X_k sqrt(W) ||^2
        gradient: Floats = right - core @ gram  # d = X_k W S - A G
        squared = norm - float(np.vdot(core, right + gradient))  # || (X_k - A S^T) sqrt(W) ||^2
        if nearly_exact(squared, norm, design.dtype):
            gradient, squared = self._times_design(mode, rows, roots, design, core)
        if not (isfinite(level) and level > 0.0):
            return squared, norm
        penalty = self._solver.ridge * level / len(gram)
        if penalty > 0.0:
            gradient -= gradient.dtype.type(penalty) * core
        ridge = penalty + float(np.finfo(design.dtype).eps) * level
        step = solve_once(KroneckerSum.of(gram), ridge, gradient, self._mapper)  # h = d (G + lambda I)^-1
        gain = float(np.vdot(gradient, step))
        length = self._step_length(mode, len(roots), a * b, gain, max(squared - gain, 0.0))
        self._put_rows(mode, core + design.dtype.type(length) * step)  # A + eta h
        self._sampler.replace(mode, self._cores[mode])
        return squared, norm

    def _gram(self, design: Floats) -> Floats:
        def gram_of(start: int) -> Floats:
            part = design[start : start + _BLOCK_ROWS]
            return np.asarray(part.T @ part)

        first, *others = self._mapper(gram_of, range(0, len(design), _BLOCK_ROWS))
        return reduce(np.add, others, first)

    def _times_design(
        self, mode: int, rows: tuple[NDArray[np.intp], ...], roots: Floats, design: Floats, core: Floats | None = None
    ) -> tuple[Floats, float]:
        """``X_k W S``, and ``|| X_k sqrt(W) ||_F^2``, from the sampled entries; less ``A S^T`` if there is a core A."""
        length = self._source.shape[mode]
        out = np.empty((length, design.shape[1]), design.dtype)
        factors = roots * design.dtype.type(1.0 / self._size)
        step = max(1, _BLOCK_ENTRIES // len(factors))

        def product(start: int) -> float:
            values, _ = self._source.read_rows(mode, slice(start, min(start + step, length)), rows)
            entries: Floats = values.astype(design.dtype, copy=False)
            entries *= factors
            if core is not None:
                entries -= core[start : start + step] @ design.T
            np.matmul(entries, design, out=out[start : start + step])
            in_memory = entries.ravel(order="K")  # a view, whichever axis is the fastest
            return float(np.vdot(in_memory, in_memory))

        norm = float(sum(self._mapper(product, range(0, length, step))))
        return out, norm

    def _step_length(self, mode: int, rows: int, columns: int, gain: float, left: float) -> float:
        """eta: 1 without averaging; else reduced by the share of the step that is chance, then 1/2, 1/3, ...

        The squared error is lowered by `gain` on the sample, to `left`. A share of `left` of the gain is due to
        overfitting of few rows; the share is smaller if nearly all rows are sampled.
        """
        if not self._solver.average:
            return 1.0
        sampled = 1.0 - rows * self._source.shape[mode] / prod(self._source.shape)
        chance = sampled * columns / rows
        luck = sampled * left * columns / max(rows - columns, 1)
        first = max(_LEAST_STEP, 1.0 - chance, 1.0 - luck / gain if gain > 0.0 else 0.0)
        return 1.0 / (1.0 / first + self._averaged)


def _columns(rank: Sequence[int]) -> list[int]:
    """r_k r_{k+1} for every core."""
    return [before * after for before, after in zip(rank, (*rank[1:], rank[0]), strict=True)]
