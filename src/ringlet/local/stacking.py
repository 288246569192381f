"""Predictions combined by least squares, with coefficients that depend on how dense the neighbourhood is."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.local.neighbours import Array32

__all__ = ["Stack", "Training", "fit_stack"]

Array64: TypeAlias = NDArray[np.float64]

_KNOTS = np.array([0.05, 0.3, 0.8])  # densities between which coefficients are interpolated
_RIDGE = 1e-3  # relative to the mean diagonal entry of the normal equations


@dataclass(frozen=True, eq=False)
class Training:
    """Entries with known residuals: predictions, densities, residuals and weights.

    Attributes
    ----------
    columns : float32 array of shape (M, C)
    density, targets, weights : float32 arrays of shape (M,)
    """

    columns: Array32
    density: Array32
    targets: Array32
    weights: Array32

    @classmethod
    def of(
        cls, columns: Array32, density: Array32, targets: Array32, weights: Array32, chosen: NDArray[np.intp]
    ) -> "Training":
        """From whole arrays, at flat indices."""
        picked = columns.reshape(len(columns), density.size)[:, chosen].T
        return cls(picked, density.ravel()[chosen], targets.ravel()[chosen], weights.ravel()[chosen])


@dataclass(frozen=True, eq=False)
class Stack:
    """Coefficients of predictions, at the knots of density.

    Attributes
    ----------
    coefficients : float64 array of shape (knots, C)
    """

    coefficients: Array64

    def predict(self, columns: Array32, density: Array32) -> Array32:
        """The combined prediction of every entry.

        Parameters
        ----------
        columns : array of shape (C, ...)
        density : array of shape (...)
        """
        steps = np.diff(self.coefficients, axis=0, prepend=0.0).astype(np.float32)
        rows = steps @ columns.reshape(len(columns), density.size)
        result: Array32 = rows[0].reshape(density.shape)
        for row, part in zip(rows[1:], _ramps(density), strict=True):
            part *= row.reshape(density.shape)
            result += part
        return result


def fit_stack(trainings: Iterable[Training]) -> Stack:
    """Least squares of residuals on predictions, with a small ridge; coefficients of 0 without entries.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((5000, 2)).astype(np.float32)
    >>> full = np.ones(5000, np.float32)
    >>> abs(fit_stack([Training(x, full, 0.5 * x[:, 0], full)]).coefficients[-1]).round(2).tolist()
    [0.5, 0.0]
    """
    gram: Any = 0.0
    moments: Any = 0.0
    for training in trainings:
        up, on = _ramps(training.density)
        hats = np.stack([1 - up, up - on, on], axis=1)  # weights of the knots
        number, width = len(hats), _KNOTS.size * training.columns.shape[1]
        columns = (hats[:, :, None] * training.columns[:, None, :]).reshape(number, width)
        weighted = columns * training.weights[:, None]
        gram = gram + (weighted.T @ columns).astype(np.float64)
        moments = moments + (weighted.T @ training.targets).astype(np.float64)
    size = len(gram)
    ridge = _RIDGE * float(np.trace(gram)) / max(size, 1)
    solved = np.linalg.solve(gram + ridge * np.eye(size), moments) if ridge > 0 else np.zeros(size)
    return Stack(solved.reshape(_KNOTS.size, size // _KNOTS.size))


def _ramps(density: Array32) -> list[Array32]:
    """From 0 to 1 between successive knots."""
    ramps = []
    for low, high in pairwise(_KNOTS):
        part = density - np.float32(low)
        part *= np.float32(1 / (high - low))
        ramps.append(np.clip(part, 0, 1, out=part))
    return ramps
