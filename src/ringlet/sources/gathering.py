"""Subtensors of an array in memory, gathered in one step: nothing larger than the block itself is made."""

from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.sources.base import Block

__all__ = ["gather"]

_RUN = 16  # bytes that lie together; shorter runs are cheaper to fetch one by one
_OFFSETS = 1 << 16  # entries fetched at a time: their offsets stay in the cache


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
    memory = _flat(array)
    if memory is None or _run_bytes(array, block) >= _RUN:
        return _by_lists(array, block)
    return _by_offsets(array, memory, block)


def _by_lists(array: NDArray[Any], block: Block) -> NDArray[Any]:
    """NumPy's own index arrays: best where whole runs of the fastest modes are copied."""
    lists = [axis for axis, chosen in enumerate(block) if not isinstance(chosen, slice)]
    index: list[Any] = list(block)
    for place, axis in enumerate(lists):
        index[axis] = index[axis].reshape(-1, *(1,) * (len(lists) - place - 1))
    part: NDArray[Any] = array[tuple(index)]
    if lists[-1] - lists[0] >= len(lists):  # NumPy puts index arrays that stand apart first
        part = np.moveaxis(part, range(len(lists)), lists)
    return part


def _by_offsets(array: NDArray[Any], memory: NDArray[Any], block: Block) -> NDArray[Any]:
    """Single entries at their places in memory: the places of the last modes once, from each place of the first."""
    places = [
        (np.arange(length)[chosen] if isinstance(chosen, slice) else chosen) * (stride // array.itemsize)
        for chosen, length, stride in zip(block, array.shape, array.strides, strict=True)
    ]
    out = np.empty(tuple(len(place) for place in places), array.dtype)
    last = len(places) - 1
    while last > 0 and prod(out.shape[last - 1 :]) <= _OFFSETS:
        last -= 1
    last = max(last, 1) if len(places) > 1 else 0
    offsets = np.zeros(1, np.intp)
    for place in places[last:]:
        offsets = (offsets[:, None] + place).ravel()
    rows = out.reshape(-1, len(offsets))
    for row, starts in zip(rows, product(*places[:last]), strict=True):
        memory[sum(starts) :].take(offsets, out=row, mode="clip")
    return out


def _flat(array: NDArray[Any]) -> NDArray[Any] | None:
    """The memory of an array as one vector, if its entries fill it without gaps, in whatever order of the modes."""
    by_stride = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    turned = array.transpose(by_stride)
    return turned.reshape(-1) if turned.flags.c_contiguous else None


def _run_bytes(array: NDArray[Any], block: Block) -> int:
    """Bytes that lie together in memory within the block."""
    run = array.itemsize
    for axis in sorted(range(array.ndim), key=lambda axis: array.strides[axis]):
        chosen = block[axis]
        if not isinstance(chosen, slice):
            break
        count = len(range(*chosen.indices(array.shape[axis])))
        run *= count
        if count < array.shape[axis]:
            break
    return run
