"""What a fit leaves behind, beside its ring, for slices that come later."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ringlet.ring import TensorRing
from ringlet.ring.chain import Core
from ringlet.solvers.engine.scaled_step import Penalties
from ringlet.solvers.sawrtrd.robust_ring import RobustRing
from ringlet.solvers.sawrtrd.start import Scale
from ringlet.solvers.streaming.past import Past

__all__ = ["ExtensionState", "ScaledRun"]


@runtime_checkable
class ScaledRun(Protocol):
    """A fit under way that knows the scale of its data, and the penalties that go with it."""

    @property
    def scale(self) -> Scale:
        """Robust measures of the data."""
        ...

    @property
    def penalties(self) -> Penalties:
        """As given, or as chosen so far."""
        ...


@dataclass(frozen=True)
class ExtensionState:
    """What is needed to append slices to a fitted ring without its data.

    Attributes
    ----------
    solver : RobustRing
        By which it was fitted.
    data_range : float
        The fit works on data divided by it.
    penalty_unit : float
        What penalties are relative to, in mean diagonals of the Gram matrix.
    penalties : Penalties
        As given, or as the fit has chosen them.
    trusted : float
        Share of the fitted entries that was observed and trusted.
    past : Past or None
        The slices of the mode that was extended last; None if none was.
    """

    solver: RobustRing
    data_range: float
    penalty_unit: float
    penalties: Penalties
    trusted: float
    past: Past | None = None

    @classmethod
    def of(cls, solver: RobustRing, run: ScaledRun, trusted: float) -> "ExtensionState":
        """What a run by this solver leaves behind."""
        return cls(solver, run.scale.data_range, run.scale.penalty_unit, run.penalties, trusted)

    def core_unit(self, ring: TensorRing) -> np.floating[Any]:
        """What every core of the ring is divided by where the data are divided by their range."""
        unit: np.floating[Any] = ring.dtype.type(self.data_range ** (1 / ring.ndim))
        return unit

    def past_along(self, mode: int, core: Core) -> Past:
        """The earlier slices along a mode, which are those of `core` if another mode was extended last."""
        if self.past is not None and self.past.mode == mode:
            return self.past
        return Past.of(mode, core, self.trusted)
