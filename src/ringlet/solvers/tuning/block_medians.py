"""Medians of blocks of smooth data, and cores of the data from cores of these medians."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.sampling import Purpose, draw_entries, stream
from ringlet.sources import Block, Source

__all__ = ["block_medians", "interpolated", "medians", "smooth_modes"]

_TESTED_ENTRIES = 1 << 19
_NEAR = 2  # slices apart
_SMOOTH = 0.6  # share of entries whose value must be nearer to that of a close entry than of a random one
_FEWEST = 50  # entries: fewer do not show whether a mode is smooth
_SLAB_ENTRIES = 1 << 21


def smooth_modes(source: Source, modes: Sequence[int], seed: int) -> list[int]:
    """The modes along which entries resemble a close entry more than a random one.

    For random entries it counts how often the entry two slices further is nearer in value than one of a random slice.
    Along a mode without order this happens by chance, and wrong entries move the share towards chance.

    Examples
    --------
    >>> from ringlet.sources import as_source
    >>> x = np.add.outer(np.sin(np.arange(200) / 9), np.random.default_rng(0).standard_normal(100))
    >>> smooth_modes(as_source(x), (0, 1), seed=0)
    [0]
    """
    index = draw_entries(source, _TESTED_ENTRIES, seed, Purpose.COARSE)
    entries = _read(source, index)
    smooth = []
    for mode in modes:
        chosen, length = index[mode], source.shape[mode]
        near = np.where(chosen + _NEAR < length, chosen + _NEAR, chosen - _NEAR)
        far = stream(seed, Purpose.COARSE, 1, mode).integers(0, length, len(chosen))
        others = (_read(source, (*index[:mode], to, *index[mode + 1 :])) for to in (near, far))
        steps = [np.abs(other / 2 - entries / 2) for other in others]  # halves: differences may overflow
        closer, further = (int(np.count_nonzero(one < other)) for one, other in (steps, steps[::-1]))  # not of NaN
        if closer + further >= _FEWEST and closer > _SMOOTH * (closer + further):
            smooth.append(mode)
    return smooth


def _read(source: Source, block: Block) -> NDArray[np.float64]:
    """Entries, NaN where they are missing."""
    values, observed = source.read(block)
    found = values.astype(np.float64)
    return found if observed is None else np.where(observed, found, np.nan)


def block_medians(source: Source, factors: Sequence[int], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The median of the observed entries of every block of `factors` slices of each mode; NaN where there are none.

    Examples
    --------
    >>> from ringlet.sources import as_source
    >>> x = np.array([[1.0, 2.0, np.nan], [3.0, 900.0, np.nan], [7.0, np.nan, 5.0]])
    >>> block_medians(as_source(x), (2, 2), np.dtype("f8"))
    array([[2.5, nan],
           [7. , 5. ]])
    """
    shape = source.shape
    cut = max(range(len(shape)), key=lambda mode: shape[mode])
    slices = max(1, _SLAB_ENTRIES * shape[cut] // prod(shape) // factors[cut]) * factors[cut]
    whole = [slice(0, length) for length in shape]
    parts = []
    for start in range(0, shape[cut], slices):
        block = (*whole[:cut], slice(start, min(start + slices, shape[cut])), *whole[cut + 1 :])
        parts.append(medians(_read(source, block).astype(dtype), factors))
    return np.concatenate(parts, axis=cut)


def medians(values: NDArray[Any], factors: Sequence[int]) -> NDArray[Any]:
    """Medians of the blocks of an array, the last ones smaller; NaN are left out."""
    missing = [(0, -length % factor) for length, factor in zip(values.shape, factors, strict=True)]
    padded = np.pad(values, missing, constant_values=np.nan)
    coarse = tuple(length // factor for length, factor in zip(padded.shape, factors, strict=True))
    blocks = padded.reshape([size for pair in zip(coarse, factors, strict=True) for size in pair])
    order = len(coarse)
    blocks = blocks.transpose(*range(0, 2 * order, 2), *range(1, 2 * order, 2)).reshape(*coarse, prod(factors))
    blocks.sort(axis=-1)  # NaN come last
    count = np.count_nonzero(~np.isnan(blocks), axis=-1)[..., None]
    below, above = (np.take_along_axis(blocks, middle, -1) for middle in (np.maximum(count - 1, 0) // 2, count // 2))
    return np.asarray((below / 2 + above / 2)[..., 0])


def interpolated(values: NDArray[Any], axis: int, index: NDArray[np.intp], factor: int) -> NDArray[Any]:
    """Values at these slices, interpolated between the centres of blocks of `factor` slices, which have one value each.

    Examples
    --------
    >>> interpolated(np.array([0.0, 4.0]), 0, np.arange(4), 2)
    array([0., 1., 3., 4.])
    """
    if factor == 1:
        return values.take(index, axis)
    last = values.shape[axis] - 1
    place = np.clip((index + 0.5) / factor - 0.5, 0, last)
    left = place.astype(np.intp)
    share = (place - left).astype(values.dtype).reshape([-1 if mode == axis else 1 for mode in range(values.ndim)])
    return np.asarray(values.take(left, axis) * (1 - share) + values.take(np.minimum(left + 1, last), axis) * share)
