"""Which entries are right: each is compared with the ring and its trusted neighbours, never with itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ringlet.local.modes import NeighbourModes
from ringlet.local.neighbours import Array32, Predictions, neighbour_predictions, window_mean
from ringlet.local.outlier_model import OutlierModel
from ringlet.local.stacking import Stack
from ringlet.local.window import Window

__all__ = ["JUDGING_RADIUS", "NEIGHBOUR_LEVELS", "Round", "Said", "Trust", "judge", "local_variance"]

NEIGHBOUR_LEVELS = 3
_SCALE_LEVELS = 3  # of the window in which the local scale is measured
JUDGING_RADIUS = 2**NEIGHBOUR_LEVELS - 1 + 2**_SCALE_LEVELS - 1  # entries that a round looks at, to either side
_PRIOR = np.float32(0.2)  # weight of the variance of all entries in the local one, whose own weights sum to at most 1
_PARTS = 3  # Gaussians that right residuals are a mixture of
_WIDER = 3.0  # scale of each relative to that of the one before
_ROOT = float(np.sqrt(2 * np.pi))
_INFLATION = 1.3  # of the variance, where wrong values are atoms: few others can pass, and no right entry shall be lost
_LEAST_SCALE = 0.5  # of the width of a cell of values: rounding errors


@dataclass(frozen=True, eq=False)
class Round:
    """What one round of judging needs to know, measured in a sample.

    Attributes
    ----------
    stack : Stack
        Combines what neighbours say.
    variance : float
        Of the errors of these predictions, over all trusted entries.
        Wide parts of it count as if they were as narrow as the core.
    tail : float
        Share of each part of right residuals relative to the next narrower one.
    outliers : OutlierModel
    """

    stack: Stack
    variance: float
    tail: float
    outliers: OutlierModel


@dataclass(frozen=True, eq=False)
class Trust:
    """What is believed of every entry.

    Attributes
    ----------
    weights : float32 array
        Probability that it is right; 0 where nothing is observed.
    calm : float32 array
        The same, times the weight of its squared error in the scale of the core.
    """

    weights: Array32
    calm: Array32

    @property
    def tail(self) -> float:
        """Share of right entries that are not in the core, about."""
        total = float(self.weights.sum(dtype=np.float64))
        calm = float(self.calm.sum(dtype=np.float64))
        return (1 - calm / total) / (1 - 1 / _WIDER**2) if total else 0.0


@dataclass(frozen=True, eq=False)
class Said:
    """What ring and neighbours say of every entry.

    Attributes
    ----------
    prediction : float32 array
        All of them together.
    errors : float32 array
        Data minus prediction; 0 where nothing is observed.
    nearest : float32 array
        The same, of the nearest of several predictions: at an edge, an entry agrees with one side of it.
    """

    prediction: Array32
    errors: Array32
    nearest: Array32

    @classmethod
    def of(cls, window: Window, weights: Array32, modes: NeighbourModes, stack: Stack) -> "Said":
        """By the stacked predictions of neighbours with these weights."""
        said = neighbour_predictions(window.residuals, weights, modes, NEIGHBOUR_LEVELS)
        return cls.combined(window, said, modes, stack)

    @classmethod
    def combined(cls, window: Window, said: Predictions, modes: NeighbourModes, stack: Stack) -> "Said":
        """By stacking these predictions."""
        detail = stack.predict(said.columns, said.density)
        errors = np.where(window.observed, window.residuals - detail, np.float32(0))
        nearest = errors
        for column in said.columns[: NEIGHBOUR_LEVELS + len(modes.ordered)] if modes.ordered else ():
            error = window.residuals - column
            nearest = np.where(np.abs(error) < np.abs(nearest), error, nearest)
        return cls(window.ring + detail, errors, nearest)


def judge(window: Window, said: Said, trust: Trust, modes: Sequence[int], this: Round) -> Trust:
    """Judge every observed entry.

    Parameters
    ----------
    window : Window
    said : Said
        With the trust of the round before.
    trust : Trust
        Of the round before.
    modes : sequence of int
        Along which the local scale is measured.
    this : Round
    """
    outliers = this.outliers
    widths = outliers.widths / window.unit
    variance = local_variance(said.nearest, trust.calm, trust.weights, modes, this.variance)
    inflation = _INFLATION if outliers.atoms.any() else 1.0
    scale = np.sqrt(np.float32(inflation) * variance + np.float32((_LEAST_SCALE * float(np.median(widths))) ** 2))
    squares = np.float32(-0.5) * (said.nearest / scale) ** 2
    density, precise = np.zeros_like(squares), np.zeros_like(squares)
    for share, width in _parts(this.tail):
        part = np.float32(share / width / _ROOT) * np.exp(squares / np.float32(width * width))
        density += part
        precise += part / np.float32(width * width)
    precise /= np.maximum(density, np.float32(1e-30))
    right = density / scale * widths.astype(np.float32)[window.cells]
    for end, sign in ((0, 1), (outliers.masses.size - 1, -1)):
        here = window.observed & (window.cells == end)
        inner = (outliers.edges[1 if sign > 0 else -2] - window.origin) / window.unit
        predicted = window.ring[here] + window.residuals[here] - said.nearest[here]
        right[here] = _mass_below(sign * (inner - predicted) / scale[here], this.tail)
    right *= np.float32(1 - outliers.share)
    wrong = outliers.masses.astype(np.float32)[window.cells]
    weights = np.where(window.observed, right / (right + wrong), np.float32(0))
    return Trust(weights, weights * precise)


def local_variance(errors: Array32, calm: Array32, weights: Array32, modes: Sequence[int], whole: float) -> Array32:
    """Mean square of trusted errors around every entry, drawn towards that of all."""
    if not modes:
        return np.full_like(errors, whole)
    squares = window_mean(calm * errors * errors, modes, _SCALE_LEVELS)
    mass = window_mean(weights, modes, _SCALE_LEVELS)
    return (squares + _PRIOR * np.float32(whole)) / (mass + _PRIOR)


def _mass_below(scores: NDArray[np.floating[Any]], tail: float) -> NDArray[np.floating[Any]]:
    """Mass of right residuals below a score."""
    return np.asarray(sum(share * ndtr(scores / width) for share, width in _parts(tail)))


def _parts(tail: float) -> list[tuple[float, float]]:
    """Shares and scales of the Gaussians that right residuals are a mixture of."""
    shares = [tail**part for part in range(_PARTS)]
    return [(share / sum(shares), _WIDER**part) for part, share in enumerate(shares)]
