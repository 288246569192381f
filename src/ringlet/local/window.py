"""A part of a tensor beside its ring, in units of the data's range."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.local.neighbours import Array32
from ringlet.local.outlier_model import OutlierModel

__all__ = ["Entries", "Window"]

_FAR = 1e6  # units; what is farther off is as wrong, and its square would leave the range of float32


@dataclass(frozen=True, eq=False)
class Entries:
    """A block of a tensor as it is read: data, ring, and what is known of them.

    Attributes
    ----------
    values : array
        The data, in their own units.
    observed : bool array or None
        None: all are.
    ring : array
        The ring's values.
    unseen : bool array or None
        Entries that were kept from the ring while it was fitted; its errors at these are honest. None: there are none.
    """

    values: NDArray[Any]
    observed: NDArray[np.bool_] | None
    ring: NDArray[Any]
    unseen: NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False)
class Window:
    """Entries in units of the data's range.

    Attributes
    ----------
    origin, unit : float
        An entry of the data is ``origin + unit * x``.
    ring, residuals : float32 arrays
        Residuals are 0 where nothing is observed.
    observed, unseen : bool arrays
    cells : int16 array
        Of the values, in the model of outliers.
    """

    origin: float
    unit: float
    ring: Array32
    residuals: Array32
    observed: NDArray[np.bool_]
    unseen: NDArray[np.bool_]
    cells: NDArray[np.int16]

    @classmethod
    def of(cls, entries: Entries, origin: float, unit: float, outliers: OutlierModel) -> "Window":
        """From a block in the data's units."""
        observed = np.ones(entries.values.shape, bool) if entries.observed is None else entries.observed
        values = np.where(observed, entries.values, origin)
        ring = ((entries.ring - origin) / unit).astype(np.float32)
        residuals = np.where(
            observed, np.clip((values - origin) / unit, -_FAR, _FAR).astype(np.float32) - ring, np.float32(0)
        )
        unseen = np.zeros(observed.shape, bool) if entries.unseen is None else entries.unseen & observed
        return cls(origin, unit, ring, residuals, observed, unseen, outliers.cell(values))
