"""The entries of a ring in the place of those of an xarray object."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError, ArgumentTypeError
from ringlet.ring.naming import check_order

__all__ = ["filled_like"]

_STACKED = "variable"  # name of the mode of a ring whose slices are the variables of a Dataset


def filled_like(like: Any, values: NDArray[Any], names: tuple[str, ...] | None) -> Any:
    """A DataArray or Dataset like the given one, with other entries.

    Parameters
    ----------
    like : xarray.DataArray or xarray.Dataset
        Of a Dataset, the one variable of numbers with the shape of the values; or, if the first mode is `variable`,
        all those with the shape of the other modes.
    values : array
    names : tuple of str or None
        Of the modes.
    """
    if not hasattr(like, "dims"):
        raise ArgumentTypeError(f"like must be an xarray.DataArray or xarray.Dataset, not {like!r}")
    if hasattr(like, "shape"):
        if like.shape != values.shape:
            raise ArgumentError(f"like has shape {like.shape} but the ring has shape {values.shape}")
        check_order("like", like.dims, "the ring", names)
        return like.copy(data=values)
    found = _variables(like, values.shape)
    if len(found) > 1 and "tensor" in found:
        found = ["tensor"]
    if len(found) == 1:
        return like.assign({found[0]: filled_like(like[found[0]], values, names)})
    stacked = _variables(like, values.shape[1:])
    if names is not None and names[0] == _STACKED and len(stacked) == len(values):
        filled = [filled_like(like[name], part, names[1:]) for name, part in zip(stacked, values, strict=True)]
        return like.assign(dict(zip(stacked, filled, strict=True)))
    told = ", ".join(f"{name} {like[name].shape}" for name in like.data_vars)
    raise ArgumentError(
        f"like is a Dataset with {len(found)} variables of the ring's shape {values.shape}; give one of its "
        f"variables, e.g. like=dataset['x']; it has: {told}"
    )


def _variables(dataset: Any, shape: tuple[int, ...]) -> list[Any]:
    """Names of the variables of numbers with this shape."""
    return [
        name
        for name, array in dataset.data_vars.items()
        if array.shape == shape and isinstance(array.dtype, np.dtype) and array.dtype.kind in "iuf"
    ]
