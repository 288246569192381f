"""Entries of a ring whose cores lie on a device, evaluated there."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ringlet.arrays import Place
from ringlet.ring.chain import merge
from ringlet.ring.evaluate import best_cut

__all__ = ["dense_placed", "outer_placed"]


def dense_placed(place: Place, cores: Sequence[Any]) -> Any:
    """Dense tensor of a ring of cores, in C order, on their device.

    Examples
    --------
    >>> import array_api_strict as xp
    >>> place = Place(xp, xp.Device("device1"))
    >>> dense = dense_placed(place, [xp.ones((1, 2, 3), device=place.device), xp.ones((3, 2, 1), device=place.device)])
    >>> place.fetch(dense)
    array([[3., 3.],
           [3., 3.]])
    """
    xp, shape = place.xp, tuple(core.shape[1] for core in cores)
    if 0 in shape:
        return xp.empty(shape, dtype=cores[0].dtype, device=place.device)
    if len(cores) == 1:
        return xp.linalg.trace(xp.permute_dims(cores[0], (1, 0, 2)))
    cut = best_cut(cores)
    left, middle, right, bonds = cut.sizes
    inner = xp.reshape(xp.permute_dims(merge(cut.inner_cores, xp), (1, 2, 0)), (middle, bonds))  # [middle, (b, a)]
    outer = merge(cut.outer_cores, xp)  # [b, (right, left), a]
    b, _, a = outer.shape
    outer = xp.permute_dims(xp.reshape(outer, (b, right, left, a)), (2, 1, 0, 3))
    product = xp.reshape(outer, (left * right, bonds)) @ inner.T
    dense = xp.permute_dims(xp.reshape(product, (left, right, middle)), (0, 2, 1))
    return xp.reshape(dense, shape)


def outer_placed(place: Place, cores: Sequence[Any], selectors: Sequence[int | slice]) -> Any:
    """The block that one integer or slice a mode selects, as NumPy would index the dense tensor."""
    xp, block, shape = place.xp, [], []
    for core, selector in zip(cores, selectors, strict=True):
        length = core.shape[1]
        whole = isinstance(selector, slice)
        kept = selector if isinstance(selector, slice) else slice(selector, selector + 1)
        start, stop, step = kept.indices(length)
        if step == 1:
            part = core[:, start : max(start, stop), :]
        else:  # not all libraries take slices backwards
            part = xp.take(core, place.put(np.arange(start, stop, step, dtype=np.int32)), axis=1)
        block.append(part)
        if whole:
            shape.append(part.shape[1])
    return xp.reshape(dense_placed(place, block), tuple(shape))
