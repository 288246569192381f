"""Which modes of a tensor are seen as a picture."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["over_picture", "picture_modes"]

_NAMES = (("height", "width"), ("y", "x"), ("lat", "lon"), ("latitude", "longitude"), ("row", "column"))


def picture_modes(names: Sequence[str] | None) -> tuple[int, int]:
    """The modes of height and width, by their names; otherwise the first two.

    Examples
    --------
    >>> picture_modes(("time", "lat", "lon")), picture_modes(None)
    ((1, 2), (0, 1))
    """
    called = [] if names is None else [name.lower() for name in names]
    for height, width in _NAMES:
        if height in called and width in called:
            return called.index(height), called.index(width)
    return 0, 1


def over_picture(values: NDArray[Any], modes: tuple[int, int]) -> NDArray[Any]:
    """The same values with the modes of a picture first, and all others as one.

    Examples
    --------
    >>> over_picture(np.zeros((5, 3, 4, 2)), (2, 1)).shape
    (4, 3, 10)
    """
    turned = np.moveaxis(values, modes, (0, 1))
    return turned.reshape(*turned.shape[:2], -1)
