"""The earlier slices of a ring, condensed: what is needed of them when slices are appended."""

from dataclasses import dataclass, replace

import numpy as np

from ringlet.ring.arrays import Array64
from ringlet.ring.chain import Core, unfold

__all__ = ["Past"]


@dataclass(frozen=True)
class Past:
    """All earlier slices of one core, condensed to what their Gram matrix needs.

    Whatever changes in the other cores, the change of all earlier slices of the tensor has the size
    ``sum_i || z_i C ||^2`` for some matrix C. That sum depends on the slices z_i only through ``sum_i z_i^T z_i``. So
    any other slices with the same sum stand for them exactly, and ``r_k r_{k+1}`` of them are always enough.

    Attributes
    ----------
    mode : int
        The core that they are slices of.
    rows : array of float64, shape (at most 2 r_k r_{k+1}, r_k r_{k+1})
        The slices that stand for the earlier ones, each times the root of its weight.

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
