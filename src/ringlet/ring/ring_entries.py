"""The entries of a ring: indexed as NumPy does, single ones, or all of them."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ringlet.arrays import place_of
from ringlet.checks import allocating
from ringlet.errors import ArgumentError, ArgumentTypeError, MissingDependencyError
from ringlet.ring.chain import balanced_cores
from ringlet.ring.evaluate import dense_block, entries
from ringlet.ring.given_index import given_index
from ringlet.ring.indexing import basic_selectors, evaluate_index, in_bounds
from ringlet.ring.like_xarray import filled_like
from ringlet.ring.placed_evaluate import outer_placed
from ringlet.ring.ring_base import RingBase

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

__all__ = ["RingEntries"]

_MOST_AXES = 64  # of NumPy's arrays


class RingEntries(RingBase):
    """A ring whose entries can be evaluated."""

    __slots__ = ()

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: object) -> Any:
        """Evaluate a block, with NumPy's indexing rules."""
        with allocating(f"that part of a tensor of shape {self.shape}", "index a smaller one"):
            key = given_index(key)
            if self._place is None:
                return evaluate_index(self._even(), key)
            selectors = basic_selectors(key, self.shape)
            if selectors is not None:
                return outer_placed(self._place, balanced_cores(self._cores, self._place.xp) or self._cores, selectors)
            return self._place.put(np.asarray(evaluate_index(self._even(), key)))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Evaluate the whole tensor."""
        if copy is False:
            raise ArgumentError("a TensorRing is not stored densely, so copy=False is impossible; leave copy out")
        if len(self._host) > _MOST_AXES:
            raise ArgumentError(f"the ring has {len(self._host)} modes, arrays have at most {_MOST_AXES}; index some")
        with allocating(f"a tensor of shape {self.shape}", "index a part of the ring"):
            return dense_block(self._even()).astype(dtype or self.dtype, copy=False)

    def __dlpack__(self, **options: Any) -> Any:
        """Evaluate the whole tensor, for ``torch.from_dlpack(ring)`` and the like."""
        return self[...].__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._cores[0].__dlpack_device__()

    def entries(self, coordinates: ArrayLike) -> NDArray[Any]:
        """Single entries, in batches of bounded memory.

        Parameters
        ----------
        coordinates : array of int, shape (M, N)
            One row for every entry; negative indices count from the end.

        Returns
        -------
        array of shape (M,)

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> ring = ringlet.TensorRing([np.arange(2.0).reshape(1, 2, 1), np.arange(3.0).reshape(1, 3, 1)])
        >>> ring.entries([[1, 2], [0, 0], [-1, -2]])
        array([2., 0., 1.])
        """
        try:
            place = place_of(coordinates, "coordinates")
            rows = np.asarray(coordinates) if place is None else place.fetch(coordinates)
        except ValueError:
            raise ArgumentError(f"coordinates are ragged; give (M, {self.ndim}), one row per entry") from None
        if rows.size == 0 and rows.shape != (0, self.ndim):
            rows = np.empty((0, self.ndim), np.intp)
        if not np.issubdtype(rows.dtype, np.integer):
            raise ArgumentTypeError(f"coordinates must be integers, not {rows.dtype}")
        if rows.ndim != 2 or rows.shape[1] != self.ndim:
            raise ArgumentError(f"coordinates have shape {rows.shape}; give (M, {self.ndim}), one row per entry")
        wrapped = [in_bounds(rows[:, k], k, size) for k, size in enumerate(self.shape)]
        values = entries(self._even(), np.stack(wrapped, axis=1))
        return values if self._place is None else self._place.put(values)

    def to_xarray(self, like: "DataArray | Dataset | None" = None) -> Any:
        """Evaluate the whole tensor as an xarray.DataArray with the ring's names as dimensions.

        Parameters
        ----------
        like : xarray.DataArray or xarray.Dataset, optional
            Of the same shape, e.g. the data that were fitted: its coordinates, name and attributes are taken over.
            Dimensions of the same names must have the same order. A Dataset gives a Dataset: its one variable of
            numbers of that shape is replaced, or all that were stacked along a mode `variable`.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> ring = ringlet.TensorRing([np.ones((1, 2, 1)), np.ones((1, 3, 1))], names=("time", "place"), units="K")
        >>> ring.to_xarray().sizes
        Frozen({'time': 2, 'place': 3})
        """
        try:
            import xarray
        except ImportError as error:
            raise MissingDependencyError('DataArrays need xarray: pip install "ringlet[xarray]"') from error

        if like is None:
            attributes = {} if self._units is None else {"units": self._units}
            return xarray.DataArray(np.asarray(self), dims=self._names, attrs=attributes)
        return filled_like(like, np.asarray(self), self._names)
