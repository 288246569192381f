"""A background: one value that most entries have, before which content stands out."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["background"]

_FLAT = 0.25  # a value that makes up more than this share of the data is a background
_CONTENT = 0.05  # and what differs from it is content, not outliers, if it makes up more than this


def background(sample: NDArray[np.float64]) -> float | None:
    """The commonest value, where it is so common that quartiles might see nothing else; None without such a value.

    If only a few entries differ from it, they are outliers, and it is no background.

    Examples
    --------
    >>> background(np.array([0.0, 0.0, 0.0, 1.0, 2.0])), background(np.arange(5.0))
    (0.0, None)
    """
    values, counts = np.unique(sample, return_counts=True)
    commonest = int(np.argmax(counts))
    share = counts[commonest] / sample.size
    return float(values[commonest]) if _FLAT < share < 1 - _CONTENT else None
