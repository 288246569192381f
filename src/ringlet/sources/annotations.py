"""Metadata of stored arrays: which values mean missing, names of the modes, packing, the unit.

The fill value of a store means missing, unless it is zero, which is the default of zarr and HDF5. Values of an
attribute ``_FillValue`` or ``missing_value``, one number or several, always mean missing.
"""

import binascii
import struct
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["ATTRIBUTES", "mode_names", "told_missing", "told_packing", "told_units"]

_MISSING_ATTRIBUTES = ("_FillValue", "missing_value")
_PACKING_ATTRIBUTES = ("scale_factor", "add_offset", "_Unsigned")
ATTRIBUTES = (*_MISSING_ATTRIBUTES, *_PACKING_ATTRIBUTES, "units")  # all that are looked at


def told_missing(dtype: np.dtype[Any], attributes: Mapping[str, Any], filled: Any = None) -> tuple[float, ...]:
    """Values that mean missing, in addition to NaN.

    Parameters
    ----------
    dtype : dtype
        Of the array. Booleans are never missing.
    attributes : mapping
        Of the array.
    filled : number, optional
        Fill value of the store.

    Examples
    --------
    >>> told_missing(np.dtype("i2"), {"_FillValue": 0, "missing_value": [-1, -2]}, 0)
    (0, -1, -2)
    """
    if dtype.kind == "b":
        return ()
    said = [value for name in _MISSING_ATTRIBUTES for value in _numbers(attributes.get(name))]
    distinct = dict.fromkeys([*said, *filter(None, _numbers(filled))])
    return tuple(value for value in distinct if not np.isnan(value))


def _numbers(value: Any) -> list[float]:
    """Numbers from an attribute: one, several, or, as xarray writes them to zarr, base64 of doubles."""
    if isinstance(value, str):
        try:
            return [float(struct.unpack("<d", b64decode(value, validate=True))[0])]
        except (binascii.Error, struct.error):
            return []
    array = np.asarray(value)
    if array.dtype.kind == "U":
        return [number for text in array.ravel().tolist() for number in _numbers(text)]
    numbers: list[float] = array.ravel().tolist() if array.dtype.kind in "iuf" else []
    return numbers


def mode_names(given: Any) -> tuple[str, ...] | None:
    """Names of the modes, if every mode has a distinct one."""
    names = [] if given is None else [str(name) for name in given if name]
    return tuple(names) if names and len(names) == len(given) and len(set(names)) == len(names) else None


def told_packing(attributes: Mapping[str, Any]) -> dict[str, float | str]:
    """Attributes for unpacking the entries, with the unit of unpacked entries, in JSON types; empty if not packed.

    Examples
    --------
    >>> told_packing({"scale_factor": np.float32([0.5]), "units": "K", "long_name": "temperature"})
    {'scale_factor': 0.5, 'units': 'K'}
    >>> told_packing({"units": "K"})
    {}
    """
    told = {name: _plain(attributes[name]) for name in _PACKING_ATTRIBUTES if name in attributes}
    units = _unit(attributes)
    return told | {"units": units} if told and units is not None else told


def told_units(attributes: Mapping[str, Any]) -> str | None:
    """The unit of the entries from an attribute; None for packed entries, where it applies to unpacked values."""
    return None if told_packing(attributes) else _unit(attributes)


def _unit(attributes: Mapping[str, Any]) -> str | None:
    units = _plain(attributes.get("units"))
    return units if isinstance(units, str) and units else None


def _plain(value: Any) -> Any:
    """A number or text, which netCDF writes as an array of one, too."""
    array = np.asarray(value)
    plain = array.item() if array.size == 1 else array.tolist()
    return plain.decode(errors="replace") if isinstance(plain, bytes) else plain
