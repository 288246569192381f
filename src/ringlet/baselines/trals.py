"""TRALS: tensor ring decomposition by alternating least squares.

Zhao, Zhou, Xie, Zhang & Cichocki, "Tensor Ring Decomposition", 2016, Algorithm 2.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from ringlet.baselines.alternating import AlternatingRun, data_size, nearly_exact, relative_error, start_cores
from ringlet.execution import Threads
from ringlet.results.records import RunState, SweepReport
from ringlet.ring import GramChain
from ringlet.ring.arrays import Array64
from ringlet.ring.chain import Core
from ringlet.ring.gram import KroneckerSum
from ringlet.solvers.base import IterativeSolver, Problem, check_fits_machine, working_dtype
from ringlet.solvers.engine.device_pass import DevicePass
from ringlet.solvers.engine.fit_plan import FitPlan, FitWork, plan_fit
from ringlet.solvers.engine.gram_solve import GramFactor
from ringlet.solvers.engine.streamed_pass import Sketch, StreamedPass
from ringlet.solvers.engine.subchain import Resources
from ringlet.solvers.sawrtrd.start import check_representable
from ringlet.sources import Source

__all__ = ["TRALS", "LeastSquaresRun"]


@dataclass(frozen=True, kw_only=True)
class TRALS(IterativeSolver):
    """Tensor ring decomposition by alternating least squares.

    Minimises ``|| X - TR(Z_1 .. Z_N) ||_F^2``.

    Each core in turn is set to its least squares solution while the others are held. Up to rounding errors the error
    never increases; the result depends on the start. Complete data only, and not robust.

    Parameters
    ----------
    sweeps : int
        Maximum number of rounds over all cores.
    tol : float
        Stop when the relative error ``|| X - Xhat ||_F / || X ||_F`` changes by less in a sweep; 0 runs all sweeps.
    dtype, memory, threads
        As in `ringlet.AWRTRD`.

    Notes
    -----
    Normal equations, with the Gram matrix from the cores alone and the subchain never formed unless that is cheaper.
    They are solved for the change of the core, ``A + (X S - A G) (G + lambda I)^-1`` with lambda = 1e-10 ||G||_F + eps
    tr(G), eps being the precision of the cores: the ridge then slows directions that the subchain hardly determines,
    instead of pulling them to zero, so it costs no accuracy and rank-deficient designs stay stable. Where the squared
    relative error is below 1e3 eps, ``X S - A G`` is taken from the residual, as ``(X - A S^T) S``: a product more.

    References
    ----------
    Zhao, Zhou, Xie, Zhang & Cichocki, "Tensor Ring Decomposition", arXiv:1606.05535, 2016, Algorithm 2.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.fromfunction(lambda i, j, k: np.cos(i / 9 + j / 7 + k), (20, 15, 4))
    >>> fit = ringlet.decompose(x, rank=2, solver=TRALS(tol=0))
    >>> bool(np.allclose(fit.ring, x, atol=1e-6))
    True
    """

    handles_missing: ClassVar[bool] = False
    robust: ClassVar[bool] = False
    resumable: ClassVar[bool] = True
    distributes: ClassVar[bool] = True

    def plan(self, shape: tuple[int, ...], rank: tuple[int, ...], dtype: np.dtype[Any]) -> FitPlan:
        """Operations, bytes read and memory of a sweep."""
        work = FitWork(
            tuple(shape),
            tuple(rank),
            data_itemsize=dtype.itemsize,
            itemsize=working_dtype(dtype, self.dtype).itemsize,
            threads=Threads(self.threads).count,
            memory=self.budget,
            products=(1,) * (len(shape) - 1) + (2,),  # the last core's update also takes the residual
        )
        return plan_fit(work)

    @contextmanager
    def start(self, problem: Problem) -> Iterator["LeastSquaresRun"]:
        """Begin a fit; the driver sweeps it."""
        source, rank = problem.source, problem.rank
        plan = self.plan(source.shape, rank, source.dtype)
        check_fits_machine(plan, f"rank {rank} on shape {source.shape}", "give a smaller rank")
        size, dtype = data_size(problem.survey), working_dtype(source.dtype, self.dtype)
        check_representable(size, dtype)
        cores = start_cores(problem, size, dtype)
        with Threads(self.threads) as threads, problem.place() as placement, problem.open_device() as device:
            resources = Resources(threads.run, placement, device=device)
            yield LeastSquaresRun(source, cores, size, resources, prod(source.shape))

    def by_passes(self) -> bool:
        """Yes."""
        return True


class LeastSquaresRun(AlternatingRun):
    """A running fit by alternating least squares.

    Parameters
    ----------
    source : Source
        Complete data.
    cores : sequence of arrays
        To start from, for data divided by `size`.
    size : float
    resources : Resources
    entries : int
        Of the data; a compressed source has fewer.
    left_out : float
        Squared norm, in units of `size`, of the part of the data that a compressed source has lost.
    """

    def __init__(
        self,
        source: Source,
        cores: Sequence[Core],
        size: float,
        resources: Resources,
        entries: int,
        left_out: float = 0.0,
    ) -> None:
        super().__init__(cores, size)
        self._source = source
        self._resources = resources
        self._mapper = mapper = resources.mapper
        self._left_out = left_out
        self._entries = entries
        self._index = tuple(np.arange(length) for length in source.shape)
        self._grams = GramChain(self._cores, mapper)

    def resume(self, state: RunState) -> None:
        """Continue from a state."""
        super().resume(state)
        self._grams = GramChain(self._cores, self._mapper)

    def sweep(self, number: int) -> SweepReport:  # noqa: ARG002 - every sweep is like the others
        """Update every core once."""
        last = len(self._cores) - 1
        for mode in range(last):
            streamed, gram = self._stream(mode), self._grams.without(mode)  # S, G = S^T S
            rows = streamed.rows.astype(np.float64)  # A
            if nearly_exact(self._error * self._error, 1.0, self._cores[mode].dtype):
                gradient = streamed.plain_gradient()[0].astype(np.float64)  # d = (X - A S^T) S
            else:
                gradient = streamed.right_hand_side() - gram.apply(rows, self._mapper)  # d = X S - A G
            self._step(mode, rows, gradient, gram)
        squared, norm = self._closing_update(last)
        before, self._error = self._error, relative_error(squared, norm)
        return SweepReport(
            change=abs(before - self._error),
            loss=0.5 * squared / self._entries * self._size * self._size,
        )

    def _closing_update(self, mode: int) -> tuple[float, float]:
        """Update a core from the residual itself, and return the squared norms of residual and data, too."""
        streamed, gram = self._stream(mode), self._grams.without(mode)
        rows = streamed.rows.astype(np.float64)
        narrow, before = streamed.plain_gradient()  # d = (X - A S^T) S, || X - A S^T ||^2
        gradient = narrow.astype(np.float64)
        norm = before + float(np.vdot(rows, 2 * gradient + gram.apply(rows, self._mapper)))  # || X ||^2
        step = self._step(mode, rows, gradient, gram)
        after = before + float(np.vdot(step, gram.apply(step, self._mapper) - 2 * gradient))  # || X - (A + h) S^T ||^2
        return max(after, 0.0) + self._left_out, norm + self._left_out

    def _step(self, mode: int, rows: Array64, gradient: Array64, gram: KroneckerSum) -> Array64:
        """The least squares step of core k, which is taken."""
        level = gram.trace()
        if level <= 0.0:  # another core is zero, so the step is zero
            return np.zeros_like(rows)
        dtype = self._cores[mode].dtype
        ridge = float(np.finfo(dtype).eps) * level  # below it, directions of G are rounding errors: they move slowly
        factor = GramFactor(gram, ridge, dtype, self._mapper)
        step = factor.solve(gradient.astype(dtype)).astype(np.float64)  # h = d (G + lambda I)^-1
        self._put_rows(mode, (rows + step).astype(dtype))  # A + h
        self._grams = self._grams.with_core(mode, self._cores[mode])
        return step

    def _stream(self, mode: int) -> StreamedPass | DevicePass:
        pass_type = StreamedPass if self._resources.device is None else DevicePass
        return pass_type(Sketch(self._source, mode, self._index, self._cores), self._size, self._resources)
