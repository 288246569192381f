"""What later slices need from a fit in addition to its ring."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ringlet.ring import TensorRing
from ringlet.ring.arrays import Array64
from ringlet.ring.chain import Core, unfold
from ringlet.solvers.engine.scaled_step import Penalties
from ringlet.solvers.sawrtrd.robust_ring import RobustRing

__all__ = ["ExtensionState", "Past"]


@dataclass(frozen=True)
class Past:
    """All earlier slices of one core, condensed to a few with the same Gram matrix.

    A change of the other cores changes all earlier slices of the tensor by ``sum_i || z_i C ||^2``, for some matrix C.
    This depends on the slices z_i only through ``sum_i z_i^T z_i``. So other slices with the same sum represent them
    exactly, and ``r_k r_{k+1}`` of these are always enough.

    Attributes
    ----------
    mode : int
        The core that they are slices of.
    rows : array of float64, shape (at most 2 r_k r_{k+1}, r_k r_{k+1})
        The slices that represent the earlier ones, each times the root of its weight.

    Examples
    --------
    >>> import numpy as np
    >>> slices = np.random.default_rng(0).standard_normal((2, 100, 3))
    >>> past = Past.of(0, slices, trusted=1.0)
    >>> past.rows.shape
    (6, 6)
    >>> rows = slices.transpose(1, 0, 2).reshape(100, 6)
    >>> bool(np.allclose(past.rows.T @ past.rows, rows.T @ rows))
    True
    """

    mode: int
    rows: Array64

    @classmethod
    def of(cls, mode: int, core: Core, trusted: float) -> "Past":
        """The slices of a core, of which this share of the entries is observed and trusted."""
        return cls(mode, np.empty((0, core.shape[0] * core.shape[2]))).with_slices(core, trusted)

    def with_slices(self, core: Core, trusted: float) -> "Past":
        """The same with the slices of this core added."""
        a, _, b = core.shape
        added = np.sqrt(trusted) * unfold(core, np.float64)
        rows = np.concatenate([self.rows, added])
        if len(rows) > 2 * a * b:
            rows = np.asarray(np.linalg.qr(rows, mode="r"))  # R^T R = A^T A
        return replace(self, rows=rows)

    def faded(self, share: float) -> "Past":
        """The same with its weight multiplied by this share."""
        return replace(self, rows=np.sqrt(share) * self.rows)


@dataclass(frozen=True)
class ExtensionState:
    """What is needed to append slices to a fitted ring without its data.

    Attributes
    ----------
    solver : RobustRing
        The solver of the fit.
    data_range : float
        The fit works on data divided by it.
    penalty_unit : float
        Unit of penalties, in mean diagonals of the Gram matrix.
    penalties : Penalties
        Given, or chosen by the fit.
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

    def core_unit(self, ring: TensorRing) -> np.floating[Any]:
        """Divisor of every core of the ring, if the data are divided by their range."""
        unit: np.floating[Any] = ring.dtype.type(self.data_range ** (1 / ring.ndim))
        return unit

    def past_along(self, mode: int, core: Core) -> Past:
        """The earlier slices along a mode, which are those of `core` if another mode was extended last."""
        if self.past is not None and self.past.mode == mode:
            return self.past
        return Past.of(mode, core, self.trusted)
