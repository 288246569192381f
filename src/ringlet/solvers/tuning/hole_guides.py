"""Guides for large holes: values for a few missing entries far from all others, from their coarse surroundings.

Entries in the middle of a hole do not determine a ring, nor do their neighbours: many rings fit the rest equally
well, and the one that is found may be far off there. Some of these entries are given values, by medians of ever larger
blocks. They are used like observed entries, and lose their weight where the ring disagrees with them.

They do harm if the rest of the data predicts better than the surroundings: the missing bands of a pixel follow
from its other bands. So boxes of known blocks are hidden, predicted in both ways, and compared.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.sampling import Purpose, stream
from ringlet.solvers.base import working_dtype
from ringlet.solvers.tuning.block_medians import block_medians, interpolated, medians, smooth_modes
from ringlet.solvers.tuning.missing_boxes import boxes_like_missing
from ringlet.sources import ArraySource, Source
from ringlet.sources.base import slabs
from ringlet.sources.dtypes import as_dtype

__all__ = ["guide_holes"]

_SIDE = 3  # slices of the smallest blocks: those without an observed entry, two and more together, are holes
_RARE = 1e-3  # share of blocks; fewer holes get no guides
_FAR = 4  # quartile ranges from the middle: medians further off are not used
_SHARE = 0.3  # of the entries in holes become guides
_TESTED = 0.1  # share of the known blocks that is hidden to see what predicts them
_FEWEST = 30  # hidden blocks: fewer do not show which prediction is better
_ROUNDS = 3  # in which the effects of slices settle
_LARGEST = 1 << 30  # bytes of data that are copied for it,
_ROOM = 4  # times the data must fit into a memory budget
_SLAB_ENTRIES = 1 << 19


def guide_holes(source: Source, seen: Source, seed: int, budget: int | None = None) -> Source:
    """The source with guides in its holes, if it is in memory and has large holes along smooth modes.

    Parameters
    ----------
    source : Source
    seen : Source
        The same, without entries that guides must not use.
    seed : int
    budget : int, optional
        Bytes that the fit may take.

    Examples
    --------
    >>> from ringlet.sources import as_source
    >>> x = 100 * np.outer(np.cos(np.arange(90) / 30), np.cos(np.arange(60) / 20))
    >>> hole = x[30:60, 12:24].copy()
    >>> x[30:60, 12:24] = np.nan
    >>> source = as_source(x)
    >>> values, observed = guide_holes(source, source, seed=0).read((slice(30, 60), slice(12, 24)))
    >>> bool(np.abs(values - hole)[observed].max() < 12), float(observed.mean().round(1))
    (True, 0.3)
    """
    largest = _LARGEST if budget is None else min(_LARGEST, budget // _ROOM)
    if not isinstance(source, ArraySource) or source.array.nbytes > largest:
        return source
    order = len(source.shape)
    smooth = smooth_modes(seen, [mode for mode in range(order) if source.shape[mode] >= 2 * _SIDE], seed)
    if not smooth:
        return source
    sides = [_SIDE if mode in smooth else 1 for mode in range(order)]
    found = block_medians(seen, sides, working_dtype(source.dtype, None))
    empty = np.isnan(found).all(axis=tuple(mode for mode in range(order) if mode not in smooth), keepdims=True)
    holes = empty & _beside(empty)
    if holes.mean() < _RARE or holes.all():
        return source
    low, high = np.nanquantile(found, (0.25, 0.75))
    if high > low:  # medians of the few entries at a hole's edge may be wrong
        found[np.abs(found - (low + high) / 2) > _FAR * (high - low)] = np.nan
    if _slices_say_more(found, smooth, seed):
        return source
    return _with_guides(source, _filled(found, smooth), holes, sides, seed)


def _beside(blocks: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The blocks next to these ones."""
    beside = np.zeros_like(blocks)
    for mode in range(blocks.ndim):
        out, along = (np.moveaxis(flags, mode, 0) for flags in (beside, blocks))
        out[1:] |= along[:-1]
        out[:-1] |= along[1:]
    return beside


def _slices_say_more(found: NDArray[Any], smooth: Sequence[int], seed: int) -> bool:
    """Whether their slices predict known boxes, as large as the missing ones, better than their surroundings do."""
    hidden = boxes_like_missing(np.isnan(found), _TESTED, stream(seed, Purpose.GUIDES, 1))
    if np.count_nonzero(hidden) < _FEWEST:
        return False
    seen = np.where(hidden, np.nan, found)
    errors = [
        np.mean(np.square((guess - found)[hidden], dtype=np.float64))
        for guess in (_slice_effects(seen), _filled(seen, smooth))
    ]
    return bool(errors[0] < errors[1])


def _slice_effects(values: NDArray[Any]) -> NDArray[Any]:
    """The sum of one number for every slice of every mode that comes nearest, by medians; NaN are left out."""
    sums = np.zeros_like(values)
    for _ in range(_ROUNDS):
        for mode in range(values.ndim):
            others = tuple(other for other in range(values.ndim) if other != mode)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # slices without any entry
                sums = sums + np.nan_to_num(np.nanmedian(values - sums, axis=others, keepdims=True))
    return sums


def _filled(values: NDArray[Any], smooth: Sequence[int]) -> NDArray[Any]:
    """The array with NaN replaced by medians of blocks of twice, four times, ... as many slices."""
    missing = np.isnan(values)
    if not missing.any():
        return values
    sides = [2 if mode in smooth and length > 1 else 1 for mode, length in enumerate(values.shape)]
    if max(sides) == 1:
        return np.where(missing, np.nanmedian(values), values)
    filled = _filled(medians(values, sides), smooth)
    for mode, side in enumerate(sides):
        filled = interpolated(filled, mode, np.arange(values.shape[mode]), side)
    return np.where(missing, filled, values)


def _with_guides(
    source: ArraySource, filled: NDArray[Any], holes: NDArray[np.bool_], sides: Sequence[int], seed: int
) -> ArraySource:
    """The source, with some entries of its holes from the coarse array."""
    array = np.array(source.array)
    mask, masked = (None if flags is None else flags.copy() for flags in (source.mask, source.masked))
    rng = stream(seed, Purpose.GUIDES)
    for slab in slabs(source.shape, _SLAB_ENTRIES):
        inside, values = holes, filled
        for mode, (part, side) in enumerate(zip(slab, sides, strict=True)):
            index = np.arange(part.start, part.stop)
            values = interpolated(values, mode, index, side)
            if holes.shape[mode] > 1:
                inside = inside.take(index // side, axis=mode)
        _, observed = source.read(slab)
        if observed is None:
            continue
        drawn = inside & ~observed & (rng.random(values.shape, np.float32) < _SHARE)
        array[slab][drawn] = as_dtype(values[drawn], array.dtype)
        if mask is not None:
            mask[slab][drawn] = True
        if masked is not None:
            masked[slab][drawn] = False
    return replace(source, array=array, mask=mask, masked=masked)
