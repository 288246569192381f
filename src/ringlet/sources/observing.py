"""Which entries of a block are observed, from NaN, missing values and masks."""

from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["observed_entries"]


def observed_entries(
    values: NDArray[Any], missing: Iterable[float], *given: NDArray[np.bool_] | None, nan: bool = True
) -> NDArray[np.bool_] | None:
    """Mask of the observed entries; None if no entry is missing.

    Parameters
    ----------
    values : array
        NaN means missing, unless `nan` states that there are none.
    missing : iterable of numbers
        Values that mean missing.
    given : arrays of bool, or None
        True = observed.

    Examples
    --------
    >>> observed_entries(np.array([1.0, np.nan, 3.0, 4.0]), [3.0], np.array([True, True, True, False]))
    array([ True, False, False, False])
    """
    parts = [part for part in given if part is not None]
    if nan and values.dtype.kind == "f":
        parts.append(~np.isnan(values))
    parts += [np.asarray(values != value) for value in missing]
    if not parts:
        return None
    observed: NDArray[np.bool_] = reduce(np.logical_and, parts)
    return None if observed.all() else observed
