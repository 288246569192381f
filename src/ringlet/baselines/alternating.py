"""Shared parts of the alternating least squares methods: the start, and cores of equal norm.

Only scalars move between cores. (Scaling single columns of an unfolded core, as some texts have it, is no gauge of a
ring: it changes the tensor, and the objective may rise.)
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import inf, isfinite, sqrt
from typing import Any

import numpy as np

from ringlet.results.records import RunState, SweepReport
from ringlet.results.ring_snapshot import RingSnapshot
from ringlet.results.saved_state import named_cores, saved_cores, saved_number
from ringlet.ring.arrays import Floats
from ringlet.ring.chain import Core, refold
from ringlet.sampling import Purpose, stream
from ringlet.solvers.base import Problem
from ringlet.solvers.sawrtrd.start import given_start
from ringlet.sources import Survey

__all__ = ["AlternatingRun", "data_size", "nearly_exact", "relative_error", "start_cores"]

_NEAR = 1e3  # squared residual over squared norm of the data, in units of rounding errors


def data_size(found: Survey) -> float:
    """The largest magnitude in the data: least squares do not depend on units, but float32 must not overflow."""
    return max(abs(found.minimum), abs(found.maximum)) or 1.0


def start_cores(problem: Problem, size: float, dtype: np.dtype[Any]) -> list[Core]:
    """Given cores in units of `size`, or ones of norm one from normal numbers with mean and variance one.

    With mean zero, data that are mostly of one sign take longer. Alternating least squares need no scale, but the
    product of many norms would exceed the range of float32.
    """
    shape, rank = problem.source.shape, problem.rank
    if problem.init is not None:
        return given_start(problem.init, shape, rank, size, dtype)
    rng = stream(problem.seed, Purpose.START)
    ends = zip(rank, shape, (*rank[1:], rank[0]), strict=True)
    drawn = [1.0 + rng.standard_normal((a, length, b)) for a, length, b in ends]
    return [(core / _norm(core)).astype(dtype) for core in drawn]


def relative_error(squared_residual: float, squared_norm: float) -> float:
    """``e = || X - Xhat ||_F / || X ||_F``; 0 for a tensor of zeros."""
    return sqrt(max(squared_residual, 0.0) / squared_norm) if squared_norm > 0.0 else 0.0


def nearly_exact(squared_residual: float, squared_norm: float, dtype: np.dtype[Any]) -> bool:
    """Whether ``X S - A G`` and ``|| X ||^2 - || A S^T ||^2`` lose too many digits, so that residuals are needed."""
    return squared_residual < _NEAR * float(np.finfo(dtype).eps) * squared_norm


class AlternatingRun(ABC):
    """A ring whose cores are replaced one after the other, in data units of `size`.

    All cores have norm one but the next in turn, which carries the norm of the ring.
    """

    def __init__(self, cores: Sequence[Core], size: float) -> None:
        self._cores = list(cores)
        self._size = size
        self._error = inf  # e after the last sweep, or estimated in it
        for mode in range(1, len(cores)):
            self._put(mode, self._cores[mode])

    @abstractmethod
    def sweep(self, number: int) -> SweepReport:
        """Update every core once."""

    def snapshot(self) -> RingSnapshot:
        """The present model, all cores of equal norm."""
        norms = [_norm(core) for core in self._cores]
        common = float(np.prod(norms)) ** (1 / len(norms))
        cores = [
            core if norm == 0.0 else core * core.dtype.type(common / norm)
            for core, norm in zip(self._cores, norms, strict=True)
        ]
        return RingSnapshot(tuple(cores), self._size, ((),) * len(cores))

    def state(self) -> RunState:
        """The cores and the last error."""
        return {**named_cores(self._cores), "error": self._error}

    def resume(self, state: RunState) -> None:
        """Continue from a state."""
        self._cores = saved_cores(state, self._cores)
        self._error = saved_number(state, "error")

    def _put_rows(self, mode: int, rows: Floats) -> None:
        """Replace core `mode` by the one with these slices."""
        before, _, after = self._cores[mode].shape
        self._put(mode, refold(rows, before, after))

    def _put(self, mode: int, core: Core) -> None:
        """Replace a core by a multiple of norm one; the next core takes over its norm. Infinite cores are ignored.

        The list of cores is replaced at once: an interrupt finds either the old or the new ring.
        """
        norm = _norm(core)
        if not isfinite(norm):
            return
        cores, after = list(self._cores), (mode + 1) % len(self._cores)
        if norm > 0.0:
            core = core / core.dtype.type(norm)
            cores[after] = cores[after] * core.dtype.type(norm)
        cores[mode] = core
        self._cores = cores


def _norm(core: Core) -> float:
    """``|| Z ||_F`` in float64: squares in float32 may overflow where the norm does not."""
    entries = core.astype(np.float64).ravel(order="K")  # the memory is contiguous, whichever axis is the fastest
    return sqrt(float(entries @ entries))
