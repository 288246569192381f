"""Tiles of a tensor, each computed with some entries around it: large data are never in memory as a whole."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, prod

import numpy as np

from ringlet.sampling import Purpose, sample_sizes, stream
from ringlet.sources import Chunks
from ringlet.sources.base import Block, aligned_blocks

__all__ = ["Tile", "Tiling", "affordable", "sample_windows", "tiling"]

_WINDOWS = 4  # of data that are not one window


@dataclass(frozen=True)
class Tile:
    """A part of a tensor.

    Attributes
    ----------
    core : tuple of slice
        The part that is computed.
    padded : tuple of slice
        The part that is read.
    """

    core: tuple[slice, ...]
    padded: tuple[slice, ...]

    @property
    def crop(self) -> tuple[slice, ...]:
        """The core within the padded part."""
        return tuple(
            slice(inner.start - outer.start, inner.stop - outer.start)
            for inner, outer in zip(self.core, self.padded, strict=True)
        )


@dataclass(frozen=True)
class Tiling:
    """Equal tiles of a box; the last ones of a mode may be shorter.

    Attributes
    ----------
    box : tuple of slice
        The part that the tiles cover.
    lengths, halos : tuple of int
        Of a tile along every mode, and what is read on either side.
    """

    box: tuple[slice, ...]
    lengths: tuple[int, ...]
    halos: tuple[int, ...]

    @property
    def chunks(self) -> Chunks:
        """Lengths of the tiles along every mode, after what lies before the box.

        Examples
        --------
        >>> Tiling((slice(0, 5), slice(2, 4)), (3, 2), (1, 0)).chunks
        ((3, 2), (2, 2))
        """
        result = []
        for held, length in zip(self.box, self.lengths, strict=True):
            size = held.stop - held.start
            tiles = [min(length, size - first) for first in range(0, size, length)]
            result.append(tuple([held.start, *tiles] if held.start else tiles))
        return tuple(result)

    @property
    def count(self) -> int:
        """Number of tiles."""
        return prod(ceil((held.stop - held.start) / size) for held, size in zip(self.box, self.lengths, strict=True))

    @property
    def overhead(self) -> float:
        """Entries that an inner tile reads, for each entry of its own.

        Examples
        --------
        >>> Tiling((slice(0, 90), slice(0, 3)), (30, 3), (15, 15)).overhead
        2.0
        """
        sizes = [held.stop - held.start for held in self.box]
        looked_at = [min(size, n + 2 * halo) for size, n, halo in zip(sizes, self.lengths, self.halos, strict=True)]
        return float(prod(looked_at) / prod(self.lengths))

    def resized(self, mode: int, length: int) -> "Tiling":
        """The same with tiles of this length along a mode, or as long as the mode."""
        held = self.box[mode]
        length = min(length, held.stop - held.start)
        return replace(self, lengths=(*self.lengths[:mode], length, *self.lengths[mode + 1 :]))

    def over(self, block: Block) -> Iterator[Tile]:
        """The tiles that a block of slices, each within the box, lies in."""
        numbers = []
        for chosen, held, length in zip(block, self.box, self.lengths, strict=True):
            assert isinstance(chosen, slice)  # noqa: S101 - see above
            first, last = (chosen.start - held.start) // length, (chosen.stop - 1 - held.start) // length
            numbers.append(range(first, last + 1))
        yield from map(self.tile, product(*numbers))

    def tile(self, place: tuple[int, ...]) -> Tile:
        """The tile with these numbers along the modes, counted from 0."""
        core, padded = [], []
        for number, held, length, halo in zip(place, self.box, self.lengths, self.halos, strict=True):
            start = held.start + number * length
            stop = min(start + length, held.stop)
            core.append(slice(start, stop))
            padded.append(slice(max(held.start, start - halo), min(held.stop, stop + halo)))
        return Tile(tuple(core), tuple(padded))


def tiling(
    box: Sequence[slice], halos: Sequence[int], together: Sequence[int], entries: int, chunks: Sequence[int]
) -> Tiling:
    """Tiles that read no more than about `entries` entries, and few of them twice.

    Parameters
    ----------
    box : sequence of slice
        The part to cover.
    halos : sequence of int
        Entries on either side that a tile reads, along every mode.
    together : sequence of int
        Modes that are divided only if the others are not enough.
    entries : int
    chunks : sequence of int
        Lengths of stored chunks: tiles that are longer hold whole ones. 1 of data in memory.

    Examples
    --------
    >>> tiling((slice(0, 100), slice(0, 100), slice(0, 3)), (5, 5, 0), (2,), 20_000, (1, 1, 1)).lengths
    (50, 100, 3)
    """
    sizes = [held.stop - held.start for held in box]
    lengths = list(sizes)

    def looked_at(tried: Sequence[int]) -> list[int]:
        return [min(size, length + 2 * halo) for size, length, halo in zip(sizes, tried, halos, strict=True)]

    while prod(looked_at(lengths)) > entries:
        divisible = [mode for mode, length in enumerate(lengths) if length > 1 and mode not in together]
        choices = []
        for mode in divisible or [mode for mode, length in enumerate(lengths) if length > 1]:
            tried = list(lengths)
            tried[mode] = (tried[mode] + 1) // 2
            if tried[mode] > chunks[mode]:
                tried[mode] = chunks[mode] * ceil(tried[mode] / chunks[mode])
            if tried[mode] < lengths[mode]:
                choices.append((prod(looked_at(tried)) / prod(tried), -lengths[mode], tried))
        if not choices:
            break
        lengths = min(choices)[2]
    return Tiling(tuple(box), tuple(lengths), tuple(halos))


def affordable(tilings: Iterable[Tiling], most: float) -> Tiling:
    """The first of some tilings whose `overhead` is at most this; the last one if there is none."""
    for tiles in tilings:
        if tiles.overhead <= most:
            break
    return tiles


def sample_windows(box: Sequence[slice], chunks: Chunks | None, entries: int) -> list[tuple[slice, ...]]:
    """A box of a tensor if it has at most this number of entries, otherwise four parts of it with about as many.

    Parameters
    ----------
    box : sequence of slice
    chunks : tuple of tuples of int or None
        Of what is stored of the box: parts are whole chunks, or lie in a large one.
    entries : int

    Examples
    --------
    >>> sample_windows((slice(0, 6), slice(2, 5)), None, 20)
    [(slice(0, 6, None), slice(2, 5, None))]
    >>> sample_windows((slice(0, 6), slice(2, 5)), ((3, 3), (3,)), 16)
    [(slice(0, 2, None), slice(2, 4, None)), (slice(3, 5, None), slice(2, 4, None))]
    """
    lows, sizes = [held.start for held in box], [held.stop - held.start for held in box]
    if prod(sizes) <= entries:
        return [tuple(box)]
    rng, most = stream(0, Purpose.NEIGHBOURS), entries // _WINDOWS
    if chunks is not None:
        stored = aligned_blocks(chunks, most)
        places = np.sort(rng.choice(len(stored), min(_WINDOWS, len(stored)), replace=False))
        chosen = [_within(stored[place], most) for place in places]
    else:
        lengths = sample_sizes(tuple(sizes), most)
        starts = [
            [int(rng.integers(size - n + 1)) for size, n in zip(sizes, lengths, strict=True)] for _ in range(_WINDOWS)
        ]
        chosen = [tuple(slice(a, a + n) for a, n in zip(start, lengths, strict=True)) for start in starts]
    return [
        tuple(slice(part.start + low, part.stop + low) for part, low in zip(block, lows, strict=True))
        for block in chosen
    ]


def _within(block: tuple[slice, ...], entries: int) -> tuple[slice, ...]:
    """The block, or its first part if it has more than about this number of entries."""
    lengths = tuple(part.stop - part.start for part in block)
    if prod(lengths) <= 2 * entries:
        return block
    return tuple(
        slice(part.start, part.start + size) for part, size in zip(block, sample_sizes(lengths, entries), strict=True)
    )
