"""What a whole fit will do and need, told before anything runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ringlet.amounts import format_bytes
from ringlet.errors import BudgetError
from ringlet.ring.ranks import bond_limits
from ringlet.solvers.plan import CorePlan, core_sizes, plan_core

__all__ = ["CoreCost", "FitPlan", "plan_fit"]

_KEPT_WEIGHTS = 1 << 28  # without a budget, weights up to this size are kept for the line search, unless
_KEPT_WEIGHTS_SMALL = 1 << 26  # they are larger than this and than the data
_SCRATCH_ARRAYS = 6  # arrays of a block's size that a thread works in


@dataclass(frozen=True)
class CoreCost:
    """What the update of one core costs in a sweep.

    Attributes
    ----------
    plan : CorePlan
    keeps_weights : bool
        Robust weights are kept from the gradient to the line search; otherwise they are computed again.
    operations : int
        Floating-point operations of the products with the data, the Gram matrix and the solve.
    bytes_read : int
        Bytes of the data looked at.
    memory : int
        Working memory in bytes, beside the data and the cores.
    """

    plan: CorePlan
    keeps_weights: bool
    operations: int
    bytes_read: int
    memory: int


@dataclass(frozen=True)
class FitPlan:
    """What one sweep over all cores costs.

    Attributes
    ----------
    shape, rank : tuple of int
    cores : tuple of CoreCost
        One a mode.
    data_bytes, ring_bytes : int
    notes : tuple of str
        What the user should know before starting.
    """

    shape: tuple[int, ...]
    rank: tuple[int, ...]
    cores: tuple[CoreCost, ...]
    data_bytes: int
    ring_bytes: int
    notes: tuple[str, ...]

    @property
    def operations(self) -> int:
        """Floating-point operations of a sweep."""
        return sum(core.operations for core in self.cores)

    @property
    def bytes_read(self) -> int:
        """Bytes of the data looked at in a sweep."""
        return sum(core.bytes_read for core in self.cores)

    @property
    def memory(self) -> int:
        """Peak working memory in bytes, cores included, beside the data."""
        return 2 * self.ring_bytes + max(core.memory for core in self.cores)

    def table(self) -> list[tuple[str, ...]]:
        """Rows for people: a heading, one row a core, and the whole sweep."""
        rows: list[tuple[str, ...]] = [("mode", "entries used", "products", "Gflop", "read", "memory")]
        for core in self.cores:
            sizes = " × ".join(map(str, core.plan.sizes))
            rows.append((str(core.plan.mode), sizes, core.plan.split, *_amounts(core)))
        return [*rows, ("sweep", "", "", *_amounts(self))]

    def __str__(self) -> str:
        rows = self.table()
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, *self.notes])


def _amounts(cost: CoreCost | FitPlan) -> tuple[str, str, str]:
    return f"{cost.operations / 1e9:.3g}", format_bytes(cost.bytes_read), format_bytes(cost.memory)


def plan_fit(
    shape: Sequence[int],
    rank: Sequence[int],
    *,
    samples: int | None,
    by_rows: bool,
    data_itemsize: int,
    itemsize: int,
    threads: int,
    memory: int | None,
    products: Sequence[int] | None = None,
) -> FitPlan:
    """Plan the updates of all cores within a memory budget.

    Parameters
    ----------
    shape, rank : sequences of int
    samples : int or None
        Columns used in a core update; None: all.
    by_rows : bool
        Columns are drawn one by one, not as a subtensor.
    data_itemsize, itemsize : int
        Bytes of an entry of the data, and of a number in the cores.
    threads : int
    memory : int or None
        Budget for working memory in bytes.
    products : sequence of int, optional
        Products of the subchain with all slices in each core's update, for methods without weights; by default those
        of a robust update.

    Raises
    ------
    BudgetError
        If even the leanest plan needs more; the message names the smallest possible budget.
    """
    shape, rank = tuple(shape), tuple(rank)
    ring_bytes = itemsize * sum(
        rank[mode] * length * rank[(mode + 1) % len(shape)] for mode, length in enumerate(shape)
    )
    data_bytes = prod(shape) * data_itemsize
    unasked = min(_KEPT_WEIGHTS, max(_KEPT_WEIGHTS_SMALL, data_bytes))
    cores = []
    for mode in range(len(shape)):
        if by_rows and samples is not None:  # an order-2 problem: the core, and one core with all sampled rows
            after = rank[(mode + 1) % len(rank)]
            plan = plan_core((shape[mode], samples), (rank[mode], after), 0)
            merged = 3 * samples * rank[mode] * after * itemsize
        else:
            plan = plan_core(core_sizes(shape, mode, samples), rank, mode)
            merged = 0
        least = _least_memory(plan, itemsize, threads) + merged
        weights = plan.entries * itemsize
        keeps = products is None and weights <= (unasked if memory is None else memory - 2 * ring_bytes - least)
        passes = 3 if keeps else 4  # forward, adjoint, forward of the direction; the weights' forward again
        reads = 1 if keeps else 2
        if products is not None:
            passes, reads = products[mode], 1
        columns = plan.alpha * plan.beta
        solve = columns**3 // 3 + 2 * plan.slices * columns**2
        gram = 2 * min(rank) ** 2 * columns**2
        cores.append(
            CoreCost(
                plan,
                keeps,
                passes * plan.flops + solve + gram,
                reads * plan.entries * data_itemsize,
                least + (weights if keeps else 0),
            )
        )
    fit_plan = FitPlan(shape, rank, tuple(cores), data_bytes, ring_bytes, _notes(shape, rank, ring_bytes, data_bytes))
    if memory is not None and fit_plan.memory > memory:
        kept = (core.plan.entries * itemsize if core.keeps_weights else 0 for core in cores)
        smallest = 2 * ring_bytes + max(core.memory - weights for core, weights in zip(cores, kept, strict=True))
        raise BudgetError(
            f"memory={format_bytes(memory)} is too little for rank {rank} on shape {shape}; "
            f"the smallest possible budget is {format_bytes(smallest)}; a smaller rank needs less"
        )
    return fit_plan


def _least_memory(plan: CorePlan, itemsize: int, threads: int) -> int:
    """Working memory of one core update without kept weights."""
    columns = plan.alpha * plan.beta
    rows = 4 * plan.slices * columns * itemsize  # A, d, h and the new A
    gram = columns**2 * (8 + itemsize // 2)  # G, factored in place, and its factor in the working precision
    between = plan.alpha * plan.bond * plan.tile_first if plan.second else 0
    scratch = threads * itemsize * plan.block * (_SCRATCH_ARRAYS * plan.tile_columns + between)
    operators = (threads if plan.tile_mode is not None else 1) * plan.operator_entries * itemsize
    return rows + gram + scratch + operators


def _notes(shape: tuple[int, ...], rank: tuple[int, ...], ring_bytes: int, data_bytes: int) -> tuple[str, ...]:
    notes = [
        f"The bond before mode {mode} has rank {given} but its neighbours can carry only {limit}: "
        f"the rest adds size, not accuracy."
        for mode, (given, limit) in enumerate(zip(rank, bond_limits(shape, rank), strict=True))
        if limit < given
    ]
    if ring_bytes > data_bytes:
        notes.append(f"The ring ({format_bytes(ring_bytes)}) is larger than the data ({format_bytes(data_bytes)}).")
    return tuple(notes)
