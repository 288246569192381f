"""What a whole fit will do and need, known before anything runs."""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import prod

from ringlet.amounts import format_bytes, round_up
from ringlet.errors import BudgetError
from ringlet.ring.gram import kept_numbers
from ringlet.ring.ranks import bond_limits, parameters, unknowns_per_entry
from ringlet.sampling import ChunkDraw, SamplingRule
from ringlet.solvers.engine.core_plan import SEARCHED_WHOLE, CorePlan, core_sizes, plan_core, searched_one_of
from ringlet.solvers.engine.solve_plan import SolvePlan
from ringlet.sources import Chunks
from ringlet.sources.base import aligned_blocks
from ringlet.sources.chunked import CELL_ENTRIES

__all__ = ["REGION_ENTRIES", "CoreCost", "FitPlan", "FitWork", "plan_fit"]

# Entries of stored data that a method which uses all of them holds at a time. Fixed, whatever the budget, because bits
# depend on where the data are cut.
REGION_ENTRIES = 1 << 23

_KEPT_WEIGHTS = 1 << 28  # without a budget, weights up to this size are kept for the line search, unless
_KEPT_WEIGHTS_SMALL = 1 << 26  # they are larger than this and than the data
_SCRATCH_ARRAYS = 6  # arrays of a block's size that a thread works in
_READ_BUFFERS = 3  # a chunk: compressed, decompressed, and the part that is used


@dataclass(frozen=True)
class CoreCost:
    """What the update of one core costs in a sweep.

    Attributes
    ----------
    plan : CorePlan
    kept_entries : int
        Robust weights of an update of up to this number of entries are kept from the gradient to the line search;
        otherwise they are computed again.
    searched_one_of : int
        The line search uses one of this number of neighbouring slices, and computes their weights again.
    passes : float
        Products of the subchain with all slices.
    operations : int
        Floating-point operations of the products with the data, the Gram matrix and the solve.
    bytes_read : int
        Bytes of the data that are read; of data in chunks, bytes of whole chunks.
    memory : int
        Working memory in bytes, beside the cores and data in memory.
    solve : SolvePlan
    grid : tuple of int
        Number of regions along every mode, if all of the stored data are used; otherwise empty.
    """

    plan: CorePlan
    kept_entries: int
    searched_one_of: int
    passes: float
    operations: int
    bytes_read: int
    memory: int
    solve: SolvePlan
    grid: tuple[int, ...] = ()

    @property
    def keeps_weights(self) -> bool:
        """Whether the weights of all entries of the plan are kept."""
        return self.kept_entries >= self.plan.entries


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
    unknowns : float
        Unknowns of a slice per entry of it, for the core for which this is largest.
    reads_ahead : bool
        Whether the next part of stored data is read while one is used.
    """

    shape: tuple[int, ...]
    rank: tuple[int, ...]
    cores: tuple[CoreCost, ...]
    data_bytes: int
    ring_bytes: int
    notes: tuple[str, ...]
    unknowns: float
    reads_ahead: bool = False

    @cached_property
    def operations(self) -> int:
        """Floating-point operations of a sweep."""
        return sum(core.operations for core in self.cores)

    @cached_property
    def bytes_read(self) -> int:
        """Bytes of the data, or of the chunks, that a sweep reads."""
        return sum(core.bytes_read for core in self.cores)

    @cached_property
    def memory(self) -> int:
        """Peak working memory in bytes, cores included, beside data in memory."""
        return 2 * self.ring_bytes + max(core.memory for core in self.cores)

    @cached_property
    def kept_entries(self) -> int:
        """Entries of the largest update whose weights are kept from the gradient to the line search."""
        return max(core.kept_entries for core in self.cores)

    def table(self) -> list[tuple[str, ...]]:
        """Rows of the printed table: a heading, one row per core, and the whole sweep."""
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


@dataclass(frozen=True)
class FitWork:
    """What is planned.

    Attributes
    ----------
    shape, rank : tuple of int
    data_itemsize, itemsize : int
        Bytes of an entry of the data, and of a number in the cores.
    threads : int
    memory : int or None
        Budget for working memory in bytes.
    sampling : SamplingRule
        How many columns a core update uses, and how they are drawn.
    chunks : tuple of tuples of int, optional
        Chunks of stored data, of which parts are held in memory.
    products : tuple of int, optional
        Products of the subchain with all slices in each core's update, for methods without weights; by default those
        of a robust update.
    exact : bool
        Whether every solve factors the Gram matrix, also for wide bonds.
    partial : bool
        Whether line searches of large updates look at a part of the slices.
    beside : int
        Bytes that the fit needs for other purposes.
    """

    shape: tuple[int, ...]
    rank: tuple[int, ...]
    data_itemsize: int
    itemsize: int
    threads: int
    memory: int | None
    sampling: SamplingRule = field(default_factory=SamplingRule)
    chunks: Chunks | None = None
    products: tuple[int, ...] | None = None
    exact: bool = True
    partial: bool = False
    beside: int = 0


@lru_cache(maxsize=64)  # several places need the plan of a fit
def plan_fit(work: FitWork) -> FitPlan:
    """Plan the updates of all cores within a memory budget.

    Raises
    ------
    BudgetError
        If even the leanest plan needs more; the message names the smallest possible budget.
    """
    shape, rank, itemsize, data_itemsize = work.shape, work.rank, work.itemsize, work.data_itemsize
    memory, chunks, products = work.memory, work.chunks, work.products
    ring_bytes = itemsize * parameters(shape, rank)
    data_bytes = prod(shape) * data_itemsize
    parts = [_Part.of(work, mode) for mode in range(len(shape))]
    beside = work.beside + 8 * kept_numbers(shape, rank)
    least = [_least_memory(part, itemsize, work.threads) + part.held * (data_itemsize + 1) + beside for part in parts]
    buffers = 0 if chunks is None else _read_buffers(chunks, data_itemsize)
    smallest = 2 * ring_bytes + max(least) + buffers
    if memory is not None and smallest > memory:
        raise BudgetError(
            f"memory={format_bytes(memory)} is too little for rank {rank} on shape {shape}; "
            f"the smallest possible budget is {format_bytes(round_up(smallest))}; a smaller rank"
            f"{'' if work.sampling.samples is None else ' or fewer samples'} needs less"
        )
    next_held = max(part.held for part in parts) * (data_itemsize + 1)
    reads_ahead = chunks is not None and (memory is None or smallest + next_held <= memory)
    reading = buffers + (next_held if reads_ahead else 0)
    unasked = min(_KEPT_WEIGHTS, max(_KEPT_WEIGHTS_SMALL, data_bytes))
    cores = []
    for mode, (part, needed) in enumerate(zip(parts, least, strict=True)):
        plan = part.plan
        one_of = 1
        if products is None and work.partial and not (part.grid or work.sampling.by_rows):
            one_of = searched_one_of(plan.entries, plan.slices)
        weights = (plan.entries if one_of == 1 else SEARCHED_WHOLE) * itemsize
        room = unasked if memory is None else memory - 2 * ring_bytes - needed - reading
        keeps = products is None and not part.grid and weights <= room
        passes: float = 3 if keeps else 4  # forward, adjoint, forward of the direction; the weights' forward again
        reads: float = 1 if keeps else 2
        if one_of > 1:
            passes, reads = 2 + 2 / one_of, 1 + 1 / one_of
        if products is not None:
            passes, reads = products[mode], 1
        cores.append(
            CoreCost(
                plan,
                weights // itemsize if keeps else 0,
                one_of,
                passes,
                int(passes * plan.flops) + part.solve.operations,
                (part.touched or int(reads * plan.entries)) * data_itemsize,
                needed + reading + (weights if keeps else 0),
                part.solve,
                part.grid,
            )
        )
    notes = _notes(shape, rank, ring_bytes, data_bytes)
    return FitPlan(
        shape, rank, tuple(cores), data_bytes, ring_bytes, notes, unknowns_per_entry(shape, rank), reads_ahead
    )


@dataclass(frozen=True)
class _Part:
    """What one core update looks at.

    Attributes
    ----------
    plan : CorePlan
        Plan of all entries that the update uses.
    working : CorePlan
        Plan of the entries used at a time: fewer, if there are several regions.
    solve : SolvePlan
    grid : tuple of int
        Number of regions along every mode, if all of the stored data are used; otherwise empty.
    held : int
        Entries of stored data in memory; 0 for data in memory.
    touched : int
        Entries of the chunks that are read; 0 for data in memory.
    merged : int
        Numbers in the product of all other cores at single rows.
    """

    plan: CorePlan
    working: CorePlan
    solve: SolvePlan
    grid: tuple[int, ...] = ()
    held: int = 0
    touched: int = 0
    merged: int = 0

    @classmethod
    def of(cls, work: FitWork, mode: int) -> "_Part":
        shape, rank, samples, chunks = work.shape, work.rank, work.sampling.samples, work.chunks
        sides = rank[mode], rank[(mode + 1) % len(rank)]
        solve = SolvePlan.of((shape[mode], *sides), min(rank) ** 2, work.itemsize, work.threads, exact=work.exact)
        if work.sampling.by_rows and samples is not None:  # of order 2: the core, and one core with all sampled rows
            plan = plan_core((shape[mode], samples), sides, 0)
            return cls(plan, plan, solve, merged=3 * samples * prod(sides))
        if chunks is None or (work.sampling.uniform and samples is not None):
            plan = plan_core(core_sizes(shape, mode, samples), rank, mode)
            stored = chunks is not None
            return cls(plan, plan, solve, held=stored * plan.entries, touched=stored * prod(shape))
        if samples is not None:
            draw = ChunkDraw.plan(chunks, samples, whole=mode)
            plan = plan_core(draw.sizes, rank, mode)
            return cls(plan, plan, solve, held=plan.entries, touched=draw.touched)
        blocks = aligned_blocks(chunks, REGION_ENTRIES)
        sizes = tuple(max(block[axis].stop - block[axis].start for block in blocks) for axis in range(len(shape)))
        grid = tuple(len({block[axis].start for block in blocks}) for axis in range(len(shape)))
        touched = prod(shape) * (2 if len(blocks) > 1 else 1)
        plan, working = plan_core(shape, rank, mode), plan_core(sizes, rank, mode)
        return cls(plan, working, solve, grid, held=prod(sizes), touched=touched)


def _least_memory(part: _Part, itemsize: int, threads: int) -> int:
    """Working memory of one core update without kept weights and stored data."""
    plan = part.working
    rows = 4 * part.plan.slices * plan.alpha * plan.beta * itemsize  # A, d, h and the new A
    between = plan.alpha * plan.bond * plan.tile_first if plan.second else 0
    scratch = threads * itemsize * plan.block * (_SCRATCH_ARRAYS * plan.tile_columns + between)
    operators = (threads if plan.tile_mode is not None else 1) * plan.operator_entries * itemsize
    return rows + part.solve.memory + scratch + operators + part.merged * itemsize


def _read_buffers(chunks: Chunks, itemsize: int) -> int:
    """Memory that reading from a store takes, in addition to the entries read."""
    return _READ_BUFFERS * itemsize * max(CELL_ENTRIES, prod(max(lengths) for lengths in chunks))


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
