"""How a core update will be computed, and what it will cost, decided before anything runs.

For core k with bonds a = r_k and b = r_{k+1} the other cores, in ring order k+1 .. k-1, either are merged into the
whole subchain, or are cut at a bond of rank c into two parts. One part meets the core first:

    forward   T = A_i @ first     (alpha x c x jF)      then   M_i = T^T @ second      (jF x jS)

Narrow bonds make this far cheaper than the subchain. Plans depend on sizes only, never on the data or on
the number of threads.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import ceil, prod

from ringlet.sampling import sample_sizes

__all__ = [
    "GEMM_RATE",
    "SEARCHED_WHOLE",
    "CorePlan",
    "Piece",
    "SliceBlock",
    "core_sizes",
    "cut",
    "plan_core",
    "searched_one_of",
]

# Entries of the data in flight per thread: residuals and weights stay in the cache, and the interpreter's own work
# between two array operations is small against them. Few entries are cut finer, to share them among threads.
_BLOCK_LEAST, _BLOCK_MOST, _BLOCKS = 1 << 18, 1 << 19, 8
_OPERATOR_BYTES = 1 << 21  # sampled cores that stay in the cache during the pass over the slices
_TILES = 8  # least number of tiles, so that threads can share them
_TURNING, _LONG_RUN = 4e-10, 32  # seconds for each entry outside of runs of 32 entries
_SEARCHED_ENTRIES = 1 << 21  # least number of entries in a line search, which gives one number, the step length
_SEARCHED_SLICES = 64  # least number of slices of mode k in it, because slices may differ
_SEARCHED_PART = 4  # fewer neighbours per searched slice save less than it costs to compute the weights again
SEARCHED_WHOLE = _SEARCHED_PART * _SEARCHED_ENTRIES - 1  # up to this number of entries, all slices are searched
GEMM_RATE = 8e10  # operations a second of one core; for the choice only ratios matter


@dataclass(frozen=True)
class SliceBlock:
    """Slices of mode k that are worked on at once.

    Attributes
    ----------
    slices : slice
    first, stop : int
        Where their entries lie among all entries of the pass, in the order of the work.
    """

    slices: slice
    first: int
    stop: int


@dataclass(frozen=True)
class Piece:
    """Work for one thread: some slices of mode k, all columns or those of one tile.

    Attributes
    ----------
    slices : slice
        Of mode k.
    tile : slice or None
        Of the tiled mode.
    blocks : tuple of SliceBlock
    """

    slices: slice
    tile: slice | None
    blocks: tuple[SliceBlock, ...]


@dataclass(frozen=True)
class CorePlan:
    """How the update of one core runs.

    Attributes
    ----------
    mode : int
        The core that is updated, k.
    sizes : tuple of int
        Indices used of every mode; mode k is used whole.
    first, second : tuple of int
        Modes of the part that meets the core first, and of the other part, both in ring order. `second` is empty when
        the whole subchain is formed.
    flipped : bool
        True if `first` lies before core k in the ring (so slices of the core are used transposed).
    alpha, beta, bond : int
        Ranks: of the core towards `second`, towards `first`, and between the two parts (c).
    tile_mode : int or None
        The mode that is cut into tiles, if any.
    tile : int
        Indices of `tile_mode` in a tile.
    block : int
        Slices of mode k in a block.
    """

    mode: int
    sizes: tuple[int, ...]
    first: tuple[int, ...]
    second: tuple[int, ...]
    flipped: bool
    alpha: int
    beta: int
    bond: int
    tile_mode: int | None = None
    tile: int = 0
    block: int = 1

    @cached_property
    def slices(self) -> int:
        """Slices of mode k, I_k."""
        return self.sizes[self.mode]

    @cached_property
    def columns(self) -> int:
        """Entries of one slice, J."""
        return prod(self.sizes) // self.slices

    @cached_property
    def entries(self) -> int:
        """Entries of the data that the update looks at."""
        return prod(self.sizes)

    @cached_property
    def columns_first(self) -> int:
        """Index combinations of the first part, jF."""
        return prod(self.sizes[mode] for mode in self.first)

    @cached_property
    def columns_second(self) -> int:
        """Index combinations of the second part, jS."""
        return prod(self.sizes[mode] for mode in self.second)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Modes of a block of slices as the products see it: k, then each part's modes in the data's own order."""
        return (self.mode, *sorted(self.first), *sorted(self.second))

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """All pieces of a pass, in the order in which their contributions are summed."""
        spans = cut(self.slices, self.block)
        if self.tile_mode is None:
            return tuple(Piece(span, None, (_block(span, 0, self.columns),)) for span in spans)
        length, pieces = self.sizes[self.tile_mode], []
        for tile in cut(length, self.tile):
            before, columns = tile.start * self.entries // length, self.columns // length * (tile.stop - tile.start)
            pieces.append(Piece(slice(0, self.slices), tile, tuple(_block(span, before, columns) for span in spans)))
        return tuple(pieces)

    @cached_property
    def flops(self) -> int:
        """Operations of one product of all slices with the subchain; an update takes three or four."""
        if not self.second:
            return 2 * self.alpha * self.beta * self.entries
        between = self.alpha * self.bond * self.columns_first * self.slices
        return 2 * between * self.beta + 2 * self.alpha * self.bond * self.entries

    @cached_property
    def seconds(self) -> float:
        """Estimated time of one product of all slices with the subchain on one core, merging the parts included."""
        blocks = ceil(self.slices / self.block)
        if not self.second:
            one = _gemm_seconds(self.block, self.tile_columns, self.alpha * self.beta)
        else:
            first, second = self.tile_first, self.tile_columns // self.tile_first
            one = self.bond * _gemm_seconds(self.alpha * self.block, first, self.beta)
            one += _gemm_seconds(self.block * first, second, self.alpha * self.bond)
        merging = sum(_merge_flops(self, part) for part in (self.first, self.second)) / GEMM_RATE
        return self.tiles * blocks * one + merging / 3

    @cached_property
    def operator_entries(self) -> int:
        """Numbers in the merged parts of one tile."""
        return _operator_entries(self, self.tile_columns / self.columns)

    @cached_property
    def tiles(self) -> int:
        """Number of tiles."""
        return 1 if self.tile_mode is None else ceil(self.sizes[self.tile_mode] / self.tile)

    @cached_property
    def tile_columns(self) -> int:
        """Entries of one slice within a tile."""
        if self.tile_mode is None:
            return self.columns
        return self.columns // self.sizes[self.tile_mode] * self.tile

    @cached_property
    def tile_first(self) -> int:
        """Index combinations of the first part within a tile."""
        if self.tile_mode is None or self.tile_mode not in self.first:
            return self.columns_first
        return self.columns_first // self.sizes[self.tile_mode] * self.tile

    @cached_property
    def split(self) -> str:
        """The split in words, for people."""
        if not self.second:
            return "subchain"
        return f"{list(self.first)} then {list(self.second)} over bond {self.bond}"


@lru_cache(maxsize=256)  # sweeps ask for the same sizes again and again
def plan_core(sizes: tuple[int, ...], rank: tuple[int, ...], mode: int) -> CorePlan:
    """Choose the cheapest way to update one core.

    Parameters
    ----------
    sizes : tuple of int
        Indices used of every mode.
    rank : tuple of int
        ``rank[k]`` is the bond before mode k.
    mode : int

    Examples
    --------
    >>> plan_core((1920, 200, 3, 50), (80, 80, 3, 20), 0).split
    '[2, 3] then [1] over bond 3'
    """
    options = (_tiled(option) for option in _options(sizes, rank, mode))
    return min(options, key=lambda option: option.seconds + _turning_seconds(option))


def cut(total: int, step: int) -> tuple[slice, ...]:
    """The numbers below `total` as slices of length `step`; the last may be shorter."""
    return tuple([slice(start, min(start + step, total)) for start in range(0, total, step)])


def searched_one_of(entries: int, slices: int) -> int:
    """Of how many neighbouring slices of mode k the line search of a large update looks at one.

    Examples
    --------
    >>> searched_one_of(480 * 30_000, 480), searched_one_of(50 * 30_000, 50)
    (6, 1)
    """
    one_of = min(entries // _SEARCHED_ENTRIES, slices // _SEARCHED_SLICES)
    return one_of if one_of >= _SEARCHED_PART else 1


def _block(slices: slice, before: int, columns: int) -> SliceBlock:
    return SliceBlock(slices, before + slices.start * columns, before + slices.stop * columns)


def core_sizes(shape: Sequence[int], mode: int, samples: int | None) -> tuple[int, ...]:
    """Indices used of every mode when core `mode` is updated from about `samples` columns (None: all)."""
    if samples is None:
        return tuple(shape)
    others = sample_sizes((*shape[:mode], *shape[mode + 1 :]), samples)
    return (*others[:mode], shape[mode], *others[mode:])


def _options(sizes: tuple[int, ...], rank: Sequence[int], mode: int) -> Iterator[CorePlan]:
    order = len(sizes)
    chain = tuple((mode + step) % order for step in range(1, order))
    before, after = rank[mode], rank[(mode + 1) % order]
    yield CorePlan(mode, sizes, chain, (), False, before, after, before)
    for cut in range(1, order - 1):
        left, right, bond = chain[:cut], chain[cut:], rank[chain[cut]]
        yield CorePlan(mode, sizes, left, right, False, before, after, bond)
        yield CorePlan(mode, sizes, right, left, True, after, before, bond)


def _tiled(plan: CorePlan) -> CorePlan:
    """Cut the largest mode into tiles where the parts or a single slice would not stay in the cache."""
    tiled = plan
    in_flight = min(max(plan.entries // _BLOCKS, _BLOCK_LEAST), _BLOCK_MOST)
    if plan.columns > in_flight or 4 * _operator_entries(plan, 1.0) > _OPERATOR_BYTES:
        tile_mode = _largest(plan)
        length = plan.sizes[tile_mode]
        tile = max(1, length // _TILES)
        while tile > 1 and (
            plan.columns // length * tile > in_flight or 4 * _operator_entries(plan, tile / length) > _OPERATOR_BYTES
        ):
            tile = max(1, tile * 3 // 4)
        tiled = replace(plan, tile_mode=tile_mode, tile=ceil(length / ceil(length / tile)))
    between = plan.alpha * plan.bond * tiled.tile_first if plan.second else 0
    block = min(plan.slices, max(1, in_flight // max(tiled.tile_columns, between)))
    return replace(tiled, block=ceil(plan.slices / ceil(plan.slices / block)))  # blocks of equal size, for the threads


def _operator_entries(plan: CorePlan, fraction: float) -> int:
    """Numbers in the merged parts when a tile covers this fraction of the tiled mode."""
    if not plan.second:
        return int(plan.alpha * plan.beta * plan.columns * fraction)
    first = plan.beta * plan.bond * plan.columns_first
    second = plan.alpha * plan.bond * plan.columns_second
    return int(first * fraction + second if _largest(plan) in plan.first else first + second * fraction)


def _largest(plan: CorePlan) -> int:
    """The mode, other than k, of which most indices are used: the one to tile."""
    return max(plan.first + plan.second, key=lambda mode: (plan.sizes[mode], -mode))


def _merge_flops(plan: CorePlan, part: tuple[int, ...]) -> float:
    """Rough operations for merging the cores of a part: its entries times the rank summed over, a core."""
    if len(part) < 2:
        return 0.0
    ends = plan.alpha * plan.bond if part is plan.second else plan.beta * plan.bond
    if not plan.second:
        ends = plan.alpha * plan.beta
    return 2.0 * ends * prod(plan.sizes[mode] for mode in part) * max(plan.alpha, plan.beta, plan.bond)


def _turning_seconds(plan: CorePlan) -> float:
    """Time to reorder fetched entries for the products: a third of it, since three products use them.

    Long runs of memory cost little; the last mode of the data is assumed to be the fastest.
    """
    run = 1
    for mode, wanted in zip(reversed(range(len(plan.sizes))), reversed(plan.order), strict=True):
        if mode != wanted:
            break
        run *= plan.sizes[mode]
    return 0.0 if run >= _LONG_RUN else _TURNING * plan.entries / 3


def _gemm_seconds(m: int, n: int, k: int) -> float:
    """Time of an (m x k) by (k x n) product on one core: thin products and short sums run below full speed."""
    thin = (1 + 6 / m) * (1 + 6 / n) * (1 + 12 / k)
    return 2.0 * m * n * k * thin / GEMM_RATE + 2.5e-10 * m * n
