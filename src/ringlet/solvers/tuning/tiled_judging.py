"""Judgements of data that are too large to be judged at once: learned in some windows, applied tile by tile.

The weight of an entry depends on the data, on the ring that judges, and on a tiling that follows from the shape and
the chunks. It does not depend on the order in which tiles are judged, nor on the worker. Tiles of a store are judged
when their entries are read for the first time. All tiles of arrays in memory are judged at once, because every update
reads entries everywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from math import ceil, prod
from secrets import token_hex
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from ringlet.local.judging import JudgingModel, judge_entries
from ringlet.local.modes import NeighbourModes
from ringlet.local.window import Entries
from ringlet.results.records import RunState
from ringlet.results.tiles import Tile, Tiling, affordable, sample_windows, tiling
from ringlet.ring.chain import Core
from ringlet.solvers.base import Problem, first_look
from ringlet.solvers.tuning.judgements import LEAST_BELIEVED, TRUSTED, BelievedSource, in_order
from ringlet.solvers.tuning.judging_rules import DOUBTFUL, MOST_DOUBTED, JudgedPart, beside_ring, doubted_share
from ringlet.solvers.tuning.packed_tiles import PackedTiles
from ringlet.sources import Block, Source, Survey
from ringlet.sources.memory import gather

__all__ = ["TileSizes", "TiledJudgement", "judge_tiles", "tiled_judging_memory"]

# Entries around a tile along ordered modes: more than the first number hardly change which entries are believed. Where
# tiles would mostly be halo, as along four modes, it is the first with which a tile looks at no more than
# `_MOST_OVERHEAD` entries for each of its own.
_HALOS, _MOST_OVERHEAD = (5, 3, 2, 1, 0), 2.0
_LARGE = 1.5  # tiles of a store grow beyond its chunks while their overhead is larger
_ENTRY_BYTES, _BYTES = 100, 32_000_000  # of memory that judging a window or tile takes
_ROOM = 1 << 28  # bytes of memory for the verdicts of a store; the rest goes to a temporary file
_DOUBTED, _BELIEVED = 1, 2  # codes of entries; 0 is wrong, or not observed
_WEIGHTS = np.array([0, DOUBTFUL, 1], np.float32)  # of these codes


@dataclass(frozen=True)
class TileSizes:
    """Entries that are read together. The bits depend on it, so all fits use the same numbers.

    Attributes
    ----------
    window : int
        Entries of all windows together in which a judgement is learned.
    most, least : int
        Entries that a tile reads; fewer are slow.
    """

    window: int = 1 << 20
    most: int = 1 << 20
    least: int = 1 << 16


def tiled_judging_memory(shape: Sequence[int], *, stored: bool) -> int:
    """Bytes that a judgement by tiles takes in addition to the data."""
    entries = prod(shape)
    work = min(entries, max(TileSizes.window, TileSizes.most)) * _ENTRY_BYTES + _BYTES
    return work + (min(entries // 4 + 1, _ROOM) if stored else 2 * entries)  # of an array, while one replaces another


@dataclass(frozen=True, eq=False)
class _Sampled:
    """The findings in the windows.

    Attributes
    ----------
    model : JudgingModel or None
        None: all entries are trusted.
    doubted : float
        Share of the observed entries that are doubted by their neighbours.
    shares : tuple of float
        Shares of the observed entries: trusted ones, and trusted or doubted ones.
    ranges : tuple of pairs of float
        Smallest and largest entry of each.
    """

    model: JudgingModel | None
    doubted: float = 0.0
    shares: tuple[float, float] = (1.0, 1.0)
    ranges: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, eq=False)
class TiledJudgement:
    """A judgement that is made tile by tile.

    Attributes
    ----------
    source : Source
        The source that is judged.
    data_range : float
    cores : tuple of arrays
        Of the ring that judges, divided by the range.
    sampled : _Sampled
    tiling : Tiling
    codes : array of uint8, optional
        Of all entries; None: tiles are judged when they are needed.
    """

    source: Source
    data_range: float
    cores: tuple[Core, ...]
    sampled: _Sampled
    tiling: Tiling
    codes: NDArray[np.uint8] | None = None
    _packed: PackedTiles = field(default_factory=lambda: PackedTiles(_ROOM))
    _lock: Any = field(default_factory=Lock)
    _name: str = field(default_factory=lambda: token_hex(16))

    def __reduce__(self) -> tuple[Any, ...]:
        """Each worker of a cluster judges for itself, and keeps the result for all sources that need it."""
        parts = self.source, self.data_range, self.cores, self.sampled, self.tiling, self.codes
        return _received, (self._name, *parts)

    @property
    def doubts(self) -> bool:
        """Whether there are doubted entries in the windows."""
        believed, both = self.sampled.shares
        return both > believed

    def weights(self, block: Block) -> NDArray[np.float32]:
        """Probability that an entry of a block is right: 1, a tiny one, or 0."""
        return np.asarray(_WEIGHTS[self._codes(block, None)])

    def counted(self, problem: Problem, *, doubted: bool) -> Problem:
        """The problem without the entries that are wrong, and without doubted ones unless `doubted` is True.

        How many are left in each slice of a store is estimated by the windows: to count them, all would have to be
        judged.
        """
        share = self.sampled.shares[doubted]
        if self.sampled.model is None or share < LEAST_BELIEVED:
            return problem
        least = _DOUBTED if doubted else _BELIEVED
        source = BelievedSource(problem.source, lambda block, order: self._codes(block, order) >= least)
        if self.codes is not None:
            return replace(problem, source=source, survey=first_look(source, problem.executor))
        low, high = self.sampled.ranges[doubted]
        counts = [np.maximum(np.rint(share * count), count > 0).astype(np.int64) for count in problem.survey.counts]
        return replace(problem, source=source, survey=Survey(low, high, counts))

    def state(self) -> RunState:
        """The cores of the ring that judges; the rest follows from them and the data."""
        return {f"path.judge.{mode}": core for mode, core in enumerate(self.cores)}

    def _codes(self, block: Block, order: tuple[int, ...] | None) -> NDArray[np.uint8]:
        """The trust in the entries of a block, with the axes in the given order."""
        if self.codes is not None:
            return gather(*in_order(self.codes, block, order))
        shape = self.source.shape
        indices = [np.arange(length)[chosen] for length, chosen in zip(shape, block, strict=True)]
        found = np.full([len(axis) for axis in indices], _BELIEVED, np.uint8)
        if self.sampled.model is not None and found.size:
            parts = [_by_tile(axis, length) for axis, length in zip(indices, self.tiling.lengths, strict=True)]
            for place in product(*parts):
                codes = self._codes_of_tile(tuple(number for number, _, _ in place))
                found[tuple(there for _, there, _ in place)] = gather(codes, tuple(within for _, _, within in place))
        return found if order is None else found.transpose(order)

    def _codes_of_tile(self, number: tuple[int, ...]) -> NDArray[np.uint8]:
        """The trust in the entries of a tile; one tile is judged at a time, to save memory."""
        tile = self.tiling.tile(number)
        shape = tuple(part.stop - part.start for part in tile.core)
        with self._lock:
            packed = self._packed.get(number)
            if packed is None:
                codes = self.judge(tile)
                self._packed.put(number, np.packbits([codes >= _DOUBTED, codes >= _BELIEVED], axis=None))
                return codes
        flags = np.unpackbits(packed, count=2 * prod(shape)).reshape(2, *shape)
        return np.asarray(flags[0] + flags[1])

    def judge(self, tile: Tile) -> NDArray[np.uint8]:
        """Judge the entries of a tile."""
        crop, model = tile.crop, self.sampled.model
        entries = beside_ring(self.source, tile.padded, self.cores, self.data_range)
        if model is None or not (entries.observed is None or entries.observed[crop].any()):
            return np.zeros([part.stop - part.start for part in tile.core], np.uint8)
        weights = model.apply(entries)[crop]
        observed = None if entries.observed is None else entries.observed[crop]
        part = JudgedPart.of(Entries(entries.values[crop], observed, entries.ring[crop]), weights, model.outliers)
        weights = part.with_events(self.sampled.doubted, self.tiling.count).settled(self.data_range)
        return (weights > 0).astype(np.uint8) + (weights >= TRUSTED)


_RECEIVED: WeakValueDictionary[str, TiledJudgement] = WeakValueDictionary()


def _received(name: str, *parts: Any) -> TiledJudgement:
    """A judgement that another process made; the same object for the same one."""
    found = _RECEIVED.get(name)
    return _RECEIVED.setdefault(name, replace(TiledJudgement(*parts), _name=name)) if found is None else found


def judge_tiles(source: Source, data_range: float, cores: Sequence[Core], sizes: TileSizes) -> TiledJudgement:
    """Learn a judgement in some windows of a source, by the ring of these cores, which are divided by the range."""
    box = tuple(slice(0, length) for length in source.shape)
    sampled = _sampled(source, data_range, cores, sample_windows(box, source.chunks, sizes.window))
    tiling = _tiling(source, NeighbourModes((), ()) if sampled.model is None else sampled.model.modes, sizes)
    judgement = TiledJudgement(source, data_range, tuple(cores), sampled, tiling)
    if source.chunks is not None or sampled.model is None:
        return judgement
    codes = np.empty(source.shape, np.uint8)
    for tile in tiling.over(box):
        codes[tile.core] = judgement.judge(tile)
    return replace(judgement, codes=codes)


def _sampled(
    source: Source, data_range: float, cores: Sequence[Core], windows: Sequence[tuple[slice, ...]]
) -> _Sampled:
    """Learn in some windows."""
    sample = [beside_ring(source, window, cores, data_range) for window in windows]
    sample = [entries for entries in sample if entries.observed is None or entries.observed.any()]
    if not sample:
        return _Sampled(None)
    model, weights = judge_entries(sample)
    parts = [JudgedPart.of(*pair, model.outliers) for pair in zip(sample, weights, strict=True)]
    doubted = doubted_share(parts)
    parts = [part.with_events(doubted, len(parts)) for part in parts]
    if doubted_share(parts) > MOST_DOUBTED:  # too many for errors: the ring is still too small
        return _Sampled(None)
    settled = [part.settled(data_range) for part in parts]
    known, shares, ranges = sum(int(np.count_nonzero(part.known)) for part in parts), [], []
    for least in (TRUSTED, DOUBTFUL):
        values = np.concatenate([part.entries.values[one >= least] for part, one in zip(parts, settled, strict=True)])
        shares.append(values.size / known)
        ranges.append((float(values.min()), float(values.max())) if values.size else (0.0, 0.0))
    return _Sampled(model, doubted, (shares[0], shares[1]), tuple(ranges))


def _tiling(source: Source, modes: NeighbourModes, sizes: TileSizes) -> Tiling:
    """Large tiles of an array in memory. Those of a store have about one chunk: more of it may never be needed."""
    shape, chunks = source.shape, source.chunks
    box = tuple(slice(0, length) for length in shape)

    def tiles(halo: int) -> Tiling:
        halos = [halo if mode in modes.ordered else 0 for mode in range(len(shape))]
        if chunks is None:
            return tiling(box, halos, modes.related, sizes.most, [1] * len(shape))
        lengths = [shape[mode] if mode in modes.related else max(stored) for mode, stored in enumerate(chunks)]
        return _near(Tiling(box, tuple(lengths), tuple(halos)), sizes)

    return affordable(map(tiles, _HALOS), _MOST_OVERHEAD)


def _near(tiles: Tiling, sizes: TileSizes) -> Tiling:
    """Tiles of sizes near to these ones that are neither too large nor too small, and not mostly halo."""

    def looked_at(tiles: Tiling) -> float:
        return tiles.overhead * prod(tiles.lengths)

    while looked_at(tiles) > sizes.most and max(tiles.lengths) > 1:
        longest = tiles.lengths.index(max(tiles.lengths))
        tiles = tiles.resized(longest, ceil(tiles.lengths[longest] / 2))
    while looked_at(tiles) < sizes.least or tiles.overhead > _LARGE:
        larger = [tiles.resized(mode, 2 * length) for mode, length in enumerate(tiles.lengths)]
        larger = [tried for tried in larger if tried != tiles and looked_at(tried) <= sizes.most]
        if not larger:
            break
        tiles = min(larger, key=lambda tried: tried.overhead)
    return tiles


def _by_tile(indices: NDArray[np.intp], length: int) -> list[tuple[int, slice, NDArray[np.intp]]]:
    """The tiles that sorted indices of a mode lie in: number, place among the indices, and indices within the tile."""
    numbers = indices // length
    edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(indices)]
    return [
        (int(numbers[a]), slice(a, b), indices[a:b] - int(numbers[a]) * length) for a, b in pairwise(edges) if b > a
    ]
