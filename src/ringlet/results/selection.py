"""From an index of NumPy to blocks that a source can read, and back to the axes that NumPy gives."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ringlet.errors import IndexingError
from ringlet.ring.indexing import are_adjacent
from ringlet.sources import Chunks
from ringlet.sources.base import Block, aligned_blocks, slabs

__all__ = ["Index", "evaluate"]

Index: TypeAlias = int | slice | EllipsisType | list[int] | NDArray[np.integer[Any]] | NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.intp]

_PART_ENTRIES = 1 << 22  # evaluated at once: 32 MB of float64


def evaluate(
    compute: Callable[[Block], NDArray[Any]],
    index: Index | tuple[Index, ...],
    shape: tuple[int, ...],
    dtype: DTypeLike,
    chunks: Chunks | None = None,
) -> NDArray[Any]:
    """Compute the entries of an index, a part of bounded size at a time.

    Parameters
    ----------
    compute : callable
        Gives the entries of a block: one slice or sorted index array per mode.
    index : int, slice, Ellipsis, array of int or bool, or a tuple of these
    shape : tuple of int
        Of the tensor.
    dtype : dtype
        Of the result.
    chunks : tuple of tuples of int, optional
        Of stored data: parts end where chunks do, if the index takes whole modes.

    Examples
    --------
    >>> table = np.arange(12).reshape(3, 4)
    >>> evaluate(lambda block: table[block], (slice(None), -1), table.shape, int)
    array([ 3,  7, 11])
    >>> evaluate(lambda block: table[block], ([0, 2], [1, 3]), table.shape, int)
    array([ 1, 11])
    """
    given = index if isinstance(index, tuple) else (index,)
    if any(item is None for item in given):
        raise IndexingError("index holds np.newaxis (None), which is not allowed; add axes to the result")
    if any(isinstance(item, slice) and item.step == 0 for item in given):
        raise IndexingError(f"index={index!r} is not allowed; the step of a slice cannot be 0")
    try:
        several = _arrays(given) > 1 or any(np.asarray(item).ndim > 1 for item in given if _is_array(item))
    except ValueError:  # a ragged list
        raise _index_error(index, shape) from None
    if several:
        return _entries(compute, _coordinates(given, shape), shape, dtype, chunks)
    chosen = _chosen(given, shape)
    lengths = chosen.lengths(shape)
    result = np.empty(lengths, dtype)
    for part in _parts(lengths, chunks):
        result[part] = compute(chosen.within(part, shape))
    return chosen.laid_out(result)


def _is_array(item: object) -> bool:
    return not isinstance(item, slice) and item is not Ellipsis


def _arrays(items: Sequence[object]) -> int:
    return sum(np.asarray(item).ndim > 0 for item in items if _is_array(item))


def _parts(lengths: Sequence[int], chunks: Chunks | None) -> Iterator[tuple[slice, ...]]:
    """Blocks of bounded size that cover a selection of these lengths."""
    if not prod(lengths):
        return iter(())
    if chunks is not None and [sum(sizes) for sizes in chunks] == list(lengths):
        return iter(aligned_blocks(chunks, _PART_ENTRIES))
    return iter(slabs(lengths, _PART_ENTRIES))


@dataclass(frozen=True)
class _Chosen:
    """The selection of an index with at most one array.

    Attributes
    ----------
    block : tuple of slices and index arrays
        A full outer selection.
    squeezed : tuple of int
        Axes of it that come from integers and are removed.
    leading : int or None
        The axis of an index array that is separated from an integer by a slice: NumPy puts it first.
    """

    block: Block
    squeezed: tuple[int, ...]
    leading: int | None

    def lengths(self, shape: Sequence[int]) -> list[int]:
        """Number of indices taken along every mode."""
        return [
            len(range(*item.indices(length))) if isinstance(item, slice) else len(item)
            for item, length in zip(self.block, shape, strict=True)
        ]

    def within(self, part: tuple[slice, ...], shape: Sequence[int]) -> Block:
        """A part of the block; slices with a positive step stay slices."""
        chosen: list[slice | Indices] = []
        for item, length, taken in zip(self.block, shape, part, strict=True):
            if not isinstance(item, slice):
                chosen.append(item[taken])
                continue
            places = range(*item.indices(length))[taken]
            forward = slice(places.start, places.stop, places.step)
            chosen.append(forward if places.step > 0 else np.asarray(places, np.intp))
        return tuple(chosen)

    def laid_out(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the block, with the axes that NumPy would give them."""
        result = np.asarray(values.squeeze(axis=self.squeezed))
        if self.leading is None:
            return result
        return np.moveaxis(result, self.leading - sum(axis < self.leading for axis in self.squeezed), 0)


def _chosen(index: tuple[Any, ...], shape: tuple[int, ...]) -> _Chosen:
    given = list(index)
    apart = not are_adjacent(given)
    if any(item is Ellipsis for item in given):
        at = next(position for position, item in enumerate(given) if item is Ellipsis)
        given[at : at + 1] = [slice(None)] * (len(shape) - len(given) + 1)
    given += [slice(None)] * (len(shape) - len(given))
    if len(given) != len(shape) or any(item is Ellipsis for item in given):
        raise _index_error(index, shape)
    block: list[slice | Indices] = []
    squeezed, leading = [], None
    for axis, (item, length) in enumerate(zip(given, shape, strict=True)):
        if isinstance(item, slice):
            block.append(item)
            continue
        chosen = np.asarray(item, np.intp) if isinstance(item, list) and not item else np.asarray(item)
        if chosen.dtype == np.bool_ and chosen.shape == (length,):
            chosen = np.flatnonzero(chosen)
        if chosen.dtype.kind not in "iu":
            raise _index_error(index, shape)
        if chosen.size and not (-length <= chosen.min() and chosen.max() < length):
            raise IndexingError(f"index {item} is out of range for mode {axis}, which has {length} entries")
        positions = np.arange(length)[chosen]
        if chosen.ndim == 0:
            squeezed.append(axis)
            block.append(slice(int(positions), int(positions) + 1))
        else:
            block.append(positions)
            leading = axis if apart else None
    return _Chosen(tuple(block), tuple(squeezed), leading)


def _index_error(index: object, shape: tuple[int, ...]) -> IndexingError:
    if isinstance(index, tuple) and len(index) == 1:
        (index,) = index
    return IndexingError(
        f"index={index!r} is not allowed; give at most {len(shape)} ints, slices, index arrays, and one Ellipsis"
    )


def _coordinates(index: tuple[Any, ...], shape: tuple[int, ...]) -> list[Indices]:
    """Index of every entry along every mode, with the axes of the result; NumPy interprets the index."""
    try:
        return [np.broadcast_to(axis, shape)[index] for axis in np.ix_(*map(np.arange, shape))]
    except IndexError as error:
        raise IndexingError(f"index does not fit the shape {shape}: {error}") from error


def _entries(
    compute: Callable[[Block], NDArray[Any]],
    coordinates: Sequence[Indices],
    shape: tuple[int, ...],
    dtype: DTypeLike,
    chunks: Chunks | None,
) -> NDArray[Any]:
    """Single entries, read box by box: each box holds those that lie in one block of the tensor."""
    places = [axis.ravel() for axis in coordinates]
    blocks = slabs(shape) if chunks is None else aligned_blocks(chunks)
    starts = [sorted({block[mode].start for block in blocks}) for mode in range(len(shape))]
    cells = [np.searchsorted(edges, axis, side="right") - 1 for edges, axis in zip(starts, places, strict=True)]
    cell = np.ravel_multi_index(cells, [len(edges) for edges in starts])
    order = np.argsort(cell, kind="stable")
    result = np.empty(order.size, dtype)
    for members in np.split(order, np.flatnonzero(np.diff(cell[order])) + 1):
        if members.size:
            inside = [axis[members] for axis in places]
            lows = [int(axis.min()) for axis in inside]
            box = tuple(slice(low, int(axis.max()) + 1) for low, axis in zip(lows, inside, strict=True))
            result[members] = compute(box)[tuple(axis - low for low, axis in zip(lows, inside, strict=True))]
    return result.reshape(coordinates[0].shape)
