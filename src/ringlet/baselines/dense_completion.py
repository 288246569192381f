"""Shared parts of the completion methods that hold the whole tensor: parameters, and the start of a fit."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ringlet.baselines.dense_plan import DensePlan, checked
from ringlet.baselines.observed import BLOCK_ENTRIES, ObservedRows, RowBlock, ordinary_range
from ringlet.baselines.proximal import ModeSplit, shrink_cost, shrink_room
from ringlet.baselines.tubal import TubalSlices
from ringlet.checks import check_number
from ringlet.execution import Threads
from ringlet.results.records import SweepReport
from ringlet.results.ring_snapshot import fill_empty
from ringlet.ring.arrays import Floats
from ringlet.solvers.base import IterativeSolver, Problem, check_fits_machine, working_dtype
from ringlet.solvers.sawrtrd.start import check_representable, measure

__all__ = ["DenseCompletion", "DenseRun", "DenseSnapshot", "TubalRun", "row_room", "third_order"]


_BLOCK_ARRAYS = 12  # arrays of a block's size that a thread works in


@dataclass(frozen=True, kw_only=True)
class DenseCompletion(IterativeSolver):
    """A robust completion method that holds the whole tensor; use one of those that derive from it."""

    handles_missing: ClassVar[bool] = True
    robust: ClassVar[bool] = True
    fits_ring: ClassVar[bool] = False
    takes_init: ClassVar[bool] = False

    outlier_weight: float | None = None
    penalty: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.outlier_weight is not None:
            check_number("outlier_weight", self.outlier_weight, above=0, infinite=True)  # no outliers
        if self.penalty is not None:
            check_number("penalty", self.penalty, above=0)

    def shrinking_plan(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], matrices: Sequence[ModeSplit], tensors: int
    ) -> DensePlan:
        """Operations and memory of a sweep that shrinks these unfoldings and holds `tensors` arrays beside the data."""
        itemsize, threads = working_dtype(dtype, self.dtype).itemsize, Threads(self.threads).count
        memory = itemsize * tensors * prod(shape)
        memory += max(shrink_room(matrix, threads) for matrix in matrices) + row_room(shape, itemsize, threads)
        return checked(DensePlan(type(self).__name__, shape, sum(map(shrink_cost, matrices)), memory), self.budget)

    @contextmanager
    def start(self, problem: Problem) -> Iterator["DenseRun"]:
        """Begin a fit; the driver sweeps it."""
        with Threads(self.threads) as threads:
            yield self.run(problem, threads)

    @abstractmethod
    def run(self, problem: Problem, threads: Threads) -> "DenseRun":
        """The fit, before its first sweep."""


@dataclass(frozen=True)
class DenseSnapshot:
    """The estimate at some moment, for data divided by `size`, and the slices that hold no data."""

    model: Floats
    size: float
    shape: tuple[int, ...]
    empty: tuple[tuple[int, ...], ...]

    def ring(self) -> None:
        """There is none."""

    def tensor(self) -> NDArray[Any]:
        """The estimate in the data's units; slices without any data are interpolated from their neighbours."""
        dense: NDArray[Any] = self.model * self.model.dtype.type(self.size)
        for mode, empty in enumerate(self.empty):
            folded = dense.reshape(prod(self.shape[:mode]), self.shape[mode], prod(self.shape[mode + 1 :]))
            dense = fill_empty(folded, empty)
        return dense.reshape(self.shape)


class DenseRun(ABC):
    """A running fit. The model is replaced after every sweep and never written to, so it need not be copied.

    Everything is in units of the data's robust size; parameters that have a dimension are converted at the start.

    Attributes
    ----------
    model : array
        The estimate.
    observed : ObservedRows
    share : float
        Share of the entries that are observed, rho.
    """

    def __init__(self, solver: DenseCompletion, problem: Problem, threads: Threads, shape: Sequence[int]) -> None:
        source = problem.source
        name = type(solver).__name__
        plan = solver.plan(source.shape, (), source.dtype)
        check_fits_machine(plan, f"{name} on shape {source.shape}", "take a method that samples, as ringlet.SAWRTRD()")
        self.mapper = threads.run
        self.dtype = working_dtype(source.dtype, solver.dtype)
        scale = measure(source, problem.survey, 0)  # the method is not random, so its scale must not be
        check_representable(scale.data_range, self.dtype)
        self.size = scale.data_range
        self._ordinary = ordinary_range(scale)
        self._shape = source.shape
        self._empty = problem.survey.empty
        self.observed = ObservedRows(source, shape, scale.data_range, self.dtype, self.mapper)
        self.share = problem.survey.observed / prod(source.shape)
        self.model: Floats = np.zeros(shape, self.dtype)

    def snapshot(self) -> DenseSnapshot:
        """The current model."""
        return DenseSnapshot(self.model, self.size, self._shape, self._empty)

    @abstractmethod
    def sweep(self, number: int) -> SweepReport:
        """One iteration."""

    def extremes(self, values: Floats) -> Floats:
        """Excess of entries beyond the ordinary range, from which outliers start; from zero they would grow slowly."""
        return values - np.clip(values, *self._ordinary)

    def vector(self) -> Floats:
        """Zeros, one for every observed entry."""
        return np.zeros(self.observed.count, self.dtype)

    def mean_loss(self, squares: float) -> float:
        """Half the mean squared residual of the observed entries in the data's units."""
        return 0.5 * float(squares) / self.observed.count * self.size * self.size


class TubalRun(DenseRun):
    """A fit of a third-order tensor through its transformed slices, which starts with them.

    Attributes
    ----------
    _slices : TubalSlices
    _outliers : array
        One number for every observed entry.
    """

    _slices: TubalSlices
    _outliers: Floats

    def begin(self, block: RowBlock) -> float:
        """Separate obvious outliers; the rest is transformed to the slices and measured there."""
        values, mask = self.observed.read(block)
        self._outliers[block.place] = self.extremes(values)
        values -= self._outliers[block.place]
        filled = np.zeros(mask.shape, self.dtype)
        filled[mask] = values
        self._slices.write(block.rows, filled)
        return float(np.vdot(values, values))


def third_order(shape: Sequence[int]) -> tuple[int, int, int]:
    """The sizes n1, n2 and n3 of a tensor of any order: the modes from the third on are taken together."""
    return shape[0], shape[1], prod(shape[2:])


def row_room(shape: Sequence[int], itemsize: int, threads: int) -> int:
    """Bytes that the passes over blocks of rows work in."""
    return threads * _BLOCK_ARRAYS * min(max(BLOCK_ENTRIES, prod(shape[1:])), prod(shape)) * itemsize
