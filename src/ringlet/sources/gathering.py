"""Subtensors of an array in memory, gathered by memory offsets, without temporaries much larger than the block."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.sources.base import Block

__all__ = ["gather"]

_RUN = 64  # bytes of a block that lie together: longer runs are copied best by NumPy's own index arrays
_ROW = 512  # bytes of a row of several modes that is fetched whole,
_TAKEN = 1 / 16  # where the block uses at least this part of it
_ROOM = 1 << 20  # bytes that are fetched together: they, or their offsets, stay in the cache


def gather(array: NDArray[Any], block: Block) -> NDArray[Any]:
    """Outer indexing: the subtensor that one slice or sorted index array a mode span together.

    Examples
    --------
    >>> gather(np.arange(12).reshape(3, 4), (np.array([0, 2]), slice(1, 3)))
    array([[ 1,  2],
           [ 9, 10]])
    """
    if all(isinstance(chosen, slice) for chosen in block):
        return array[block]
    by_stride = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    memory, chosen = array.transpose(by_stride), tuple(block[axis] for axis in by_stride)
    if not memory.flags.c_contiguous or _run_bytes(memory, chosen) >= _RUN:
        return _by_lists(array, block)
    return np.ascontiguousarray(_by_rows(memory, chosen).transpose(np.argsort(by_stride)))


def _by_lists(array: NDArray[Any], block: Block) -> NDArray[Any]:
    """NumPy's own index arrays: best where whole runs of the fastest modes are copied."""
    lists = [axis for axis, chosen in enumerate(block) if not isinstance(chosen, slice)]
    index: list[Any] = list(block)
    for place, axis in enumerate(lists):
        index[axis] = index[axis].reshape(-1, *(1,) * (len(lists) - place - 1))
    part: NDArray[Any] = array[tuple(index)]
    if lists[-1] - lists[0] >= len(lists):  # NumPy puts the axes of separated index arrays first
        part = np.moveaxis(part, range(len(lists)), lists)
    return part


def _by_rows(memory: NDArray[Any], block: Block) -> NDArray[Any]:
    """Rows of a C-contiguous array, fetched in memory order, and from them the entries of the block.

    Memory is read in its own order, so that a cache line is loaded once, whatever order is requested.
    """
    shape = memory.shape
    places = [
        np.arange(length)[chosen] if isinstance(chosen, slice) else chosen
        for chosen, length in zip(block, shape, strict=True)
    ]
    first, row, taken = memory.ndim, 1, 1  # modes from `first` on make up a row
    while first > 0:
        wider, more = row * shape[first - 1], taken * len(places[first - 1])
        if more < _TAKEN * wider or (row > 1 and wider * memory.itemsize > _ROW):
            break
        first, row, taken = first - 1, wider, more
    outer, together = first, max(row * memory.itemsize, 8)  # rows that differ in modes from `outer` on come together
    while outer > 0 and (together * len(places[outer - 1]) <= _ROOM or together < _ROOM // 16):
        outer -= 1
        together *= len(places[outer])
    starts, within = _offsets(places[outer:first], shape[outer:first]), _offsets(places[first:], shape[first:])
    begins = _offsets(places[:outer], shape[:outer]) * prod(shape[outer:first])
    rows, out = memory.reshape(-1, row), np.empty((len(begins), len(starts), taken), memory.dtype)
    whole = np.array_equal(within, np.arange(row))
    for begin, target in zip(begins, out, strict=True):
        if whole:
            rows[begin:].take(starts, axis=0, out=target, mode="clip")
        else:
            rows[begin:].take(starts, axis=0, mode="clip").take(within, axis=1, out=target, mode="clip")
    return out.reshape([len(place) for place in places])


def _offsets(places: Sequence[NDArray[np.intp]], shape: Sequence[int]) -> NDArray[np.intp]:
    """Where the entries at these indices of an array of this shape lie, in order."""
    offsets = np.zeros(1, np.intp)
    for place, length in zip(places, shape, strict=True):
        offsets = (offsets[:, None] * length + place).ravel()
    return offsets


def _run_bytes(memory: NDArray[Any], block: Block) -> int:
    """Bytes of a C-contiguous array that lie together within the block."""
    run = memory.itemsize
    for chosen, length in zip(block[::-1], memory.shape[::-1], strict=True):
        if not isinstance(chosen, slice):
            break
        count = len(range(*chosen.indices(length)))
        run *= count
        if count < length:
            break
    return run
