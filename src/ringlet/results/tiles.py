"""Tiles of a tensor, each computed with some entries around it, so that large data are never computed whole."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, prod

from ringlet.sources import Chunks
from ringlet.sources.base import Block

__all__ = ["Tile", "Tiling", "tiling"]


@dataclass(frozen=True)
class Tile:
    """A part of a tensor.

    Attributes
    ----------
    core : tuple of slice
        What is computed.
    padded : tuple of slice
        What is looked at.
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
        What the tiles cover.
    lengths, halos : tuple of int
        Of a tile along every mode, and what is looked at to either side.
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

    def over(self, block: Block) -> Iterator[Tile]:
        """The tiles that a block of slices, each within the box, lies in."""
        numbers = []
        for chosen, held, length in zip(block, self.box, self.lengths, strict=True):
            assert isinstance(chosen, slice)  # noqa: S101 - see above
            first, last = (chosen.start - held.start) // length, (chosen.stop - 1 - held.start) // length
            numbers.append(range(first, last + 1))
        for place in product(*numbers):
            core, padded = [], []
            for number, held, length, halo in zip(place, self.box, self.lengths, self.halos, strict=True):
                start = held.start + number * length
                stop = min(start + length, held.stop)
                core.append(slice(start, stop))
                padded.append(slice(max(held.start, start - halo), min(held.stop, stop + halo)))
            yield Tile(tuple(core), tuple(padded))


def tiling(
    box: Sequence[slice], halos: Sequence[int], together: Sequence[int], entries: int, chunks: Sequence[int]
) -> Tiling:
    """Tiles that look at no more than about `entries` entries, and at few of them twice.

    Parameters
    ----------
    box : sequence of slice
        What to cover.
    halos : sequence of int
        Entries to either side that a tile looks at, along every mode.
    together : sequence of int
        Modes that are divided only if nothing else helps.
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
