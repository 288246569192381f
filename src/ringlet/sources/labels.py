"""Blocks of numbers as the kind of object that the user gave: a DataArray, a Dataset, a DataFrame, a torch tensor."""

from types import EllipsisType
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Labels", "Quantity", "is_whole", "labelled", "plain_index"]

# What the numbers are: entries of the data, in their units and dtypes; differences, in their units; or scores, without.
Quantity: TypeAlias = Literal["entries", "differences", "scores"]
PlainIndex: TypeAlias = tuple[int | slice, ...]


class Labels(Protocol):
    """What an object says about its entries, without the entries."""

    @property
    def modes(self) -> int:
        """Number of modes of the data."""
        ...

    def label(self, values: NDArray[Any], index: PlainIndex | None, quantity: Quantity) -> Any:
        """The values of ``data[index]`` as the kind of object that was given, or as they are where it has no such part.

        Parameters
        ----------
        values : array
        index : tuple of ints and slices, one a mode, or None
            None: an index array is in it.
        quantity : {"entries", "differences", "scores"}
        """
        ...


def labelled(labels: Labels | None, values: NDArray[Any], index: Any, quantity: Quantity) -> Any:
    """Values of a block of the data, as the kind of object that the data are; NumPy arrays without labels.

    Parameters
    ----------
    labels : Labels or None
    values : array
        One number for every entry of ``data[index]``.
    index : ints, slices, Ellipsis, index arrays
        As NumPy takes it.
    quantity : {"entries", "differences", "scores"}
        Entries have the units, attributes and dtypes of the data, differences only their units.

    Examples
    --------
    >>> import numpy as np, xarray
    >>> from ringlet.sources import as_source
    >>> labels = as_source(xarray.DataArray(np.eye(2), {"x": [5, 6]}, ("x", "y"))).labels
    >>> labelled(labels, np.array([0.5, 1.0]), (slice(None), 0), "scores").x.values
    array([5, 6])
    """
    return values if labels is None else labels.label(values, plain_index(index, labels.modes), quantity)


def plain_index(index: Any, modes: int) -> PlainIndex | None:
    """One int or slice for every mode, or None for an index with arrays.

    Examples
    --------
    >>> plain_index((0, ...), 3)
    (0, slice(None, None, None), slice(None, None, None))
    >>> plain_index([0, 1], 3) is None
    True
    """
    given: list[Any] = list(index) if isinstance(index, tuple) else [index]
    if not all(
        isinstance(item, int | np.integer | slice | EllipsisType) and not isinstance(item, bool) for item in given
    ):
        return None
    if Ellipsis not in given:
        given.append(Ellipsis)
    at = given.index(Ellipsis)
    given[at : at + 1] = [slice(None)] * (modes - len(given) + 1)
    return tuple(given)


def is_whole(index: PlainIndex | None) -> bool:
    """Whether an index takes everything.

    Examples
    --------
    >>> is_whole(plain_index(..., 3))
    True
    """
    return index is not None and all(item == slice(None) for item in index)
