"""Chunked arrays (zarr, HDF5, dask) as a source: read chunk by chunk, with entries selected in memory.

Index lists are never passed to the store: they are far slower there than whole slices, and a chunk is decompressed as
a whole anyway.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import FormatError, RingletError
from ringlet.sources.base import Block, Chunks, Source
from ringlet.sources.labels import Labels
from ringlet.sources.limits import MOST_CHUNKS
from ringlet.sources.memory import gather, observed_entries

__all__ = ["CELL_ENTRIES", "ChunkedSource", "regular_chunks", "row_chunks"]

CELL_ENTRIES = 1 << 20  # entries of neighbouring chunks that are read together, at most
_ROW_ENTRIES = 1 << 18


@dataclass(frozen=True, eq=False)
class ChunkedSource:
    """An array in chunks as a source.

    Attributes
    ----------
    array : zarr.Array, dask.array.Array or alike
        Anything with a dtype that gives an array for a tuple of slices, repeatedly and from any thread.
    chunks : tuple of tuples of int
        Lengths of the chunks along every mode.
    missing : tuple of numbers
        Values that mean a missing entry. NaN always does.
    masks : tuple of Source
        Of booleans: True = observed, where all of them say so.
    names : tuple of str or None
        Names of the modes.
    units : str or None
        Unit of the entries.
    packing : mapping
        Attributes of packed entries, which say how to unpack them and what their unit is then.
    labels : Labels or None
        What the object that was given says of its entries, to give back the same kind.
    path : str or None
        The file or store that holds the array, which errors name.

    Examples
    --------
    >>> x = np.arange(12.0).reshape(3, 4)
    >>> source = ChunkedSource(x, regular_chunks(x.shape, (2, 2)), missing=(2.0,))
    >>> values, observed = source.read((np.array([0, 2]), slice(1, 3)))
    >>> values.tolist(), observed.tolist()
    ([[1.0, 2.0], [9.0, 10.0]], [[True, False], [True, True]])
    """

    array: Any
    chunks: Chunks
    missing: tuple[float, ...] = ()
    masks: tuple[Source, ...] = ()
    names: tuple[str, ...] | None = None
    units: str | None = None
    packing: Mapping[str, Any] = field(default_factory=dict)
    labels: Labels | None = None
    path: str | None = None

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Size of every mode."""
        return tuple(sum(lengths) for lengths in self.chunks)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the stored entries."""
        dtype: np.dtype[Any] = np.dtype(self.array.dtype)
        return dtype

    def read(self, block: Block, order: tuple[int, ...] | None = None) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Values of a block, and which of them are observed (None: all), with the axes in the given order."""
        axes = order or tuple(range(len(block)))
        values = self._values(block, axes)
        given = (mask.read(block, axes)[0] for mask in self.masks)
        return values, observed_entries(values, self.missing, *given)

    def _values(self, block: Block, axes: tuple[int, ...]) -> NDArray[Any]:
        pieces = self._pieces(block)
        lengths = [part[-1].place.stop if part else 0 for part in pieces]
        out = np.empty([lengths[axis] for axis in axes], self.dtype)
        for cell in product(*pieces):
            stored = self._stored(tuple(piece.span for piece in cell)).transpose(axes)
            turned = [cell[axis] for axis in axes]
            out[tuple(piece.place for piece in turned)] = gather(stored, tuple(piece.within for piece in turned))
        return out

    def _stored(self, block: tuple[slice, ...]) -> NDArray[Any]:
        try:
            return np.asarray(self.array[block])
        except FormatError as error:
            raise FormatError(self._named(error)) from error.__cause__
        except (RingletError, MemoryError):
            raise
        except Exception as error:  # libraries and their codecs document no set of exceptions
            spans = ", ".join(f"{span.start}:{span.stop}" for span in block)
            reason = f"{type(error).__name__}: {error}"
            raise FormatError(self._named(f"the stored entries [{spans}] cannot be read: {reason}")) from error

    def _named(self, told: object) -> str:
        return f"{told}" if self.path is None else f"{self.path}: {told}"

    def _pieces(self, block: Block) -> list[list["_ChunkPart"]]:
        """What to read of every mode, one chunk after the other; of modes given as slices, several at a time."""
        indices = [
            np.arange(*chosen.indices(length)) if isinstance(chosen, slice) else np.asarray(chosen)
            for chosen, length in zip(block, self.shape, strict=True)
        ]
        room = CELL_ENTRIES // max(1, prod(max(lengths) for lengths in self.chunks))
        pieces: list[list[_ChunkPart]] = [[]] * len(block)
        for mode in reversed(range(len(block))):
            together = 1
            if isinstance(block[mode], slice):
                together = max(1, min(room, len(self.chunks[mode])))
                room //= together
            pieces[mode] = list(_by_chunk(indices[mode], self._edges[mode][::together]))
        return pieces

    @cached_property
    def _edges(self) -> tuple[NDArray[np.intp], ...]:
        """Where the chunks of every mode begin."""
        return tuple(np.cumsum((0, *lengths[:-1])) for lengths in self.chunks)


@dataclass(frozen=True)
class _ChunkPart:
    """What a selection takes from one chunk of one mode.

    Attributes
    ----------
    span : slice
        What to read of the array.
    within : slice or index array
        What to select from that.
    place : slice
        Where it goes in the result.
    """

    span: slice
    within: slice | NDArray[np.intp]
    place: slice


def regular_chunks(shape: Sequence[int], sizes: Sequence[int]) -> Chunks:
    """Lengths of chunks of one size; the last of a mode may be shorter.

    Where a store claims more chunks than anyone could list, neighbours count as one.

    Examples
    --------
    >>> regular_chunks((5, 4), (2, 4))
    ((2, 2, 1), (4,))
    """
    cells = list(sizes)
    while prod(counts := list(map(_ceil_div, shape, cells))) > MOST_CHUNKS:
        mode = max(range(len(cells)), key=lambda mode: counts[mode])
        cells[mode] *= 2
    return tuple(
        tuple(min(size, length - start) for start in range(0, length, size)) or (0,)
        for length, size in zip(shape, cells, strict=True)
    )


def _ceil_div(length: int, size: int) -> int:
    return -(-length // size)


def row_chunks(shape: Sequence[int]) -> Chunks:
    """Chunks for an array that is stored without any, row after row: runs of entries that lie together.

    Examples
    --------
    >>> [lengths[:2] for lengths in row_chunks((700, 600, 500))]
    [(1, 1), (524, 76), (500,)]
    """
    sizes, room = [1] * len(shape), _ROW_ENTRIES
    for mode in reversed(range(len(shape))):
        sizes[mode] = max(1, min(shape[mode], room))
        room //= sizes[mode]
        if sizes[mode] < shape[mode]:
            break
    return regular_chunks(shape, sizes)


def _by_chunk(indices: NDArray[np.intp], starts: NDArray[np.intp]) -> Iterator[_ChunkPart]:
    """Split a sorted selection of one mode at the chunk boundaries."""
    cells = np.searchsorted(starts, indices, side="right")
    cuts = [0, *(np.flatnonzero(np.diff(cells)) + 1).tolist(), len(indices)]
    for start, stop in pairwise(cuts):
        part = indices[start:stop]
        if not len(part):
            continue
        low, high = int(part.min()), int(part.max()) + 1
        dense = bool((np.diff(part) == 1).all())
        yield _ChunkPart(slice(low, high), slice(0, high - low) if dense else part - low, slice(start, stop))
