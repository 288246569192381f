"""Order of the modes in memory, and the tiles in which arrays are processed.

Filters run along ordered modes. These come last, the longest one innermost, so that rows are long. A tile is small
enough for its intermediate arrays to stay in the processor's cache; entries of other tiles are read as a halo.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ringlet.local.modes import NeighbourModes

__all__ = ["Layout", "Slices", "Tile", "spread_tiles"]

Slices = tuple[slice, ...]
T = TypeVar("T", bound=np.generic)

_TILE_ENTRIES = 1 << 17  # of a tile that is worked on
_SHORTEST_SIDE = 24  # length of a tile along an ordered mode: in shorter ones the halo takes most of the work
_SHORTEST_ROW = 128  # the same along the last mode: short rows make NumPy slow


@dataclass(frozen=True)
class Tile:
    """A part of an array with a halo, which ends at the array's border.

    Attributes
    ----------
    outer : tuple of slice
        Of the array: the part and its halo.
    inner : tuple of slice
        Of the array: the part.
    core : tuple of slice
        The part, in an array that was cut at `outer`.
    """

    outer: Slices
    inner: Slices
    core: Slices

    @property
    def size(self) -> int:
        """Number of entries without the halo."""
        return prod(part.stop - part.start for part in self.inner)

    def __hash__(self) -> int:
        return hash(tuple((part.start, part.stop) for part in self.inner))


@dataclass(frozen=True)
class Layout:
    """How an array lies in memory.

    Attributes
    ----------
    shape : tuple of int
        In memory.
    order : tuple of int
        Modes of the data, in their order in memory.
    modes : NeighbourModes
        Kinds of the modes, by their place in memory.
    """

    shape: tuple[int, ...]
    order: tuple[int, ...]
    modes: NeighbourModes

    @classmethod
    def of(cls, shape: Sequence[int], modes: NeighbourModes) -> "Layout":
        """For an array of this shape, whose modes are numbered as in the data.

        Examples
        --------
        >>> Layout.of((400, 600, 3), NeighbourModes((0, 1), (2,)))
        Layout(shape=(3, 400, 600), order=(2, 0, 1), modes=NeighbourModes(ordered=(1, 2), related=(0,)))
        """
        free = [mode for mode in range(len(shape)) if mode not in (*modes.ordered, *modes.related)]
        order = (*free, *modes.related, *sorted(modes.ordered, key=lambda mode: shape[mode]))
        inside = NeighbourModes(
            tuple(sorted(order.index(mode) for mode in modes.ordered)),
            tuple(order.index(mode) for mode in modes.related),
        )
        return cls(tuple(shape[mode] for mode in order), order, inside)

    def arranged(self, array: NDArray[T]) -> NDArray[T]:
        """An array of the data, as it lies in memory here."""
        return np.ascontiguousarray(array.transpose(self.order))

    def restored(self, array: NDArray[T]) -> NDArray[T]:
        """The inverse of `arranged`."""
        return np.ascontiguousarray(array.transpose(np.argsort(self.order)))

    def tiles(self, halo: int, entries: int = _TILE_ENTRIES, shortest: int = _SHORTEST_SIDE) -> list[Tile]:
        """Tiles that cover the array.

        Parameters
        ----------
        halo : int
            Entries along ordered modes.
        entries : int
            Intended size of a tile; related modes stay whole.
        shortest : int
            Intended least length along ordered modes.
        """
        sides = self._sides(entries, shortest)
        ranges = [
            [(first, min(first + side, length)) for first in range(0, length, side)]
            for length, side in zip(self.shape, sides, strict=True)
        ]
        return [self._tile(bounds, halo) for bounds in product(*ranges)]

    def with_halo(self, tile: Tile, halo: int) -> Tile:
        """The same tile with another halo."""
        return self._tile([(part.start, part.stop) for part in tile.inner], halo)

    def _sides(self, entries: int, shortest: int) -> list[int]:
        sides = [max(length, 1) for length in self.shape]
        free = [mode for mode in range(len(sides)) if mode not in (*self.modes.ordered, *self.modes.related)]
        for mode in free:
            while prod(sides) > entries and sides[mode] > 1:
                sides[mode] = ceil(sides[mode] / 2)
        while prod(sides) > entries and self.modes.ordered:
            least = dict.fromkeys(self.modes.ordered, shortest)
            least[self.modes.ordered[-1]] = _SHORTEST_ROW
            longest = max(self.modes.ordered, key=lambda mode: sides[mode] / least[mode])
            if sides[longest] < 2 * least[longest]:
                break
            sides[longest] = ceil(sides[longest] / 2)
        return sides

    def _tile(self, bounds: Sequence[tuple[int, int]], halo: int) -> Tile:
        outer, core = [], []
        for mode, (first, last) in enumerate(bounds):
            reach = halo if mode in self.modes.ordered else 0
            start = max(0, first - reach)
            outer.append(slice(start, min(self.shape[mode], last + reach)))
            core.append(slice(first - start, last - start))
        return Tile(tuple(outer), tuple(slice(*bound) for bound in bounds), tuple(core))


def spread_tiles(tiles: Sequence[Tile], entries: float, rng: np.random.Generator) -> list[Tile]:
    """Random tiles with about this number of entries, at least one; all, if they have no more."""
    chosen, total = [], 0
    for number in rng.permutation(len(tiles)):
        if total >= entries:
            break
        chosen.append(tiles[number])
        total += tiles[number].size
    return chosen
