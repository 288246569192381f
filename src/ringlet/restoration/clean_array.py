"""From a fit to a clean array of the kind that was given."""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from ringlet.amounts import format_bytes
from ringlet.errors import ArgumentError, ArgumentTypeError
from ringlet.execution.memory import machine_memory
from ringlet.restoration.clean_entries import clean_entries, fill
from ringlet.restoration.inputs import Input
from ringlet.solvers.result import Fit
from ringlet.sources import ChunkedSource

__all__ = ["CleanArray"]

_MEMORY_SHARE = 1 / 4  # of the machine's memory, for a result of data that are not in memory; the fit needs some, too


@dataclass(frozen=True, eq=False)
class CleanArray:
    """Restored data in memory. Data that would not fit are refused when the object is made.

    Attributes
    ----------
    data_or_path : array-like, store or path
        The damaged data as the user gave them. An xarray.DataArray gives a DataArray; all else a NumPy array.
    given : Input
        The same data, opened.
    keep : bool
        Replace only entries that are missing or judged outliers; otherwise all are the ring's.
    """

    data_or_path: Any
    given: Input
    keep: bool = False

    def __post_init__(self) -> None:
        if _is_xarray(self.data_or_path, "Dataset"):
            raise ArgumentTypeError(
                "data is an xarray.Dataset, which cannot be given back; give one of its arrays, e.g. data['x'], or "
                "output=, e.g. output='clean.zarr'"
            )
        available = machine_memory()
        if available is not None and self._is_stored() and self.given.nbytes > _MEMORY_SHARE * available:
            raise ArgumentError(
                f"output=None would give an array of {format_bytes(self.given.nbytes)}, more than a quarter of the "
                f"machine's {format_bytes(available)} of memory; give output=, e.g. output='clean.zarr'"
            )

    def make(self, fit: Fit) -> Any:
        """Evaluate all restored entries; coordinates, attributes and the name of a DataArray stay."""
        whole = np.empty(fit.ring.shape, self.given.source.dtype)
        fill(whole, clean_entries(fit, whole.dtype, keep=self.keep))
        return self.data_or_path.copy(data=whole) if _is_xarray(self.data_or_path, "DataArray") else whole

    def _is_stored(self) -> bool:
        """Whether the data lie in a file or a store, or are yet to be computed: they may be larger than memory."""
        stored = self.given.kind is not None or isinstance(self.given.source, ChunkedSource)
        return stored or isinstance(self.data_or_path, np.memmap)


def _is_xarray(given: Any, kind: str) -> bool:
    xarray = sys.modules.get("xarray")  # an object of a library exists only if that is loaded
    return xarray is not None and isinstance(given, getattr(xarray, kind))
