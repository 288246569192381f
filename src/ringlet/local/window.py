"""A part of a tensor and its ring, in units of the data's range."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.local.layout import Layout
from ringlet.local.modes import NeighbourModes
from ringlet.local.neighbours import Array32
from ringlet.local.outlier_model import OutlierModel

__all__ = ["Entries", "Window"]

_FAR = np.float32(1e6)  # units; larger values are clipped, because their squares would exceed float32
_NARROWEST, _WIDEST = 1e-30, 1e30  # units whose inverse float32 holds


@dataclass(frozen=True, eq=False)
class Entries:
    """A block of a tensor as it is read: data, ring and masks.

    Attributes
    ----------
    values : array
        The data, in their own units.
    observed : bool array or None
        None: all are observed.
    ring : array
        The ring's values.
    unseen : bool array or None
        Entries that the fit of the ring did not use; its errors at these are unbiased. None: there are none.
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
    layout : Layout
        The order of the arrays in memory.
    origin, unit : float
        An entry of the data is ``origin + unit * x``.
    ring, residuals : float32 arrays
        Residuals are 0 where nothing is observed.
    observed : bool array
    unseen : bool array or None
    cells : int16 array
        Of the values, in the model of outliers.
    """

    layout: Layout
    origin: float
    unit: float
    ring: Array32
    residuals: Array32
    observed: NDArray[np.bool_]
    unseen: NDArray[np.bool_] | None
    cells: NDArray[np.int16]

    @classmethod
    def of(
        cls, entries: Entries, origin: float, unit: float, outliers: OutlierModel, modes: NeighbourModes
    ) -> "Window":
        """From a block in the data's units."""
        layout = Layout.of(entries.values.shape, modes)
        observed = np.ones(layout.shape, bool) if entries.observed is None else layout.arranged(entries.observed)
        values = layout.arranged(entries.values)
        ring = _scaled(layout.arranged(entries.ring), origin, unit)
        residuals = _scaled(values, origin, unit)
        np.fmin(np.fmax(residuals, -_FAR, out=residuals), _FAR, out=residuals)  # numbers, also for NaN
        residuals -= ring
        residuals *= observed
        unseen = None if entries.unseen is None else layout.arranged(entries.unseen) & observed
        return cls(layout, origin, unit, ring, residuals, observed, unseen, outliers.cell(values))

    def arranged(self, modes: NeighbourModes) -> "Window":
        """The same in the layout for these modes, if it is in that of the data."""
        layout = Layout.of(self.ring.shape, modes)
        unseen = None if self.unseen is None else layout.arranged(self.unseen)
        ring, residuals = layout.arranged(self.ring), layout.arranged(self.residuals)
        observed, cells = layout.arranged(self.observed), layout.arranged(self.cells)
        return Window(layout, self.origin, self.unit, ring, residuals, observed, unseen, cells)


def _scaled(values: NDArray[Any], origin: float, unit: float) -> Array32:
    """Values in units of the range; differences are taken in the precision of the data."""
    if values.dtype == np.float32 and _NARROWEST < unit < _WIDEST:
        result: Array32 = values - np.float32(origin)
        result *= np.float32(1 / unit)
        return result
    with np.errstate(over="ignore"):
        return ((values.astype(np.float64, copy=False) - origin) / unit).astype(np.float32)
