"""A loss and its width: by these a finished fit judges single entries."""

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.robust.losses import LOSSES, Loss

__all__ = ["Kernel"]

_LARGEST = 1e100  # kernel widths; any residual beyond is as wrong as can be


@dataclass(frozen=True)
class Kernel:
    """How far a residual may go before its entry loses trust.

    Attributes
    ----------
    width : float
        sigma, in the data's units; infinite: everything is trusted.
    loss : Loss

    Examples
    --------
    >>> Kernel(2.0).weights(np.array([0.0, 20.0])).round(3)
    array([1., 0.])
    """

    width: float = inf
    loss: Loss = LOSSES["correntropy"]

    def weights(self, residuals: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        """1: trusted, 0: judged an outlier."""
        if self.width == inf:
            return np.ones_like(residuals)
        with np.errstate(over="ignore"):  # absurd residuals are cut off, so that their squares stay finite
            relative = np.asarray(residuals / self.width)
            np.clip(relative, -_LARGEST, _LARGEST, out=relative)
        return self.loss.weight(relative, 1.0, relative)
