"""Cores in fewer bytes: float16 or int8 codes, with one scale for every slice of a mode."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.chain import Core

__all__ = ["PRECISIONS", "compact", "expanded"]

PRECISIONS = ("float16", "int8")
_LARGEST_CODE = 127  # int8, symmetric about zero


def compact(core: Core, precision: str) -> tuple[NDArray[Any], Core]:
    """Codes of a core, and the scales that they are to be multiplied by.

    Returns
    -------
    codes : array of float16 or int8, of the core's shape
    scales : array of the core's dtype, shape (1, size, 1)

    Examples
    --------
    >>> codes, scales = compact(np.array([[[2.0], [-0.5]]]), "int8")
    >>> codes.ravel().tolist(), scales.shape
    ([127, -127], (1, 2, 1))
    >>> expanded(codes, scales).ravel().tolist()
    [2.0, -0.5]
    """
    largest = np.abs(core).max(axis=(0, 2), keepdims=True)
    unit = np.where(largest > 0, largest, 1)
    if precision == "float16":
        return (core / unit).astype(np.float16), unit
    return np.rint(core * (_LARGEST_CODE / unit)).astype(np.int8), unit / core.dtype.type(_LARGEST_CODE)


def expanded(codes: NDArray[Any], scales: Core) -> Core:
    """The core of its codes and scales, in the dtype of the scales."""
    return codes.astype(scales.dtype) * scales
