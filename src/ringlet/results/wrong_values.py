"""The model of wrong values that a fit learns."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.amounts import percent
from ringlet.local.outlier_model import OutlierModel
from ringlet.robust.local_scale import LocalScale

__all__ = ["Atom", "WrongValues", "wrong_values"]

_SHOWN_ATOMS = 4  # in the text


@dataclass(frozen=True)
class Atom:
    """A value that wrong entries often take.

    Attributes
    ----------
    value : float
    share : float
        Share of all observed entries that have this value and are wrong.
    """

    value: float
    share: float


@dataclass(frozen=True, repr=False, eq=False)
class WrongValues:
    """What wrong values look like, and how large the residuals of right ones are.

    Attributes
    ----------
    share : float
        Share of the observed entries that are wrong.
    atoms : tuple of Atom
        Values that wrong entries often take, the most frequent first; none if they are spread over the range.
    scale : float
        Robust standard deviation of the residuals, in the data's units.
    mode_scales : tuple of arrays, one a mode
        Factor of every slice, relative to `scale`.
    edges : array of shape (cells + 1,)
        Of cells of values.
    counts, wrong : arrays of shape (cells,)
        Share of the observed entries in a cell, and of those that are wrong and in it.
    """

    share: float
    atoms: tuple[Atom, ...]
    scale: float
    mode_scales: tuple[NDArray[np.float64], ...]
    edges: NDArray[np.float64]
    counts: NDArray[np.float64]
    wrong: NDArray[np.float64]

    def __repr__(self) -> str:
        shown = [f"{atom.value:g} ({percent(atom.share)})" for atom in self.atoms[:_SHOWN_ATOMS]]
        more = len(self.atoms) - len(shown)
        values = ", ".join(shown) + (f" and {more} more" if more else "") if shown else "none"
        spans = ", ".join(f"{factor.min():.2g} to {factor.max():.2g}" for factor in self.mode_scales)
        return (
            f"WrongValues(share {percent(self.share)}, frequent values {values}, scale of residuals {self.scale:.3g}, "
            f"times {spans} along the modes)"
        )


def wrong_values(outliers: OutlierModel, values: NDArray[Any], scale: LocalScale) -> WrongValues:
    """Build the model.

    Parameters
    ----------
    outliers : OutlierModel
    values : array of shape (M,)
        Observed entries, or a sample of them, that have the exact values of atoms.
    scale : LocalScale
        Of the residuals.
    """
    cells = outliers.cell(values)
    atoms = []
    for cell in np.flatnonzero(outliers.atoms):
        inside, numbers = np.unique(values[cells == cell], return_counts=True)
        value = inside[np.argmax(numbers)] if inside.size else outliers.edges[cell : cell + 2].mean()
        atoms.append(Atom(float(value), float(outliers.masses[cell])))
    atoms.sort(key=lambda atom: -atom.share)
    return WrongValues(
        outliers.share, tuple(atoms), scale.whole, scale.factors, outliers.edges, outliers.counts, outliers.masses
    )
