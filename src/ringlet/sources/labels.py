"""Blocks of numbers as the kind of object that the user gave: a DataArray, a Dataset, a DataFrame, a torch tensor."""

from dataclasses import dataclass
from types import EllipsisType
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.indexing import are_adjacent

__all__ = ["AppendedLabels", "Labels", "Quantity", "is_whole", "labelled", "plain_index"]

# What the numbers are: entries of the data, in their units and dtypes; differences, in their units; or scores, without.
Quantity: TypeAlias = Literal["entries", "differences", "scores"]
PlainIndex: TypeAlias = tuple[int | slice | NDArray[np.intp], ...]


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
        index : tuple of ints, slices and at most one index array, one a mode, or None
            None: what it takes is no box of the data.
        quantity : {"entries", "differences", "scores"}
        """
        ...


@dataclass(frozen=True, eq=False)
class AppendedLabels:
    """Labels of the last slices of a longer tensor.

    Attributes
    ----------
    held : Labels
        Those of the slices by themselves.
    mode : int
    first, count : int
        Number of slices before them, and of them.

    Examples
    --------
    >>> import xarray
    >>> from ringlet.sources import as_source
    >>> new = as_source(xarray.DataArray(np.eye(2), {"x": [5, 6]}, ("x", "y"))).labels
    >>> labels = AppendedLabels(new, mode=0, first=10, count=2)
    >>> labels.label(np.zeros((1, 2)), (slice(11, None), slice(None)), "scores").x.values
    array([6])
    """

    held: Labels
    mode: int
    first: int
    count: int

    @property
    def modes(self) -> int:
        """Number of modes of the tensor."""
        return self.held.modes

    def label(self, values: NDArray[Any], index: PlainIndex | None, quantity: Quantity) -> Any:
        """The values as the kind of object that the slices were; earlier slices are never asked for."""
        if index is None:
            return self.held.label(values, None, quantity)
        places = np.arange(self.first + self.count)[index[self.mode]] - self.first
        own: int | slice | NDArray[np.intp] = int(places) if places.ndim == 0 else places
        if np.array_equal(places, np.arange(self.count)):
            own = slice(None)
        return self.held.label(values, (*index[: self.mode], own, *index[self.mode + 1 :]), quantity)


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
    """One int, slice or index array for every mode, or None where an index takes single entries or moves axes.

    An index with several arrays takes single entries. One array, apart from an integer, is moved to the front.

    Examples
    --------
    >>> plain_index((0, ...), 3)
    (0, slice(None, None, None), slice(None, None, None))
    >>> plain_index([0, 1], 3)
    (array([0, 1]), slice(None, None, None), slice(None, None, None))
    >>> plain_index(([0, 1], [0, 1]), 3) is None
    True
    """
    given = [_plain_item(item) for item in (index if isinstance(index, tuple) else (index,))]
    arrays = sum(isinstance(item, np.ndarray) for item in given)
    if any(item is None for item in given) or arrays > 1 or (arrays and not are_adjacent(given)):
        return None
    if not any(item is Ellipsis for item in given):
        given.append(Ellipsis)
    at = next(place for place, item in enumerate(given) if item is Ellipsis)
    given[at : at + 1] = [slice(None)] * (modes - len(given) + 1)
    return tuple(given)


def _plain_item(item: Any) -> Any:
    """An int, a slice, an Ellipsis or an index array; None for all else."""
    if isinstance(item, slice | EllipsisType):
        return item
    if isinstance(item, int | np.integer):
        return None if isinstance(item, bool) else item
    found = np.asarray(item, np.intp) if isinstance(item, list) and not item else np.asarray(item)
    if found.ndim == 0 and found.dtype.kind in "iu":
        return int(found)
    if found.ndim != 1 or found.dtype.kind not in "biu":
        return None
    return np.flatnonzero(found) if found.dtype == np.bool_ else found.astype(np.intp)


def is_whole(index: PlainIndex | None) -> bool:
    """Whether an index takes everything.

    Examples
    --------
    >>> is_whole(plain_index(..., 3))
    True
    """
    return index is not None and all(isinstance(item, slice) and item == slice(None) for item in index)
