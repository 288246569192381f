"""Groups of similar patches, each fitted by a matrix of low rank.

Patches are small boxes along ordered modes, with all slices of related modes (colours). Similar ones are searched
nearby, and stacked to a matrix with one patch per row. What is wrong in a patch is not wrong in the others in the same
way, so most of the matrix has few large singular values, and its errors have many small ones.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from ringlet.local.modes import NeighbourModes
from ringlet.local.neighbours import Array32
from ringlet.ring.arrays import Mapper

__all__ = ["PatchGeometry", "low_rank", "patch_geometry", "similar_patches", "smoothed_patches"]

_SIDES = {1: 16, 2: 6, 3: 4}  # of a patch, by the number of ordered modes; of more modes, the longest three count
_REACHES = {1: 40, 2: 10, 3: 4}  # how far similar patches are searched on either side
_SIMILAR = 36  # patches of a group, at most
_MOST_RELATED = 16  # slices of related modes in a patch
_BATCH_ENTRIES = 1 << 20  # of groups that are worked on at once
_STRENGTH = 1.5  # of the squared singular values of errors alone, which are subtracted
_LEAST = np.float32(1e-30)


@dataclass(frozen=True)
class PatchGeometry:
    """How patches lie in an array.

    Attributes
    ----------
    order : tuple of int
        Modes of the array in the order of the work: related modes come last.
    shape : tuple of int
        In this order.
    sides, reaches : tuple of int
        Size of a patch, and reach of the search on either side, along every mode of `shape`.
    """

    order: tuple[int, ...]
    shape: tuple[int, ...]
    sides: tuple[int, ...]
    reaches: tuple[int, ...]

    @property
    def size(self) -> int:
        """Entries of a patch."""
        return prod(self.sides)

    @cached_property
    def corners(self) -> tuple[NDArray[np.intp], ...]:
        """First entries of the patches around which groups are made: they overlap by a third, and cover the array."""
        return tuple(
            np.unique(np.append(np.arange(0, length - side, max(1, 2 * side // 3)), length - side))
            for length, side in zip(self.shape, self.sides, strict=True)
        )

    @cached_property
    def offsets(self) -> NDArray[np.intp]:
        """Flat distance of the entries of a patch from its first one."""
        inside = np.meshgrid(*(np.arange(side) for side in self.sides), indexing="ij")
        return np.asarray(np.ravel_multi_index(tuple(inside), self.shape).ravel())

    @property
    def shifts(self) -> Iterator[tuple[int, ...]]:
        """Positions of the searched patches, relative to a patch."""
        return product(*(range(-reach, reach + 1) for reach in self.reaches))


def patch_geometry(shape: Sequence[int], modes: NeighbourModes) -> PatchGeometry | None:
    """Patches for an array; None if it has no ordered mode.

    Examples
    --------
    >>> patch_geometry((400, 600, 3), NeighbourModes((0, 1), (2,))).sides
    (6, 6, 3)
    """
    longest = sorted(modes.ordered, key=lambda mode: -shape[mode])[:3]
    if not longest:
        return None
    related = modes.related if prod(shape[mode] for mode in modes.related) <= _MOST_RELATED else ()
    order = (*(mode for mode in range(len(shape)) if mode not in related), *related)
    sides, reaches = [], []
    for mode in order:
        side = _SIDES[len(longest)] if mode in longest else shape[mode] if mode in related else 1
        sides.append(min(side, shape[mode]))
        reaches.append(min(_REACHES[len(longest)], shape[mode] - sides[-1]) if mode in longest else 0)
    return PatchGeometry(order, tuple(shape[mode] for mode in order), tuple(sides), tuple(reaches))


def similar_patches(array: Array32, geometry: PatchGeometry) -> NDArray[np.intp]:
    """The nearest patches of every patch of the grid, which is one of them.

    Parameters
    ----------
    array : float32 array of shape ``geometry.shape``
    geometry : PatchGeometry

    Returns
    -------
    array of int of shape (groups, patches)
        Flat indices of the first entries of patches.
    """
    shifts = list(geometry.shifts)
    grid = tuple(map(len, geometry.corners))
    distances = np.full((len(shifts), *grid), np.inf, np.float32)
    for shift, found in zip(shifts, distances, strict=True):
        _distances(array, geometry, shift, found)
    distances = distances.reshape(len(shifts), -1)
    number = min(_SIMILAR, len(shifts))
    nearest = np.argpartition(distances, number - 1, axis=0)[:number]
    known = np.isfinite(np.take_along_axis(distances, nearest, axis=0))
    steps = np.array([_flat(shift, geometry.shape) for shift in shifts])
    corners = np.ravel_multi_index(np.meshgrid(*geometry.corners, indexing="ij"), geometry.shape).ravel()
    return np.asarray((corners + steps[nearest] * known).T)


def smoothed_patches(
    array: Array32, variance: Array32, groups: NDArray[np.intp], geometry: PatchGeometry, mapper: Mapper = map
) -> Array32:
    """Fit all groups by low rank, and average their estimates of every entry; groups of lower rank count more.

    Parameters
    ----------
    array : float32 array of shape ``geometry.shape``
    variance : float32 array of the same shape
        Of the errors of its entries.
    groups : array of int
        From `similar_patches`.
    geometry : PatchGeometry
    mapper : callable, optional
        Used like `map`, over batches of groups.
    """
    flat, doubt = array.ravel(), variance.ravel()
    entries = groups.shape[1] * geometry.size
    length = max(1, _BATCH_ENTRIES // entries)
    batches = [groups[first : first + length] for first in range(0, len(groups), length)]

    def work(batch: NDArray[np.intp]) -> tuple[int, NDArray[np.float64], NDArray[np.float64]]:
        places = batch[:, :, None] + geometry.offsets
        fitted, weights = low_rank(flat[places], doubt[places].mean((1, 2)))
        fitted *= weights[:, None, None]
        first = int(places.min())
        places -= first
        counts = np.repeat(weights, entries)
        sums = np.bincount(places.ravel(), fitted.ravel()).astype(np.float64, copy=False)
        return first, sums, np.bincount(places.ravel(), counts).astype(np.float64, copy=False)

    sums, masses = np.zeros(array.size), np.zeros(array.size)
    for first, values, weights in mapper(work, batches):
        sums[first : first + values.size] += values
        masses[first : first + weights.size] += weights
    return (sums / masses).reshape(array.shape).astype(np.float32)


def low_rank(groups: Array32, variance: Array32) -> tuple[Array32, Array32]:
    """Reduce the singular values of matrices, without their mean rows, by the part that errors cause.

    Parameters
    ----------
    groups : float32 array of shape (groups, patches, entries)
    variance : float32 array of shape (groups,)
        Of the errors of the entries.

    Returns
    -------
    fitted : float32 array
    weights : float32 array of shape (groups,)
        Larger for lower ranks, at most 1.

    Examples
    --------
    >>> rows = np.outer(np.arange(1.0, 7), np.ones(50)).astype(np.float32)
    >>> noisy = rows + np.random.default_rng(0).normal(0, 0.1, rows.shape).astype(np.float32)
    >>> fitted, _ = low_rank(noisy[None], np.array([0.01], np.float32))
    >>> bool(abs(fitted - rows).mean() < 0.6 * abs(noisy - rows).mean())
    True
    """
    mean = groups.mean(1, keepdims=True)
    centred = groups - mean
    squares, vectors = np.linalg.eigh(centred @ centred.swapaxes(1, 2))
    threshold = np.float32(_STRENGTH * groups.shape[2]) * variance[:, None]
    kept = np.maximum(1 - threshold / np.maximum(squares, _LEAST), 0)
    fitted: Array32 = (vectors * kept[:, None, :]) @ (vectors.swapaxes(1, 2) @ centred)
    fitted += mean
    return fitted, 1 / (1 + kept.sum(1))


def _distances(array: Array32, geometry: PatchGeometry, shift: Sequence[int], found: Array32) -> None:
    """Squared distances of the patches of the grid from those that lie at a shift, where both are inside the array."""
    here, there, chosen, starts = [], [], [], []
    for length, side, corners, step in zip(geometry.shape, geometry.sides, geometry.corners, shift, strict=True):
        first, last = max(0, -step), min(length, length - step)
        here.append(slice(first, last))
        there.append(slice(first + step, last + step))
        inside = np.flatnonzero((corners >= first) & (corners + side <= last))
        chosen.append(inside)
        starts.append(corners[inside] - first)
    if not all(map(len, chosen)):
        return
    sums = array[tuple(here)] - array[tuple(there)]
    sums *= sums
    for mode in reversed(range(sums.ndim)):
        sums = _box_sums(sums, mode, starts[mode], geometry.sides[mode])
    found[np.ix_(*chosen)] = sums


def _box_sums(values: Array32, mode: int, starts: NDArray[np.intp], side: int) -> Array32:
    """Sums of entries along a mode, from every start on."""
    total = np.take(values, starts, mode)
    for distance in range(1, side):
        total += np.take(values, starts + distance, mode)
    return total


def _flat(shift: Sequence[int], shape: Sequence[int]) -> int:
    """Distance in the flat array."""
    total = 0
    for step, length in zip(shift, shape, strict=True):
        total = total * length + step
    return total
