"""NumPy's indexing rules for a ring: read an index, evaluate only the block it asks for, place the axes."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import IndexingError
from ringlet.ring.chain import Core
from ringlet.ring.evaluate import dense_block, dense_points

__all__ = ["are_adjacent", "basic_selectors", "evaluate_index", "in_bounds"]

IndexArray: TypeAlias = NDArray[np.intp]
Selector: TypeAlias = int | slice | IndexArray  # what selects along one mode


def evaluate_index(cores: Sequence[Core], index: object) -> Any:
    """Dense block of a ring, as NumPy would index the dense tensor.

    Parameters
    ----------
    cores : sequence of arrays
        The cores of a ring of order N.
    index : int, slice, Ellipsis, array of int or bool, or a tuple of these
        Every form of NumPy's indexing but ``np.newaxis``.

    Returns
    -------
    array or scalar

    Raises
    ------
    IndexingError
        The index does not fit the shape.

    Examples
    --------
    >>> import numpy as np
    >>> cores = [np.arange(2.0).reshape(1, 2, 1), np.arange(4.0).reshape(1, 4, 1)]
    >>> evaluate_index(cores, (1, slice(None, None, -2)))
    array([3., 1.])
    """
    shape = tuple(core.shape[1] for core in cores)
    items = [_item(item) for item in (index if isinstance(index, tuple) else (index,))]
    selectors = _selectors(items, shape)
    if any(isinstance(selector, np.ndarray) for selector in selectors):
        return _advanced(cores, selectors, adjacent=are_adjacent(items))
    return _basic(cores, selectors)


def basic_selectors(index: object, shape: tuple[int, ...]) -> list[int | slice] | None:
    """One integer or slice a mode, in bounds; None for an index with arrays.

    Examples
    --------
    >>> basic_selectors((-1, ...), (3, 4))
    [2, slice(None, None, None)]
    >>> basic_selectors([0, 1], (3, 4)) is None
    True
    """
    items = [_item(item) for item in (index if isinstance(index, tuple) else (index,))]
    selectors = [selector for selector in _selectors(items, shape) if not isinstance(selector, np.ndarray)]
    return selectors if len(selectors) == len(shape) else None


def are_adjacent(items: Sequence[Any]) -> bool:
    """True if nothing is between the integers and arrays of an index, not even an empty ellipsis.

    Examples
    --------
    >>> are_adjacent([slice(None), 0, [1, 2]]), are_adjacent([0, slice(None), [1, 2]])
    (True, False)
    """
    places = [place for place, item in enumerate(items) if not (item is Ellipsis or isinstance(item, slice))]
    return not places or places[-1] - places[0] == len(places) - 1


def in_bounds(indices: NDArray[np.integer], mode: int, size: int) -> IndexArray:
    """Check indices along one mode and count negative ones from the end.

    Examples
    --------
    >>> import numpy as np
    >>> in_bounds(np.array([0, -1]), mode=0, size=5)
    array([0, 4])
    """
    outside = indices[(indices < -size) | (indices >= size)]
    if outside.size:
        raise IndexingError(f"index {outside.flat[0]} is out of bounds for mode {mode} of size {size}")
    wide = indices.astype(np.intp)  # small integers could not hold the sum
    return np.where(wide < 0, wide + size, wide)


def _selectors(items: Sequence[Any], shape: tuple[int, ...]) -> list[Selector]:
    """One selector per mode, all in bounds and not negative."""
    used = sum(item.ndim if _is_mask(item) else item is not Ellipsis for item in items)
    if used > len(shape):
        raise IndexingError(f"too many indices: the tensor has {len(shape)} modes, but {used} were indexed")
    dots = [position for position, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexingError("an index can only have a single ellipsis ('...')")
    split = dots[0] if dots else len(items)
    whole = [slice(None)] * (len(shape) - used)
    items = [*items[:split], *whole, *items[split + 1 :]]
    selectors: list[Selector] = []
    for item in items:
        mode = len(selectors)
        if _is_mask(item):
            selectors += _mask_to_indices(item, mode, shape)
        elif isinstance(item, slice):
            selectors.append(item)
        else:
            wrapped = in_bounds(np.asarray(item), mode, shape[mode])
            selectors.append(int(wrapped) if isinstance(item, int) else wrapped)
    return selectors


def _item(item: Any) -> Any:
    """Read an index item as a slice, Ellipsis, int, or array of int or bool."""
    if isinstance(item, slice) and item.step == 0:
        raise IndexingError("the step of a slice cannot be 0")
    if item is Ellipsis or isinstance(item, slice):
        return item
    if item is None:
        raise IndexingError("np.newaxis (None) does not work on a ring; index first, then add axes to the result")
    try:
        array = np.asarray(item)
    except ValueError:
        raise IndexingError(f"{item!r} is no index: it is a ragged list") from None
    if array.size == 0 and not isinstance(item, np.ndarray):
        array = array.astype(np.intp)  # an empty list has no dtype of its own
    if array.dtype == bool and array.ndim > 0:
        return array
    if not np.issubdtype(array.dtype, np.integer):
        raise IndexingError(f"{item!r} is no index; use integers, slices, '...', or arrays of integers or of booleans")
    return int(array) if array.ndim == 0 else array


def _is_mask(item: Any) -> bool:
    return isinstance(item, np.ndarray) and item.dtype == bool


def _mask_to_indices(mask: NDArray[np.bool_], mode: int, shape: tuple[int, ...]) -> list[IndexArray]:
    covered = shape[mode : mode + mask.ndim]
    if mask.shape != covered:
        raise IndexingError(
            f"boolean index of shape {mask.shape} at mode {mode} does not match the sizes {covered} it covers"
        )
    return list(np.nonzero(mask))


def _basic(cores: Sequence[Core], selectors: Sequence[Selector]) -> Any:
    block = [core[:, _kept(selector), :] for core, selector in zip(cores, selectors, strict=True)]
    shape = [core.shape[1] for core, selector in zip(block, selectors, strict=True) if isinstance(selector, slice)]
    return dense_block(block).reshape(shape)[()]


def _kept(selector: Selector) -> slice | IndexArray:
    """Keep the mode of a selector: an integer becomes a slice of length 1."""
    return slice(selector, selector + 1) if isinstance(selector, int) else selector


def _common_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that arrays are broadcast to; that of NumPy allows at most 32 axes.

    Examples
    --------
    >>> _common_shape([(3, 1), (2,)])
    (3, 2)
    """
    order = max(map(len, shapes))
    aligned = [(1,) * (order - len(shape)) + shape for shape in shapes]
    lengths = [{length for length in axis if length != 1} or {1} for axis in zip(*aligned, strict=True)]
    if any(len(axis) > 1 for axis in lengths):
        told = ", ".join(map(str, shapes))
        raise IndexingError(f"index arrays of shapes {told} cannot be broadcast together")
    return tuple(axis.pop() for axis in lengths)


def _advanced(cores: Sequence[Core], selectors: Sequence[Selector], *, adjacent: bool) -> NDArray[Any]:
    """Index arrays are broadcast together; their axes are placed as in NumPy."""
    modes = [k for k, selector in enumerate(selectors) if not isinstance(selector, slice)]
    arrays = [np.asarray(selectors[k]) for k in modes]
    broadcast = _common_shape([array.shape for array in arrays])
    sliced = [core[:, s, :] if isinstance(s, slice) else core for core, s in zip(cores, selectors, strict=True)]
    if _is_outer(arrays):
        values = _outer(sliced, modes, arrays, broadcast)
    else:
        points = {k: np.broadcast_to(a, broadcast).ravel() for k, a in zip(modes, arrays, strict=True)}
        values = dense_points(sliced, points)
        values = values.reshape(*broadcast, *values.shape[1:])
    if not adjacent:  # NumPy's rule: indices apart from each other put their axes first
        return values
    axes = range(len(broadcast))
    return np.ascontiguousarray(np.moveaxis(values, axes, [modes[0] + axis for axis in axes]))


def _is_outer(arrays: Sequence[IndexArray]) -> bool:
    """True if no two arrays vary along the same axis (as in ``np.ix_``): their points form a block."""
    ndim = max(array.ndim for array in arrays)
    aligned = [(1,) * (ndim - array.ndim) + array.shape for array in arrays]
    return all(sum(size != 1 for size in axis) <= 1 for axis in zip(*aligned, strict=True))


def _outer(
    cores: Sequence[Core], modes: Sequence[int], arrays: Sequence[IndexArray], broadcast: tuple[int, ...]
) -> NDArray[Any]:
    """Evaluate the block of an outer index, axes of the broadcast first."""
    block = list(cores)
    for k, array in zip(modes, arrays, strict=True):
        block[k] = cores[k][:, array.ravel(), :]
    values = dense_block(block)
    values = np.moveaxis(values, modes, range(len(modes)))
    free = values.shape[len(modes) :]
    owners = [axis for array in arrays for axis in _varying(array, len(broadcast))]
    values = values.reshape([*(broadcast[axis] for axis in owners), *free])
    values = values.transpose([*np.argsort(owners), *range(len(owners), values.ndim)])
    return values.reshape(broadcast + free)


def _varying(array: IndexArray, ndim: int) -> list[int]:
    """Axes of the broadcast along which the array varies."""
    return [ndim - array.ndim + axis for axis, size in enumerate(array.shape) if size != 1]
