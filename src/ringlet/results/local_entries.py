"""Predictions of entries from their neighbours, for any block of the data of a fit.

A model is learned once, in a sample of windows. It is applied tile by tile; the last tiles are kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.execution import Threads
from ringlet.local.judging import Judged
from ringlet.local.model import HALO, Clean, LocalModel, learn
from ringlet.local.refining import Denoiser, refined
from ringlet.local.stuck import without_stuck
from ringlet.local.window import Entries
from ringlet.results.ring_snapshot import Unseen
from ringlet.results.tiles import Tile, Tiling, affordable, sample_windows, tiling
from ringlet.ring import TensorRing
from ringlet.sources import Source
from ringlet.sources.appended import AppendedSource
from ringlet.sources.base import Block

__all__ = ["HonestRing", "LocalEntries", "Refining", "entries_within", "evaluated"]

_MOST_ENTRIES = 1 << 22  # read by all windows together, or by a tile: about 0.4 GB of work
_LEAST_ENTRIES = 1 << 20  # least for any budget: smaller tiles would read most entries many times
_ENTRY_BYTES = 160  # of a budget for every entry that is read; a third is left for reading and results
# Entries around a tile: with more than the first number results change by less than 1e-8 of the range, except in wide
# holes. Where tiles would mostly be halo, as along four modes, it is the first with which a tile looks at no more than
# `_MOST_OVERHEAD` entries for each of its own.
_HALOS, _MOST_OVERHEAD = (min(HALO, 28), 20, 14, 10, 7, 5, 3, 2, 1, 0), 8.0
_KEPT_TILES = 2
_LEAST_OBSERVED = 1500  # entries; fewer cannot show what wrong values look like


@dataclass(frozen=True, eq=False)
class HonestRing:
    """The ring before its last sweeps: it has not seen the held-out entries, so its errors there are unbiased.

    Attributes
    ----------
    ring : TensorRing
        In the data's units.
    unseen : Unseen
    judged : Judged or None
        The result of `judge_sample` for all the data and this ring, if the fit has asked for it. Without it the same is
        computed again.
    """

    ring: TensorRing
    unseen: Unseen
    judged: Judged | None = None


@dataclass(frozen=True, eq=False)
class Refining:
    """How the result of a model for a block is refined.

    Attributes
    ----------
    refine : "patches" or callable
        As in `Fit.restored`.
    detail : bool
        Whether the first array is ring and detail, or the ring alone.
    reweighted : callable
        Gives a block, a `Clean`, the weights that count.
    """

    refine: str | Denoiser
    detail: bool
    reweighted: Callable[[Clean, Block], Clean]

    @property
    def key(self) -> tuple[object, bool]:
        """What the results depend on."""
        return (self.refine if isinstance(self.refine, str) else id(self.refine)), self.detail


@dataclass(frozen=True, eq=False)
class Learned:
    """A local model, and the windows it was learned in.

    Attributes
    ----------
    model : LocalModel
    windows : tuple of blocks
    weights : tuple of float32 arrays
        Of the entries of the windows; NaN: not observed.
    whole : Clean or None
        The result of the model for all the data, if they were one window.
    """

    model: LocalModel
    windows: tuple[Block, ...]
    weights: tuple[NDArray[np.float32], ...]
    whole: Clean | None


@dataclass(frozen=True, eq=False)
class LocalEntries:
    """The neighbourhood of entries in the data of a fit.

    Attributes
    ----------
    ring : TensorRing
    source : Source
    honest : HonestRing or None
        If there is one, the model is learned with it.
    threads : int or None
        Number of threads; None: one for every core. It never changes the result.
    window_entries, tile_entries : int
        Entries that all windows together, and a tile, may read.
    """

    ring: TensorRing
    source: Source
    honest: HonestRing | None = None
    threads: int | None = None
    window_entries: int = _MOST_ENTRIES
    tile_entries: int = _MOST_ENTRIES
    _tiles: dict[tuple[object, ...], tuple[Clean, Refining | None]] = field(default_factory=dict)

    @cached_property
    def learned(self) -> Learned | None:
        """The model; None if too few entries are observed to learn one."""
        windows, observed, sample = [], [], []
        for window in self._windows():
            values, known = self.source.read(window)
            if known is not None and not known.any():
                continue
            windows.append(window)
            observed.append(known)
            sample.append(self._beside_ring(values, without_stuck(values, known), window))
        number = sum(one.values.size if one.observed is None else np.count_nonzero(one.observed) for one in sample)
        if number < _LEAST_OBSERVED:
            return None
        judged = self.honest.judged if self.honest is not None and windows == [self._box] else None
        with Threads(self.threads) as threads:
            model, cleans = learn(sample, mapper=threads.run, judged=judged)
        weights = [
            clean.weights if known is None else np.where(known, clean.weights, np.float32(np.nan))
            for clean, known in zip(cleans, observed, strict=True)
        ]
        whole = cleans[0] if windows == [self._box] else None
        return Learned(model, tuple(windows), tuple(weights), whole)

    @cached_property
    def tiles(self) -> Tiling:
        """The tiles in which blocks are computed."""
        learned = self.learned
        ordered, related = (learned.model.modes.ordered, learned.model.modes.related) if learned else ((), ())
        order, chunks = len(self.source.shape), self.source.chunks
        stored = [1] * order if chunks is None else [lengths[-1 if len(lengths) == 1 else -2] for lengths in chunks]
        halos = ([halo if mode in ordered else 0 for mode in range(order)] for halo in _HALOS)
        tilings = (tiling(self._box, around, related, self.tile_entries, stored) for around in halos)
        return affordable(tilings, _MOST_OVERHEAD)

    def clean(self, block: Block, refining: Refining | None = None) -> Clean | None:
        """The model's estimate of a block, refined if `refine` is given; None without a model."""
        learned = self.learned
        if learned is None:
            return None
        lengths = self.source.shape
        indices = [np.arange(length)[chosen] for length, chosen in zip(lengths, block, strict=True)]
        sizes = [len(axis) for axis in indices]
        result = Clean(np.empty(sizes), np.empty(sizes, np.float32), np.empty(sizes, np.float32))
        if not prod(sizes):
            return result
        for tile in self.tiles.over(tuple(slice(int(axis.min()), int(axis.max()) + 1) for axis in indices)):
            inside = [
                np.flatnonzero((axis >= core.start) & (axis < core.stop))
                for axis, core in zip(indices, tile.core, strict=True)
            ]
            if not all(len(axis) for axis in inside):
                continue
            found = self._computed(tile, learned, refining)
            there, here = (
                _outer(inside),
                _outer(
                    [axis[chosen] - core.start for axis, chosen, core in zip(indices, inside, tile.core, strict=True)]
                ),
            )
            result.predicted[there] = found.predicted[here]
            result.shares[there] = found.shares[here]
            result.weights[there] = found.weights[here]
        return result

    def _computed(self, tile: Tile, learned: Learned, refining: Refining | None) -> Clean:
        """The result of the model for a tile. A single tile was computed when the model was learned."""
        single = learned.whole if self.tiles.count == 1 else None
        if single is not None and refining is None:
            return single
        key = (*(core.start for core in tile.core), None if refining is None else refining.key)
        if key not in self._tiles:
            while len(self._tiles) >= _KEPT_TILES:
                self._tiles.pop(next(iter(self._tiles)))
            values, observed = self.source.read(tile.padded)
            observed = without_stuck(values, observed)
            with Threads(self.threads) as threads:
                clean = single
                if clean is None:
                    entries = Entries(values, observed, evaluated(self.ring, tile.padded))
                    clean = learned.model.apply(entries, threads.run)
                if refining is not None:
                    clean = refined(
                        self._beside_ring(values, observed, tile.padded),
                        refining.reweighted(clean, tile.padded),
                        learned.model,
                        refining.refine,
                        detail=refining.detail,
                        mapper=threads.run,
                    )
            crop = tile.crop
            parts = (clean.predicted[crop].copy(), clean.shares[crop].copy(), clean.weights[crop].copy())
            self._tiles[key] = Clean(*parts), refining  # it keeps the denoiser alive, so that no other gets its id
        return self._tiles[key][0]

    def _beside_ring(self, values: NDArray[Any], observed: NDArray[np.bool_] | None, block: Block) -> Entries:
        """A block with the ring that has not seen all of it, if there is one."""
        if self.honest is None:
            return Entries(values, observed, evaluated(self.ring, block))
        unseen = self.honest.unseen.drawn(block, range(len(self.source.shape)))
        return Entries(values, observed, evaluated(self.honest.ring, block), unseen)

    @property
    def _box(self) -> tuple[slice, ...]:
        """The part of the tensor whose data are in memory."""
        box = [slice(0, length) for length in self.source.shape]
        if isinstance(self.source, AppendedSource):
            box[self.source.mode] = slice(self.source.first, self.source.shape[self.source.mode])
        return tuple(box)

    def _windows(self) -> list[tuple[slice, ...]]:
        """Blocks to learn the model in: all the data, or always the same large parts; in stores, whole chunks."""
        held = self.source.source if isinstance(self.source, AppendedSource) else self.source
        return sample_windows(self._box, held.chunks, self.window_entries)


def entries_within(memory: int | None) -> int:
    """Number of entries that a budget of bytes allows to read together.

    Examples
    --------
    >>> entries_within(None), entries_within(100_000_000)
    (4194304, 1048576)
    """
    if memory is None:
        return _MOST_ENTRIES
    return min(_MOST_ENTRIES, max(_LEAST_ENTRIES, memory // _ENTRY_BYTES))


def evaluated(ring: TensorRing, block: Block) -> NDArray[Any]:
    """The ring's entries of a block, whose index arrays span a subtensor."""
    if sum(not isinstance(chosen, slice) for chosen in block) > 1:
        indices = [np.arange(length)[chosen] for length, chosen in zip(ring.shape, block, strict=True)]
        return np.asarray(ring[np.ix_(*indices)])
    return np.asarray(ring[block])


def _outer(indices: Sequence[NDArray[np.intp]]) -> tuple[Any, ...]:
    """An index for a subtensor: slices, if all indices are consecutive."""
    if all(axis[-1] - axis[0] == len(axis) - 1 and np.all(np.diff(axis) == 1) for axis in indices):
        return tuple(slice(int(axis[0]), int(axis[-1]) + 1) for axis in indices)
    return np.ix_(*indices)
