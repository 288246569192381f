"""Shared parts of TRSVD and its randomised form: a ring from N-1 truncated factorisations, mode by mode."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf, isqrt, prod
from typing import Any, ClassVar, Literal

import numpy as np

from ringlet.baselines.alternating import data_size
from ringlet.baselines.dense_plan import DensePlan, checked
from ringlet.baselines.unfolding import Unfolding, block_entries, unfold_array, unfold_source
from ringlet.checks import check_number, check_one_of
from ringlet.errors import ArgumentError
from ringlet.execution import Threads
from ringlet.results.records import SweepReport
from ringlet.results.ring_snapshot import RingSnapshot
from ringlet.ring.arrays import Floats, Mapper
from ringlet.ring.chain import Core
from ringlet.solvers.base import Problem, Solver, check_fits_machine, working_dtype
from ringlet.solvers.sawrtrd.start import check_representable

__all__ = ["SequentialRun", "SequentialSVD", "Step", "Truncated", "balanced_factors", "left_vectors"]


_BLOCKS_HELD = 6  # by a thread: as read, scaled, transposed, factorised, and two that the factorisation copies


@dataclass(frozen=True)
class Step:
    """One factorisation ``C ~ U (U^T C)``.

    Attributes
    ----------
    number : int
        Counted from 0.
    rows, columns : int
        Of C.
    components : int
        Columns of U; an upper limit if the accuracy determines them.
    order : int
        Number of modes, N.
    """

    number: int
    rows: int
    columns: int
    components: int
    order: int


@dataclass(frozen=True)
class Truncated:
    """A truncated factorisation.

    Attributes
    ----------
    basis : array, shape (rows, components)
        U, with orthonormal columns.
    remainder : array, shape (components, *sizes)
        ``U^T C``.
    discarded : float
        ``|| C - U U^T C ||_F^2``.
    """

    basis: Floats
    remainder: Floats
    discarded: float


@dataclass(frozen=True, kw_only=True)
class SequentialSVD(Solver):
    """Base class of TRSVD and RandomizedTRSVD."""

    handles_missing: ClassVar[bool] = False
    robust: ClassVar[bool] = False
    takes_init: ClassVar[bool] = False

    start_mode: int | Literal["auto"] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.start_mode, str):
            check_one_of("start_mode", self.start_mode, ("auto",), " or a mode, counted from 0")
        else:
            check_number("start_mode", self.start_mode, at_least=0, whole=True)

    @abstractmethod
    def truncate(self, unfolding: Unfolding, step: Step, seed: int, mapper: Mapper) -> Truncated:
        """The truncated factorisation of one step."""

    @abstractmethod
    def step_operations(self, step: Step) -> int:
        """Floating-point operations of one step."""

    def column_numbers(self, step: Step) -> int:
        """Numbers held for every column of C, beside it: the remainder, twice while it is transposed."""
        return 2 * step.components

    def square_matrices(self, blocks: int) -> int:
        """Square matrices with the rows of C that are held at once, if C is read in this number of blocks."""
        return blocks + 4

    def plan(self, shape: tuple[int, ...], rank: tuple[int, ...], dtype: np.dtype[Any]) -> DensePlan:
        """Operations and memory; for a prescribed accuracy an upper bound."""
        first = self.first_mode(shape, rank)
        steps = list(_steps(_turned(shape, first), _turned(rank, first)))
        itemsize = working_dtype(dtype, self.dtype).itemsize
        notes = [
            f"The bond before mode {(first + step.number + 1) % len(shape)} will have rank {step.components}, "
            f"not {asked}: there are no more singular values."
            for step in steps[1:]
            if rank and (asked := rank[(first + step.number + 1) % len(rank)]) > step.components
        ]
        threads = Threads(self.threads).count
        memory = itemsize * max(self._step_entries(step, threads) for step in steps)
        operations = sum(map(self.step_operations, steps))
        return checked(DensePlan(type(self).__name__, shape, operations, memory, tuple(notes)), self.budget)

    def _step_entries(self, step: Step, threads: int) -> int:
        """Numbers held at once: C (unless it is the data), those of every column, blocks, and square matrices."""
        here = step.rows * step.columns
        block = min(here, block_entries(step.rows))
        held = (0 if step.number == 0 else here) + self.column_numbers(step) * step.columns
        squares = self.square_matrices(here // block) * min(step.rows, step.columns) * step.rows
        return held + _BLOCKS_HELD * threads * block + squares

    def first_mode(self, shape: Sequence[int], rank: Sequence[int]) -> int:
        """The mode to start from, if it has the singular values for two bonds."""
        order = len(shape)
        feasible = [
            mode
            for mode in range(order)
            if not rank or rank[mode] * rank[(mode + 1) % order] <= min(shape[mode], prod(shape) // shape[mode])
        ]
        if self.start_mode == "auto":
            if feasible:
                return feasible[0]
            raise ArgumentError(
                f"rank={tuple(rank)} on shape {tuple(shape)} is not allowed with {type(self).__name__}: no mode k "
                "has rank[k] * rank[k+1] singular values; give smaller ranks, or use ringlet.baselines.TRALS()"
            )
        if self.start_mode >= order:
            raise ArgumentError(f"start_mode={self.start_mode} is not allowed; the data have {order} modes, from 0 on")
        first = int(self.start_mode)
        if first not in feasible:
            bonds = f"{rank[first]} * {rank[(first + 1) % order]}"
            advice = (
                f"start_mode={' or '.join(map(str, feasible))} would do (or 'auto')"
                if feasible
                else "no other mode would do; give smaller ranks, or use ringlet.baselines.TRALS()"
            )
            raise ArgumentError(
                f"start_mode={first} is not allowed with rank={tuple(rank)} on shape {tuple(shape)}: the unfolding of "
                f"mode {first} has {min(shape[first], prod(shape) // shape[first])} singular values, but "
                f"rank[{first}] * rank[{(first + 1) % order}] = {bonds} are asked for; {advice}"
            )
        return first

    @contextmanager
    def start(self, problem: Problem) -> Iterator["SequentialRun"]:
        """Begin a fit; the driver sweeps it once."""
        shape = problem.source.shape
        plan = self.plan(shape, problem.rank, problem.source.dtype)
        check_fits_machine(plan, f"{type(self).__name__} on shape {shape}", "use ringlet.SAWRTRD(), which samples")
        size = data_size(problem.survey)
        dtype = working_dtype(problem.source.dtype, self.dtype)
        check_representable(size, dtype)
        with Threads(self.threads) as threads:
            yield SequentialRun(self, problem, size, dtype, threads.run)


class SequentialRun:
    """The single pass: separate mode after mode, each with its own basis."""

    def __init__(
        self, solver: SequentialSVD, problem: Problem, size: float, dtype: np.dtype[Any], mapper: Mapper
    ) -> None:
        self._solver = solver
        self._problem = problem
        self._size = size
        self._dtype = dtype
        self._mapper = mapper
        self._cores: list[Core] = [np.zeros((1, length, 1), dtype) for length in problem.source.shape]

    def snapshot(self) -> RingSnapshot:
        """The ring; zero before the pass is complete."""
        return RingSnapshot(tuple(self._cores), self._size, ((),) * len(self._cores))

    def sweep(self, number: int) -> SweepReport:  # noqa: ARG002 - there is only one
        """Do it all."""
        source = self._problem.source
        order = len(source.shape)
        first = self._solver.first_mode(source.shape, self._problem.rank)
        sizes, rank = _turned(source.shape, first), _turned(self._problem.rank, first)
        # C = X as I_1 x (I_2 .. I_N) ~ U (Sigma V^T); Z_1[a, i, b] = U[i, (a, b)]
        unfolding = unfold_source(source, first, self._size, self._dtype)
        wanted = rank[0] * rank[1] if rank else min(unfolding.rows, unfolding.columns)
        found = self._truncate(unfolding, 0, wanted)
        before, after = (rank[0], rank[1]) if rank else balanced_factors(found.basis.shape[1])
        cores = [found.basis.reshape(sizes[0], before, after).transpose(1, 0, 2)]
        discarded = found.discarded
        # (Sigma V^T)[(a, b), (i_2 .. i_N)] -> C[b, i_2, .., i_N, a]
        rest = np.moveaxis(found.remainder.reshape(before, after, *sizes[1:]), 0, -1)
        for k in range(1, order - 1):
            # C as (r_k I_k) x (I_{k+1} .. I_N r_1) ~ U (Sigma V^T); Z_k = U as r_k x I_k x r_{k+1}
            bond = rest.shape[0]
            unfolding = unfold_array(rest.reshape(bond * sizes[k], *rest.shape[2:]))
            wanted = min(unfolding.rows, unfolding.columns, rank[k + 1] if rank else unfolding.rows)
            found = self._truncate(unfolding, k, wanted)
            cores.append(found.basis.reshape(bond, sizes[k], -1))
            discarded += found.discarded
            rest = found.remainder
        cores.append(rest)  # Z_N = C as r_N x I_N x r_1
        self._cores = [cores[(mode - first) % order] for mode in range(order)]
        loss = 0.5 * discarded / prod(sizes) * self._size * self._size  # all U are isometries
        return SweepReport(change=inf, loss=loss, done=True)

    def _truncate(self, unfolding: Unfolding, number: int, wanted: int) -> Truncated:
        step = Step(number, unfolding.rows, unfolding.columns, wanted, len(self._problem.source.shape))
        return self._solver.truncate(unfolding, step, self._problem.seed, self._mapper)


def left_vectors(unfolding: Unfolding, mapper: Mapper) -> tuple[Floats, Floats]:
    """Left singular vectors, as columns, and singular values of a matrix that is read in blocks."""
    left, values, _ = np.linalg.svd(unfolding.triangle(mapper).T, full_matrices=False)
    return left, values


def balanced_factors(components: int) -> tuple[int, int]:
    """r_1 and r_2 with this product, as equal as can be.

    Examples
    --------
    >>> balanced_factors(12), balanced_factors(7)
    ((3, 4), (1, 7))
    """
    smaller = next(factor for factor in range(isqrt(components), 0, -1) if components % factor == 0)
    return smaller, components // smaller


def _turned(items: Sequence[int], first: int) -> tuple[int, ...]:
    """The same in cyclic order, from `first` on."""
    return (*items[first:], *items[:first])


def _steps(sizes: Sequence[int], rank: Sequence[int]) -> Iterator[Step]:
    """The factorisations for sizes and ranks from the starting mode on; without ranks, the largest possible."""
    rows, columns = sizes[0], prod(sizes[1:])
    components = min(rows, columns, rank[0] * rank[1] if rank else rows)
    yield Step(0, rows, columns, components, len(sizes))
    closing = rank[0] if rank else max(1, isqrt(components))
    bond, columns = components // closing, columns * closing
    for k in range(1, len(sizes) - 1):
        rows, columns = bond * sizes[k], columns // sizes[k]
        components = min(rows, columns, rank[k + 1] if rank else rows)
        yield Step(k, rows, columns, components, len(sizes))
        bond = components
