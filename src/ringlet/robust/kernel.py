"""A loss and its width, from which a finished fit computes the weights of entries."""

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.robust.losses import LOSSES, Loss

__all__ = ["Kernel"]

_LARGEST = 1e100  # kernel widths; any larger residual has weight zero


@dataclass(frozen=True)
class Kernel:
    """Weight of an entry as a function of its residual.

    Attributes
    ----------
    width : float
        sigma, in the data's units; infinite: all entries have weight 1.
    loss : Loss

    Examples
    --------
    >>> Kernel(2.0).weights(np.array([0.0, 20.0])).round(3)
    array([1., 0.])
    """

    width: float = inf
    loss: Loss = LOSSES["correntropy"]

    def weights(self, residuals: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        """Weights of residuals; 1: trusted, 0: outlier."""
        if self.width == inf:
            return np.ones_like(residuals)
        with np.errstate(over="ignore"):  # huge residuals are clipped, so that their squares stay finite
            relative = np.asarray(residuals / self.width)
            np.clip(relative, -_LARGEST, _LARGEST, out=relative)
        return self.loss.weight(relative, 1.0, relative)
