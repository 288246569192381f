"""Held-out entries: a small random part of what is observed that the fit never sees, and that judges it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import log, log10, nan, prod, sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.chain import Core
from ringlet.ring.evaluate import dense_block
from ringlet.sampling import Purpose, draw_entries, stream
from ringlet.solvers.sawrtrd.start import background
from ringlet.sources import ArraySource, Block, Source
from ringlet.sources.base import slabs
from ringlet.sources.wrapped import WrappingSource

__all__ = ["HiddenSource", "Judge", "Lot", "Verdict", "hide", "judging_memory"]

Array64: TypeAlias = NDArray[np.float64]

_WANTED = 20_000  # entries to judge by
_SHARE_LEAST, _SHARE_MOST = 0.02, 0.06  # of the observed entries, held out
_FEWEST, _SHARE_UTMOST = 1000, 0.2  # of little data a larger share is held out,
_TOO_FEW = 50  # and none of less than this
_MOSTLY = 0.5  # of the missing entries: if so many are missing together with others, some are held out together
_MASK_ENTRIES = 1 << 24  # up to so many entries in memory a mask of the held-out ones is made once
_PROBE_ENTRIES, _PROBES = 1 << 19, 4  # larger data are judged on so many random subtensors of so many entries
_DRAWN_AT_ONCE = 1 << 16  # entries for which the lot is drawn at a time: they stay in the cache
_PROBE_BYTES = 16  # for every entry of a probe while it is judged
_WIDTH = 5.0  # of the judging kernel, in deviations of the residuals
_WIDEST = 0.3  # and at most this part of the data's range: entries that are so far off are wrong
_PRECISION = 1e-5  # of the data's range: what is smaller makes no difference,
_ROUNDING = {4: 1e-5, 8: 1e-13}  # nor what is smaller than this part of their level, by bytes of the working precision
_DECIBEL = 10 / log(10)  # in the logarithm of a power
_NORMAL = 1.4826  # deviations in the median size of normal residuals
_FAR, _ROUNDS = 3.0, 6  # the median leaves out what is further off than so many deviations, found in so many rounds


@dataclass(frozen=True)
class Lot:
    """Decides for every entry, from its index and the seed alone, whether it is held out.

    Attributes
    ----------
    tables : tuple of uint32 arrays
        One random number for every index of every mode; those of an entry's indices are added and mixed.
    threshold : int
        Mixed numbers below it are drawn.
    together : tuple of int
        Modes along which entries are missing together. Where there are some, half of the entries are drawn together.
    """

    tables: tuple[NDArray[np.uint32], ...]
    threshold: int
    together: tuple[int, ...] = ()

    @classmethod
    def of(cls, shape: Sequence[int], share: float, seed: int, together: tuple[int, ...] = ()) -> "Lot":
        """The lot that draws this share of all entries."""
        rng = stream(seed, Purpose.HOLD_OUT)
        tables = tuple(rng.integers(0, 1 << 32, length, np.uint32) for length in shape)
        return cls(tables, int((share / 2 if together else share) * (1 << 32)), together)

    def drawn(self, block: Block, order: Sequence[int]) -> NDArray[np.bool_]:
        """Which entries of a block are held out, with the axes in the given order.

        Examples
        --------
        >>> lot = Lot.of((200, 300), 0.05, seed=0)
        >>> bool(0.04 < lot.drawn((slice(None), slice(None)), (0, 1)).mean() < 0.06)
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
    """A source of which the entries that a lot draws are missing."""

    lot: Lot

    def read(self, block: Block, order: tuple[int, ...] | None = None) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Values of a block, and which of them are observed and not held out."""
        values, observed = self.source.read(block, order)
        kept = self.lot.drawn(block, order or range(len(block)))
        np.logical_not(kept, out=kept)
        if observed is not None:
            kept &= observed
        return values, kept


def judging_memory(shape: Sequence[int], *, stored: bool) -> int:
    """Bytes that holding entries out takes: a mask of data in memory, and a probe with its numbers and its model."""
    entries = prod(shape)
    mask = 0 if stored or entries > _MASK_ENTRIES else entries
    return mask + min(entries, _PROBE_ENTRIES) * _PROBE_BYTES


def hide(source: Source, lot: Lot) -> Source:
    """The source without the entries that the lot draws."""
    if isinstance(source, ArraySource) and source.array.size <= _MASK_ENTRIES:
        kept = lot.drawn((slice(None),) * source.array.ndim, range(source.array.ndim))
        np.logical_not(kept, out=kept)
        return replace(source, mask=kept if source.mask is None else kept & source.mask)
    return HiddenSource(source, lot)


@dataclass(frozen=True)
class Verdict:
    """How a new model does on the held-out entries, compared with an old one.

    Attributes
    ----------
    gain : float
        By how many decibels the mean square of the residuals is smaller, where either model comes near the entries.
    certainty : float
        The difference of the two losses in units of its standard error; above 0: the new model is better.
    doubt : float
        Standard error of the gain, in decibels.
    """

    gain: float
    certainty: float
    doubt: float


@dataclass(frozen=True)
class Probe:
    """Held-out entries of one subtensor.

    Attributes
    ----------
    index : tuple of arrays
        Of the subtensor.
    places : array of int
        Where in it the entries are.
    values : array
        In units of the size.
    together : array of bool
        Which are held out together with others.
    cells : array of int
        Those that are together have the same number.
    """

    index: tuple[NDArray[np.intp], ...]
    places: NDArray[np.intp]
    values: Array64
    together: NDArray[np.bool_]
    cells: NDArray[np.intp]


class Judge:
    """Compares models by their residuals at held-out entries, of which up to half may be wrong.

    Parameters
    ----------
    probes : sequence of Probe
    precision : float
        Residuals are not told from each other below it.
    missing : float
        Share of the data that is missing: entries held out together speak for those, single ones for the others.
    """

    def __init__(self, probes: Sequence[Probe], *, precision: float = 1e-12, missing: float = 0.0) -> None:
        self._probes, self._precision, self._missing = probes, precision, missing
        self._shares = _shares(np.concatenate([probe.together for probe in probes]), missing)
        cells = [np.unique(probe.cells, return_inverse=True)[1] for probe in probes]
        before = np.cumsum([0, *(len(probe.cells) for probe in probes[:-1])])
        self._cells = np.concatenate([own + first for own, first in zip(cells, before, strict=True)])
        values = np.concatenate([probe.values for probe in probes])
        flat = background(values) if values.size else None
        self._varied = values != flat  # a background that every model finds says nothing of what is far off

    @classmethod
    def of(cls, source: Source, observed: int, seed: int) -> tuple["Judge", Lot]:
        """Choose the entries to hold out; `observed` counts those that the source has."""
        shape = source.shape
        entries = prod(shape)
        if entries <= _PROBE_ENTRIES * _PROBES:
            blocks = [tuple(np.arange(part.start, part.stop) for part in slab) for slab in slabs(shape, _PROBE_ENTRIES)]
        else:
            blocks = [draw_entries(source, _PROBE_ENTRIES, seed, Purpose.HOLD_OUT, n) for n in range(1, _PROBES + 1)]
        looked_at = observed * min(1.0, sum(prod(map(len, block)) for block in blocks) / entries)
        share = min(max(_WANTED / looked_at, _SHARE_LEAST), _SHARE_MOST)
        share = min(max(share, _FEWEST / observed), _SHARE_UTMOST) if observed >= _TOO_FEW else 0.0
        together = _missing_together(source, blocks, 1.0 - observed / entries) if observed < entries else ()
        if share * observed < 2 * _TOO_FEW * prod(shape[mode] for mode in together):
            together = ()
        lot = Lot.of(shape, share, seed, together)
        return cls([_probe(source, lot, block) for block in blocks], missing=1.0 - observed / entries), lot

    def scaled(self, size: float, level: float, dtype: np.dtype[Any]) -> "Judge":
        """The judge of models of the data divided by `size`, which then lie as far from zero as `level`, at least 1.

        `dtype` is that of the models: what its rounding changes is not told apart.
        """
        probes = [replace(probe, values=np.clip(probe.values / size, -1e12, 1e12)) for probe in self._probes]
        precision = max(_PRECISION, _ROUNDING[dtype.itemsize] * level)
        return Judge(probes, precision=precision, missing=self._missing)

    def __len__(self) -> int:
        return sum(len(probe.values) for probe in self._probes)

    def residuals(self, cores: Sequence[Core]) -> Array64:
        """Values less the model's, in units of the data's size."""
        found = []
        for probe in self._probes:
            parts = [core[:, chosen, :] for core, chosen in zip(cores, probe.index, strict=True)]
            model = dense_block(parts).ravel()[probe.places]
            found.append(probe.values - model)
        return np.concatenate(found)

    def compare(self, new: Array64, old: Array64) -> Verdict:
        """Compare the residuals of two models, under a kernel that fits the old ones."""
        if not len(self):  # so little data that none were held out
            return Verdict(0.0, 0.0, 0.0)
        width = self._width(old)
        before, after = (np.exp(-0.5 * (residuals / width) ** 2) for residuals in (old, new))
        difference = after - before
        mean = float(self._shares @ difference)
        deviation = sqrt(float(np.sum(np.bincount(self._cells, self._shares * (difference - mean)) ** 2)))
        certainty = mean / deviation if deviation else 0.0
        near = self._shares * np.maximum(before, after)
        gain = 20 * log10(self._weighted_size(old, near) / self._weighted_size(new, near))
        lost = float(self._shares @ (before * (1 - before))) + 0.5 * (self._precision / width) ** 2
        doubt = _DECIBEL * deviation / lost
        return Verdict(gain, certainty, doubt)

    def error(self, residuals: Array64) -> float:
        """Root mean square of the residuals under the judging kernel, in units of the data's size."""
        if not len(self):
            return nan
        near = np.exp(-0.5 * (residuals / self._width(residuals)) ** 2)
        return self._weighted_size(residuals, self._shares * near if near.any() else self._shares)

    def _width(self, residuals: Array64) -> float:
        return max(_judging_width(residuals[self._varied]), self._precision)

    def _weighted_size(self, residuals: Array64, weights: Array64) -> float:
        mean = float(weights @ residuals**2) / max(float(weights.sum()), 1e-300)
        return sqrt(mean + self._precision**2)


def _judging_width(residuals: Array64) -> float:
    """So many deviations, by the median size of the residuals, in which those that lie far off lose their say."""
    sizes = np.sort(np.abs(residuals))
    weights = np.ones_like(sizes)
    for _ in range(_ROUNDS):
        below = np.cumsum(weights)
        deviation = _NORMAL * float(sizes[np.searchsorted(below, below[-1] / 2)])
        weights = np.exp(-0.5 * (sizes / max(_FAR * deviation, 1e-12)) ** 2)
    return min(max(_WIDTH * deviation, 1e-12), _WIDEST)


def _probe(source: Source, lot: Lot, block: tuple[NDArray[np.intp], ...]) -> Probe:
    values, observed = source.read(block)
    drawn = lot.drawn(block, range(len(block)))
    places = np.flatnonzero(drawn if observed is None else drawn & observed)
    together = lot.drawn_together(block, range(len(block))).ravel()[places]
    first = [index * (mode not in lot.together) for mode, index in enumerate(np.unravel_index(places, drawn.shape))]
    cells = np.where(together, np.ravel_multi_index(first, drawn.shape), drawn.size + places)
    return Probe(block, places, values.ravel()[places].astype(np.float64), together, cells)


def _missing_together(
    source: Source, blocks: Sequence[tuple[NDArray[np.intp], ...]], missing: float
) -> tuple[int, ...]:
    """Modes along which most of what is missing is missing whole, as the colours of a pixel; two others are left.

    A share of `missing` is. What would be missing whole if single entries were lost by chance does not count.
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


def _shares(together: NDArray[np.bool_], missing: float) -> Array64:
    """How much each entry counts: those held out together as the missing ones, the others as the rest; 1 in all."""
    counts = np.count_nonzero(together), np.count_nonzero(~together)
    if min(counts) == 0:
        return np.full(len(together), 1.0 / max(len(together), 1))
    return np.where(together, missing / counts[0], (1.0 - missing) / counts[1])
