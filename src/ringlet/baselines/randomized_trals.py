"""RandomizedTRALS (rTRALS): alternating least squares on data that were projected to fewer slices in every mode.

Yuan, Li, Cao & Zhao, "Randomized tensor ring decomposition and its application to large-scale data reconstruction",
2019.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ringlet.baselines.alternating import data_size, start_cores
from ringlet.baselines.dense_plan import DensePlan, checked
from ringlet.baselines.trals import TRALS, LeastSquaresRun
from ringlet.baselines.unfolding import block_entries, unfold_array, unfold_source
from ringlet.checks import check_number
from ringlet.errors import ArgumentError
from ringlet.execution import Threads
from ringlet.results.records import RunState, SweepReport
from ringlet.results.ring_snapshot import RingSnapshot
from ringlet.ring.arrays import Floats, Mapper
from ringlet.ring.chain import Core
from ringlet.solvers.base import IterativeSolver, Problem, check_fits_machine, working_dtype
from ringlet.solvers.engine.subchain import Resources
from ringlet.solvers.sawrtrd.start import check_representable
from ringlet.sources import ArraySource, Source

__all__ = ["RandomizedTRALS"]


@dataclass(frozen=True, kw_only=True)
class RandomizedTRALS(IterativeSolver):
    """TRALS on a random projection of the data (rTRALS).

    Every mode n longer than K_n is projected on the range Q_n of a Gaussian sketch of its unfolding. Alternating least
    squares then minimise ``|| X x_1 Q_1^T .. x_N Q_N^T - TR(Z_1 .. Z_N) ||_F^2``, and the cores are expanded by Q_n.
    The error is never below that of the projection. Complete data only, and not robust.

    Parameters
    ----------
    sketch : int or sequence of int, optional
        K_n, the size of mode n after the projection; an int means the same everywhere. By default the larger of
        ``2 r_n r_{n+1}`` and a tenth of the mode. Modes that are no longer than K_n are not projected; of others,
        K_n is at least the larger of the ranks r_n and r_{n+1}.
    sweeps, tol, dtype, memory, threads
        As in `TRALS`.

    References
    ----------
    Yuan, Li, Cao & Zhao, "Randomized tensor ring decomposition and its application to large-scale data
    reconstruction", ICASSP 2019.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.fromfunction(lambda i, j, k: np.cos(i / 9 + j / 7 + k), (90, 80, 4))
    >>> fit = ringlet.decompose(x, rank=2, solver=RandomizedTRALS(sketch=9, tol=0))
    >>> fit.ring.shape, bool(np.allclose(fit.ring, x, atol=1e-5))
    ((90, 80, 4), True)
    """

    handles_missing: ClassVar[bool] = False
    robust: ClassVar[bool] = False
    resumable: ClassVar[bool] = True

    sketch: int | Sequence[int] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.sketch, np.ndarray):
            object.__setattr__(self, "sketch", self.sketch.tolist())  # a 0-d array is a number
        if isinstance(self.sketch, Sequence):
            for width in self.sketch:
                check_number("sketch", width, at_least=1, whole=True)
            object.__setattr__(self, "sketch", tuple(int(width) for width in self.sketch))
        elif self.sketch is not None:
            check_number("sketch", self.sketch, at_least=1, whole=True)

    def sketch_sizes(self, shape: Sequence[int], rank: Sequence[int]) -> tuple[int, ...]:
        """K_n for every mode, never more than the mode has."""
        if self.sketch is None:
            ends = zip(rank, (*rank[1:], rank[0]), strict=True)
            widths = [max(2 * a * b, -(-length // 10)) for length, (a, b) in zip(shape, ends, strict=True)]
        elif isinstance(self.sketch, Sequence):
            if len(self.sketch) != len(shape):
                raise ArgumentError(
                    f"sketch={self.sketch} has {len(self.sketch)} entries but the data have {len(shape)} modes; "
                    "give one per mode, or an int for all"
                )
            widths = list(self.sketch)
        else:
            widths = [self.sketch] * len(shape)
        for mode, (width, length) in enumerate(zip(widths, shape, strict=True)):
            least = min(length, max(rank[mode], rank[(mode + 1) % len(rank)]))
            if width < least:
                raise ArgumentError(
                    f"sketch={self.sketch} leaves {width} slices of mode {mode}, too few for rank={tuple(rank)}; "
                    f"give at least {least} there"
                )
        return tuple(map(min, widths, shape))

    def plan(self, shape: tuple[int, ...], rank: tuple[int, ...], dtype: np.dtype[Any]) -> DensePlan:
        """Operations of a sweep, and memory of the projection and of the sweeps after it."""
        name, widths = type(self).__name__, self.sketch_sizes(shape, rank)
        working = working_dtype(dtype, self.dtype)
        inner = TRALS(dtype=self.dtype, threads=self.threads).plan(widths, rank, working)
        if widths == shape:  # nothing is projected
            return checked(DensePlan(name, shape, inner.operations, inner.memory, inner.notes), self.budget)
        entries, shortest = prod(shape), _most_shortened(shape, widths)
        held = prod(widths) + sum(length * width for length, width in zip(shape, widths, strict=True))
        block = min(entries, max(map(block_entries, shape)))
        projecting = 2 * entries * widths[shortest] // shape[shortest] + 3 * Threads(self.threads).count * block
        memory = working.itemsize * held + max(inner.memory, working.itemsize * projecting)
        sketches = sum(width for length, width in zip(shape, widths, strict=True) if width < length)
        once = 2 * entries * (sketches + widths[shortest])
        note = f"Before the sweeps the data are projected to {widths}, which takes {once / 1e9:.3g} Gflop."
        return checked(DensePlan(name, shape, inner.operations, memory, (note, *inner.notes)), self.budget)

    @contextmanager
    def start(self, problem: Problem) -> Iterator["LeastSquaresRun | ProjectedRun"]:
        """Begin a fit; the driver sweeps it."""
        source, rank = problem.source, problem.rank
        plan = self.plan(source.shape, rank, source.dtype)
        check_fits_machine(plan, f"{type(self).__name__} on shape {source.shape}", "give a smaller sketch")
        size, dtype = data_size(problem.survey), working_dtype(source.dtype, self.dtype)
        check_representable(size, dtype)
        widths, cores = self.sketch_sizes(source.shape, rank), start_cores(problem, size, dtype)
        with Threads(self.threads) as threads:
            if widths == source.shape:
                yield LeastSquaresRun(source, cores, size, Resources(threads.run), prod(source.shape))
            else:
                yield ProjectedRun(source, widths, cores, size, problem.seed, threads.run)


class ProjectedRun:
    """A running fit to projected data; see `LeastSquaresRun` for the parameters."""

    def __init__(
        self, source: Source, widths: Sequence[int], cores: Sequence[Core], size: float, seed: int, mapper: Mapper
    ) -> None:
        dtype = cores[0].dtype
        self._size = size
        self._bases: list[Floats | None] = []
        for mode, (length, width) in enumerate(zip(source.shape, widths, strict=True)):
            unfolding = unfold_source(source, mode, size, dtype)
            # Q_n = orth(X_(n) Omega_n)
            basis = np.linalg.qr(unfolding.sketch(width, seed, mode, mapper))[0] if width < length else None
            self._bases.append(basis)
        projected = _project(source, self._bases, size, dtype, mapper)  # X x_1 Q_1^T .. x_N Q_N^T
        lost = unfold_source(source, 0, size, dtype).squared_norm(mapper) - unfold_array(projected).squared_norm(mapper)
        self._inner = LeastSquaresRun(
            ArraySource(projected),
            [_along_mode(core, basis) for core, basis in zip(cores, self._bases, strict=True)],
            1.0,
            Resources(mapper),
            entries=prod(source.shape),
            left_out=max(0.0, lost),
        )

    def state(self) -> RunState:
        """That of the fit to the projected data; the projection is computed again."""
        return self._inner.state()

    def resume(self, state: RunState) -> None:
        """Continue from a state."""
        self._inner.resume(state)

    def sweep(self, number: int) -> SweepReport:
        """Update every core once."""
        report = self._inner.sweep(number)
        return replace(report, loss=report.loss * self._size * self._size)

    def snapshot(self) -> RingSnapshot:
        """The current model, its cores expanded: ``Z_n x_2 Q_n``."""
        short = self._inner.snapshot()
        cores = (
            _along_mode(core, None if basis is None else basis.T)
            for core, basis in zip(short.cores, self._bases, strict=True)
        )
        return replace(short, cores=tuple(cores), size=self._size)


def _along_mode(core: Core, basis: Floats | None) -> Core:
    """``Z x_2 Q^T``; the core itself without a Q."""
    return core if basis is None else (basis.T @ core).astype(core.dtype)


def _project(
    source: Source, bases: Sequence[Floats | None], size: float, dtype: np.dtype[Any], mapper: Mapper
) -> NDArray[Any]:
    """All modes projected, one after the other; only the first product reads the data."""
    order = len(bases)
    widths = [length if basis is None else basis.shape[1] for length, basis in zip(source.shape, bases, strict=True)]
    first = _most_shortened(source.shape, widths)
    basis = bases[first]
    assert basis is not None  # noqa: S101 - some mode becomes shorter
    part = unfold_source(source, first, size, dtype).project(basis, mapper)  # modes in cyclic order from `first` on
    for step in range(1, order):
        part = np.moveaxis(part, 0, -1)  # the next mode comes to the front
        basis = bases[(first + step) % order]
        if basis is not None:
            part = unfold_array(part).project(basis, mapper)
    turned = [(mode - first + 1) % order for mode in range(order)]  # the last mode projected is in front
    return np.ascontiguousarray(part.transpose(turned))


def _most_shortened(shape: Sequence[int], widths: Sequence[int]) -> int:
    """The mode with the smallest projected share."""
    return min(range(len(shape)), key=lambda mode: widths[mode] / shape[mode])
