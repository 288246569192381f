"""`fold` and `unfold`: from a tensor to one of a higher order and back, to the bit."""

import sys
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ringlet.arrays import host_array, is_foreign, like_given
from ringlet.checks import allocating, check_sequence
from ringlet.errors import ArgumentError, ArgumentTypeError
from ringlet.tensorize.layout import Factors, Layout, layout_for, whole_number

__all__ = ["fold", "unfold"]


def fold(x: Any, factors: Sequence[Factors], *, paired: bool = False) -> Any:
    """Make a tensor of a higher order: every mode becomes several, coarse steps first.

    Parameters
    ----------
    x : array-like
        NaN and ``numpy.ma`` masks stay where they are.
    factors : sequence, one entry for every mode
        Sizes into which the mode is split, such as ``(8, 8, 8)`` for 512, where one may be -1 (as many as needed);
        ``windows(16, 8)``, which gives two modes, the window and the place in it; or None for a mode that stays whole.
    paired : bool
        Put the modes together that belong to the same step: for a picture, 512 x 512 as (8, 8, 8) twice becomes
        64 x 64 x 64, blocks within blocks, and windows of 16 become patches of 16 x 16 = 256 pixels. All modes
        that are split then have as many factors.

    Returns
    -------
    array
        A view where NumPy can make one. If the factors do not fit a mode, it is filled up with missing entries:
        NaN for floats, masked ones for integers (a ``numpy.ma`` array), False for booleans, so that a
        mask (True = observed) can be folded like its data. Arrays of PyTorch, CuPy and JAX are folded on the host and
        given back on their device, except for masked arrays.

    See Also
    --------
    unfold : The exact inverse.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.zeros((512, 512, 3))
    >>> ringlet.fold(x, [(8, 8, 8), (8, 8, 8), None]).shape
    (8, 8, 8, 8, 8, 8, 3)
    >>> ringlet.fold(x, [(8, 8, 8), (8, 8, 8), None], paired=True).shape
    (64, 64, 64, 3)
    >>> ringlet.fold(x, [ringlet.windows(16, 8), ringlet.windows(16, 8), None], paired=True).shape
    (3969, 256, 3)
    """
    if is_foreign(x):
        return like_given(fold(host_array(x, "x"), factors, paired=paired), x)
    array, masked = _array_and_mask("x", x)
    layout = layout_for(array.shape, factors, paired)
    if masked is None and array.dtype.kind in "iu" and layout.padded != array.shape:
        masked = np.zeros(array.shape, bool)
    with allocating(f"the folded tensor of shape {layout.folded}", "give smaller factors or windows, or larger steps"):
        if max(prod(layout.padded), prod(layout.folded)) * array.itemsize > sys.maxsize:
            raise MemoryError  # NumPy would speak of a wrong value
        if masked is not None:
            return np.ma.MaskedArray(_fold(layout, array, 0), mask=_fold(layout, masked, True))
        return _fold(layout, array, np.nan if array.dtype.kind in "fc" else 0)


def unfold(y: Any, factors: Sequence[Factors], shape: Sequence[int], *, paired: bool = False) -> Any:
    """Undo `fold`: bring the entries back to their places.

    Parameters
    ----------
    y : array-like
        As `fold` gives it; a `TensorRing` fitted to that, too.
    factors, paired
        As they were given to `fold`.
    shape : sequence of int
        Of the tensor that was folded. What `fold` filled it up with is cut off.

    Returns
    -------
    array
        With the dtype of `y`. Entries that lie in several windows are the mean of those that are not missing, rounded
        for integers; where these are all equal, they come back to the bit.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.random.default_rng(0).random((20, 30, 3))
    >>> factors = [(-1, 8), (4, 8), None]
    >>> y = ringlet.fold(x, factors)                 # 20 x 30 filled up to 24 x 32
    >>> y.shape
    (3, 8, 4, 8, 3)
    >>> np.array_equal(ringlet.unfold(y, factors, x.shape), x)
    True
    """
    if is_foreign(y):
        return like_given(unfold(host_array(y, "y"), factors, shape, paired=paired), y)
    lengths = check_sequence("shape", shape, "the length of every mode")
    layout = layout_for(tuple(whole_number("shape", length, at_least=0) for length in lengths), factors, paired)
    array, masked = _array_and_mask("y", y)
    if array.shape != layout.folded:
        raise ArgumentError(
            f"y has shape {array.shape}, but a tensor of shape {layout.shape} folded by these factors has shape "
            f"{layout.folded}"
        )
    values = layout.parted(array)
    missing = None if masked is None else layout.parted(masked)
    if layout.overlaps:
        known = ~(np.isnan(values) if missing is None else missing)
        values, counts = _mean(layout, values, known)
        missing = None if missing is None else counts == 0
    inside = tuple(map(slice, layout.shape))
    return values[inside] if missing is None else np.ma.MaskedArray(values, mask=missing)[inside]


def _fold(layout: Layout, array: NDArray[Any], fill: Any) -> NDArray[Any]:
    if layout.padded != array.shape:
        ends = [(0, want - have) for want, have in zip(layout.padded, array.shape, strict=True)]
        array = np.pad(array, ends, constant_values=fill)
    for axis, mode in enumerate(layout.modes):
        if mode.overlaps:
            array = array.take(mode.places, axis)
    return layout.together(array)


def _mean(layout: Layout, parted: NDArray[Any], known: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Mean of the known copies of every entry, and how many these are.

    Differences to one of the copies are averaged, so that equal copies give just that.
    """
    wide = np.result_type(parted.dtype, np.float64)
    whole = tuple(mode.places if mode.overlaps else np.arange(mode.padded) for mode in layout.modes)
    ones = np.ix_(*(np.unique(places, return_index=True)[1] for places in whole))
    first = np.where(known[ones], parted[ones], parted.dtype.type(0))
    copies = first[np.ix_(*whole)]
    sums = np.zeros(parted.shape, wide)
    np.subtract(parted, copies, out=sums, where=known & (parted != copies), dtype=wide)
    counts = known.astype(np.intp)
    for axis, mode in enumerate(layout.modes):
        if mode.overlaps:
            order = np.argsort(mode.places, kind="stable")
            starts = np.flatnonzero(np.diff(mode.places[order], prepend=-1))
            sums, counts = (np.add.reduceat(one.take(order, axis), starts, axis) for one in (sums, counts))
    changed = sums != 0
    means = first[changed] + sums[changed] / counts[changed]
    values = first.copy()
    values[changed] = np.rint(means) if parted.dtype.kind in "biu" else means
    if parted.dtype.kind in "fc":
        values[counts == 0] = np.nan
    return values, counts


def _array_and_mask(name: str, given: ArrayLike) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """The entries, and which of them a ``numpy.ma`` array has masked."""
    if isinstance(given, np.ma.MaskedArray):
        return _as_array(name, given.data), np.ma.getmaskarray(given)
    return _as_array(name, given), None


def _as_array(name: str, given: ArrayLike) -> NDArray[Any]:
    try:
        array = np.asarray(given)
    except ValueError as error:  # nested lists of unequal lengths
        raise ArgumentError(f"{name} is not an array: {error}") from error
    if array.dtype.kind not in "biufc":
        raise ArgumentTypeError(f"{name} has dtype {array.dtype}; allowed are numbers and booleans")
    return array
