"""From a fit to a clean array of the kind that was given."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ringlet.amounts import format_bytes
from ringlet.errors import ArgumentError
from ringlet.execution.memory import machine_memory
from ringlet.restoration.clean_entries import Cleaning, clean_entries
from ringlet.restoration.inputs import Input
from ringlet.results.fit import Fit
from ringlet.sources import ChunkedSource
from ringlet.sources.labels import labelled

__all__ = ["CleanArray"]

_MEMORY_SHARE = 1 / 4  # of the machine's memory, for a result of data that are not in memory; the fit needs some, too


@dataclass(frozen=True, eq=False)
class CleanArray:
    """Restored data in memory. Data that would not fit are refused when the object is made.

    Attributes
    ----------
    data_or_path : array-like, store or path
        The damaged data as the user gave them. DataArrays, Datasets, DataFrames and torch tensors give that again; all
        else gives a NumPy array.
    given : Input
        The same data, opened.
    cleaning : Cleaning
        How restored data follow from the fit.
    """

    data_or_path: Any
    given: Input
    cleaning: Cleaning = field(default_factory=Cleaning)

    def __post_init__(self) -> None:
        available = machine_memory()
        if available is not None and self._is_stored() and self.given.nbytes > _MEMORY_SHARE * available:
            raise ArgumentError(
                f"output=None would give an array of {format_bytes(self.given.nbytes)}, more than a quarter of the "
                f"machine's {format_bytes(available)} of memory; give output=, e.g. output='clean.zarr'"
            )

    def make(self, fit: Fit) -> Any:
        """Evaluate all restored entries, as the kind of object that was given."""
        whole = clean_entries(fit, self.given.source, self.cleaning)(...)
        return labelled(self.given.source.labels, whole, ..., "entries")

    def _is_stored(self) -> bool:
        """Whether the data lie in a file or a store, or are yet to be computed: they may be larger than memory."""
        stored = self.given.kind is not None or isinstance(self.given.source, ChunkedSource)
        return stored or isinstance(self.data_or_path, np.memmap)
