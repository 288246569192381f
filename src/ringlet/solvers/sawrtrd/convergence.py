"""How much a sweep has changed the model: what stop rules compare."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.ring import GramChain
from ringlet.ring.arrays import Array64
from ringlet.ring.chain import Core
from ringlet.solvers.engine.streamed_pass import unfold

__all__ = ["last_mode_gram", "relative_change"]

_SLICES = 1024  # of the last mode that are compared at most


def last_mode_gram(cores: Sequence[Core], grams: GramChain) -> Array64:
    """D = A_N G_N A_N^T, the Gram matrix of the model's last unfolding (at evenly spaced slices, if many)."""
    last = cores[-1]
    chosen = np.linspace(0, last.shape[1] - 1, min(last.shape[1], _SLICES)).astype(np.intp)
    rows = unfold(last[:, chosen, :]).astype(np.float64)
    return np.asarray(rows @ grams.gram_without(len(cores) - 1) @ rows.T)


def relative_change(new: NDArray[np.floating[Any]], old: NDArray[np.floating[Any]] | None) -> float:
    """``||new - old||_F / ||new||_F``; infinite without an old one, zero if both vanish."""
    if old is None:
        return float("inf")
    size = float(np.linalg.norm(new))
    difference = float(np.linalg.norm(new - old))
    return difference / size if size else (0.0 if difference == 0.0 else float("inf"))
