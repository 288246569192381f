"""Held-out entries: observed entries that a fit does not use, chosen by index and seed only."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.sampling import Purpose, draw_entries, stream
from ringlet.sources import ArraySource, Block, Source
from ringlet.sources.base import slabs
from ringlet.sources.wrapped import WrappingSource

__all__ = ["HiddenSource", "HoldoutMask", "choose_mask", "hide", "holdout_memory"]

Index: TypeAlias = tuple[NDArray[np.intp], ...]  # of a subtensor

_PROBE_ENTRIES = 1 << 19  # entries of a subtensor in which held-out entries are looked up
_PROBE_BYTES = 16  # for every entry of such a subtensor while a model is validated
_WANTED = 20_000  # held-out entries
_SHARE_LEAST, _SHARE_MOST = 0.02, 0.06  # of the observed entries, held out
_FEWEST, _SHARE_UTMOST = 1000, 0.2  # held-out entries of little data, and the largest share of these
_TOO_FEW = 50  # observed entries: of fewer none are held out
_MOSTLY = 0.5  # share of the missing entries: if more are missing in groups, groups are held out, too
_PROBES = 4  # random subtensors of large data in which held-out entries are looked up
_MASK_ENTRIES = 1 << 24  # entries of data in memory up to which a mask of the held-out ones is made once
_DRAWN_AT_ONCE = 1 << 16  # entries for which the mask is computed at a time: they stay in the cache


@dataclass(frozen=True)
class HoldoutMask:
    """Which entries are held out: a function of the index of an entry and the seed.

    Attributes
    ----------
    tables : tuple of uint32 arrays
        One random number for every index of every mode; those of an entry's indices are added and mixed.
    threshold : int
        Mixed numbers below it are drawn.
    together : tuple of int
        Modes along which entries are missing together. If there are any, half of the entries are drawn in such groups.
    """

    tables: tuple[NDArray[np.uint32], ...]
    threshold: int
    together: tuple[int, ...] = ()

    @classmethod
    def of(cls, shape: Sequence[int], share: float, seed: int, together: tuple[int, ...] = ()) -> "HoldoutMask":
        """The mask that holds out this share of all entries."""
        rng = stream(seed, Purpose.HOLD_OUT)
        tables = tuple(rng.integers(0, 1 << 32, length, np.uint32) for length in shape)
        return cls(tables, int((share / 2 if together else share) * (1 << 32)), together)

    def drawn(self, block: Block, order: Sequence[int]) -> NDArray[np.bool_]:
        """Which entries of a block are held out, with the axes in the given order.

        Examples
        --------
        >>> mask = HoldoutMask.of((200, 300), 0.05, seed=0)
        >>> bool(0.04 < mask.drawn((slice(None), slice(None)), (0, 1)).mean() < 0.06)
        True
        """
        drawn = self._draw([self.tables[mode][block[mode]] for mode in order])
        return drawn | self.drawn_together(block, order) if self.together else drawn

    def drawn_together(self, block: Block, order: Sequence[int]) -> NDArray[np.bool_]:
        """Which of them are held out with all others along the modes of `together`."""
        if not self.together:
            return np.zeros([len(self.tables[mode][block[mode]]) for mode in order], np.bool_)
        return self._draw([self.tables[mode][block[mode]] * np.uint32(mode not in self.together) for mode in order])

    def _draw(self, numbers: Sequence[NDArray[np.uint32]]) -> NDArray[np.bool_]:
        drawn = np.empty([len(table) for table in numbers], np.bool_)
        for slab in slabs(drawn.shape, _DRAWN_AT_ONCE) if drawn.size else []:
            mixed = reduce(np.add.outer, [table[part] for table, part in zip(numbers, slab, strict=True)])
            mixed ^= mixed >> np.uint32(16)
            mixed *= np.uint32(0x7FEB352D)
            mixed ^= mixed >> np.uint32(15)
            mixed *= np.uint32(0x846CA68B)
            np.less(mixed, np.uint32(self.threshold), out=drawn[slab])
        return drawn


@dataclass(frozen=True)
class HiddenSource(WrappingSource):
    """A source in which the entries of a holdout mask are missing."""

    mask: HoldoutMask

    def read(self, block: Block, order: tuple[int, ...] | None = None) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Values of a block, and which of them are observed and not held out."""
        values, observed = self.source.read(block, order)
        kept = self.mask.drawn(block, order or range(len(block)))
        np.logical_not(kept, out=kept)
        if observed is not None:
            kept &= observed
        return values, kept


def holdout_memory(shape: Sequence[int], *, stored: bool) -> int:
    """Bytes that held-out entries take: a mask of data in memory, a subtensor of the data and its model."""
    entries = prod(shape)
    mask = 0 if stored or entries > _MASK_ENTRIES else entries
    return mask + min(entries, _PROBE_ENTRIES) * _PROBE_BYTES


def hide(source: Source, mask: HoldoutMask) -> Source:
    """The source without the entries that are held out."""
    if isinstance(source, ArraySource) and source.array.size <= _MASK_ENTRIES:
        kept = mask.drawn((slice(None),) * source.array.ndim, range(source.array.ndim))
        np.logical_not(kept, out=kept)
        return replace(source, mask=kept if source.mask is None else kept & source.mask)
    return HiddenSource(source, mask)


def choose_mask(source: Source, observed: int, seed: int, *, together: bool = True) -> tuple[HoldoutMask, list[Index]]:
    """The entries to hold out, and the subtensors in which they are looked up; `observed` counts what the source has.

    If most entries are missing `together` with others, some are held out together.
    """
    shape = source.shape
    entries = prod(shape)
    if entries <= _PROBE_ENTRIES * _PROBES:
        blocks = [tuple(np.arange(part.start, part.stop) for part in slab) for slab in slabs(shape, _PROBE_ENTRIES)]
    else:
        blocks = [draw_entries(source, _PROBE_ENTRIES, seed, Purpose.HOLD_OUT, n) for n in range(1, _PROBES + 1)]
    looked_at = observed * min(1.0, sum(prod(map(len, block)) for block in blocks) / entries)
    share = min(max(_WANTED / looked_at, _SHARE_LEAST), _SHARE_MOST)
    share = min(max(share, _FEWEST / observed), _SHARE_UTMOST) if observed >= _TOO_FEW else 0.0
    modes = _missing_together(source, blocks, 1.0 - observed / entries) if together and observed < entries else ()
    if share * observed < 2 * _TOO_FEW * prod([shape[mode] for mode in modes]):
        modes = ()
    return HoldoutMask.of(shape, share, seed, modes), blocks


def _missing_together(source: Source, blocks: Sequence[Index], missing: float) -> tuple[int, ...]:
    """Modes along which most missing entries are missing as a whole, such as the colours of a pixel; two others remain.

    `missing` is the missing share. Groups that single losses form by chance do not count.
    """
    order = len(source.shape)
    whole, lost = np.zeros(order), np.zeros(order)  # beyond chance
    for block in blocks:
        _, observed = source.read(block)
        if observed is None:
            continue
        gaps = ~observed
        count, lengths = np.count_nonzero(gaps), np.array(gaps.shape)
        by_chance = count * missing ** (lengths - 1.0)  # all of it along a mode of one slice
        whole += [np.count_nonzero(gaps.all(axis=mode)) * length for mode, length in enumerate(lengths)] - by_chance
        lost += count - by_chance
    together = [mode for mode in range(order) if whole[mode] > _MOSTLY * lost[mode]]
    return tuple(sorted(sorted(together, key=lambda mode: source.shape[mode])[: order - 2]))
