"""What xarray objects say about their entries: dimensions, coordinates, names, attributes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.sources.dtypes import as_dtype
from ringlet.sources.labels import PlainIndex, Quantity, is_whole

__all__ = ["DataArrayLabels", "DatasetLabels", "Variable"]


@dataclass(frozen=True, eq=False)
class Variable:
    """An array of xarray without its entries."""

    name: Any
    dims: tuple[Any, ...]
    attributes: Mapping[Any, Any]
    encoding: Mapping[Any, Any]
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, array: Any) -> "Variable":
        """That of a DataArray."""
        return cls(array.name, tuple(array.dims), dict(array.attrs), dict(array.encoding), array.dtype)

    def filled(self, values: NDArray[Any], index: PlainIndex, quantity: Quantity) -> Any:
        """An xarray.Variable of these values, which are those of ``array[index]``."""
        import xarray

        dims = [name for name, chosen in zip(self.dims, index, strict=True) if not isinstance(chosen, int | np.integer)]
        if quantity == "entries":
            return xarray.Variable(dims, as_dtype(values, self.dtype), dict(self.attributes), dict(self.encoding))
        units = {"units": self.attributes["units"]} if quantity == "differences" and "units" in self.attributes else {}
        return xarray.Variable(dims, values, units)


@dataclass(frozen=True, eq=False)
class DataArrayLabels:
    """A DataArray without its entries.

    Attributes
    ----------
    variable : Variable
    coordinates : xarray.Dataset
        Without data variables.
    """

    variable: Variable
    coordinates: Any

    @classmethod
    def of(cls, array: Any) -> "DataArrayLabels":
        """Those of a DataArray."""
        return cls(Variable.of(array), array.coords.to_dataset())

    @property
    def modes(self) -> int:
        """Number of modes."""
        return len(self.variable.dims)

    def label(self, values: NDArray[Any], index: PlainIndex | None, quantity: Quantity) -> Any:
        """The values as a DataArray; as they are where the index takes no box of the data."""
        import xarray

        if index is None:
            return values
        chosen = dict(zip(self.variable.dims, index, strict=True))
        filled = self.variable.filled(values, index, quantity)
        coordinates = self.coordinates.isel(chosen, missing_dims="ignore").coords
        array = xarray.DataArray(filled, coordinates, name=self.variable.name)
        array.encoding = filled.encoding
        return array


@dataclass(frozen=True, eq=False)
class DatasetLabels:
    """A Dataset without the entries of the variables that are fitted.

    Attributes
    ----------
    variables : tuple of Variable
        All of the same dimensions.
    rest : xarray.Dataset
        Coordinates, attributes, and variables that are not fitted.
    order : tuple of names
        Of all data variables.
    stacked : bool
        Whether the first mode of the tensor is that of the variables; otherwise there is one variable.
    """

    variables: tuple[Variable, ...]
    rest: Any
    order: tuple[Any, ...]
    stacked: bool

    @classmethod
    def of(cls, dataset: Any, names: Sequence[Any], *, stacked: bool) -> "DatasetLabels":
        """Those of a Dataset of which the variables of these names are fitted."""
        rest = dataset.drop_vars(names)
        return cls(tuple(Variable.of(dataset[name]) for name in names), rest, tuple(dataset.data_vars), stacked)

    @property
    def modes(self) -> int:
        """Number of modes."""
        return len(self.variables[0].dims) + self.stacked

    def label(self, values: NDArray[Any], index: PlainIndex | None, quantity: Quantity) -> Any:
        """The values as a Dataset; as they are where the index takes no box, or chooses among the variables."""
        if index is None or (self.stacked and not is_whole(index[:1])):
            return values
        places = index[1:] if self.stacked else index
        parts = values if self.stacked else values[None]
        filled = {
            variable.name: variable.filled(part, places, quantity)
            for variable, part in zip(self.variables, parts, strict=True)
        }
        chosen = dict(zip(self.variables[0].dims, places, strict=True))
        rest = self.rest.isel(chosen, missing_dims="ignore")
        coordinates = rest.drop_vars(list(rest.data_vars))
        if quantity == "entries":
            return coordinates.assign({name: filled.get(name, rest.variables.get(name)) for name in self.order})
        return coordinates.drop_attrs(deep=False).assign(filled)
