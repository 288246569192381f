"""The ring of a fit at some moment, in the data's units."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ringlet.ring import TensorRing
from ringlet.ring.chain import Core
from ringlet.robust import Kernel
from ringlet.sources.base import Block

__all__ = ["RingSnapshot", "Unseen", "fill_empty"]


class Unseen(Protocol):
    """Says which entries a fit held out."""

    def drawn(self, block: Block, order: Sequence[int]) -> NDArray[np.bool_]:
        """Which entries of a block were held out, with the axes in the given order."""
        ...


@dataclass(frozen=True)
class RingSnapshot:
    """A ring at some moment.

    Attributes
    ----------
    cores : tuple of arrays
        For data divided by `size`.
    size : float
    empty : tuple of tuples of int
        For every mode, the slices that hold no data.
    kernel : Kernel
        The kernel of the model, in the data's units; by default it trusts every entry.
    """

    cores: tuple[Core, ...]
    size: float
    empty: tuple[tuple[int, ...], ...]
    kernel: Kernel = field(default_factory=Kernel)

    def ring(self) -> TensorRing:
        """The ring in the data's units; slices without any data are interpolated."""
        factor = self.cores[0].dtype.type(self.size ** (1 / len(self.cores)))
        return TensorRing([core * factor for core in map(fill_empty, self.cores, self.empty)])

    def tensor(self) -> NDArray[Any]:
        """The dense estimate."""
        return np.asarray(self.ring())


def fill_empty(core: Core, empty: Sequence[int]) -> Core:
    """Slices without observed entries, interpolated between the nearest slices that have data."""
    if not empty:
        return core
    filled = core.copy()
    known = np.setdiff1d(np.arange(core.shape[1]), empty)
    for i in empty:
        right = int(np.searchsorted(known, i))
        if right in (0, len(known)):
            filled[:, i] = core[:, known[min(right, len(known) - 1)]]
        else:
            low, high = known[right - 1], known[right]
            share = core.dtype.type((i - low) / (high - low))
            filled[:, i] = (1 - share) * core[:, low] + share * core[:, high]
    return filled
