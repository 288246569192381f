"""Numbers in the dtype of the data they are to replace."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

__all__ = ["as_dtype"]


def as_dtype(values: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    """Convert numbers to a dtype; into integers they are rounded and clipped, never wrapped, and never made infinite.

    Parameters
    ----------
    values : array
        Numbers without NaN.
    dtype : dtype
        What to convert to.

    Returns
    -------
    array of that dtype
        `values` itself if nothing has to change.

    Examples
    --------
    >>> as_dtype([-3.0, 1.6, 300.0], np.uint8)
    array([  0,   2, 255], dtype=uint8)
    """
    values, dtype = np.asarray(values), np.dtype(dtype)
    if dtype.kind == "f" and values.dtype.kind == "f" and dtype.itemsize < values.dtype.itemsize:
        largest = np.finfo(dtype).max
        narrow: NDArray[Any] = np.clip(values, -largest, largest).astype(dtype)
        return narrow
    if dtype.kind not in "iu" or values.dtype.kind == "b":
        return values.astype(dtype, copy=False)
    if values.dtype.kind in "iu":
        return _clip_integers(values, dtype)
    if values.dtype == np.float16:
        values = values.astype(np.float32)
    limits = np.iinfo(dtype)
    low, high = values.dtype.type(limits.min), values.dtype.type(limits.max)
    if int(high) > limits.max:  # 2**31 - 1 rounds up in float32 and would wrap around.
        high = np.nextafter(high, values.dtype.type(0))
    rounded: NDArray[Any] = np.rint(values)
    np.clip(rounded, low, high, out=rounded)
    return rounded.astype(dtype)


def _clip_integers(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    have, want = np.iinfo(values.dtype), np.iinfo(dtype)
    if have.min >= want.min and have.max <= want.max:
        return values.astype(dtype, copy=False)
    clipped: NDArray[Any] = np.clip(values, max(have.min, want.min), min(have.max, want.max))
    return clipped.astype(dtype)
