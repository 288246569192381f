"""How far entries are trusted: the kernel width that a solver's rule takes from residuals, and what follows from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan, nan, prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.robust import DEFAULT_FACTORS, Loss, kernel_width
from ringlet.sampling import sample_sizes, subset
from ringlet.solvers.engine.block_work import LARGEST_ENTRY

if TYPE_CHECKING:
    from ringlet.solvers.sawrtrd.settings import RobustRing

__all__ = ["NARROWING", "Trust", "draw_pilot", "pilot_entries", "rule_width"]

Floats: TypeAlias = NDArray[np.floating[Any]]

NARROWING = 0.85  # the kernel width shrinks by this factor a sweep at most
# The kernel width is measured on a pilot before each core's update: a sixteenth of the sample, within these bounds.
_PILOT_SHARE, _PILOT_LEAST, _PILOT_MOST = 16, 1 << 13, 1 << 17
_LEAST_WIDTH = {4: 1e-6, 8: 1e-50}  # of a fixed kernel, in units of the data's size, by bytes of the working precision


@dataclass(frozen=True)
class Trust:
    """How the residuals of a pilot look under the kernel: the width, the mean loss, the mean weight.

    Of a pilot without observed entries the loss is NaN: nothing is known but the width so far.
    """

    width: float
    loss: float
    mean_weight: float

    @property
    def measured(self) -> bool:
        """Whether the pilot held observed entries."""
        return not isnan(self.loss)

    @classmethod
    def unmeasured(cls, width: float) -> "Trust":
        """Go on with the width so far, all entries trusted."""
        return cls(width, nan, 1.0)

    @classmethod
    def of(cls, residuals: Floats, loss: Loss, width: float) -> "Trust":
        """Judge residuals, at least one, by a kernel of this width."""
        if width == inf:
            return cls(width, float(np.mean(0.5 * residuals.astype(np.float64) ** 2)), 1.0)
        weights = loss.weight(residuals, width, np.empty_like(residuals))
        return cls(width, float(np.mean(loss.value(residuals, width))), float(np.mean(weights)))


def pilot_entries(sizes: Sequence[int]) -> int:
    """How many entries of a sketch of these sizes to measure the kernel width on."""
    return min(max(prod(sizes) // _PILOT_SHARE, _PILOT_LEAST), _PILOT_MOST)


def draw_pilot(sizes: Sequence[int], rng: np.random.Generator) -> tuple[NDArray[np.intp], ...]:
    """A small random part of a sketch of these sizes, one array of indices a mode."""
    shares = sample_sizes(sizes, pilot_entries(sizes))
    return tuple(subset(length, size, rng) for length, size in zip(sizes, shares, strict=True))


def rule_width(solver: "RobustRing", residuals: Floats, size: float) -> float:
    """The kernel width sigma that a solver wants for these residuals, in units of the data's size."""
    if solver.loss == "l2":
        return inf
    if not isinstance(solver.sigma, str):
        width = max(float(solver.sigma) / size, _LEAST_WIDTH[residuals.dtype.itemsize])
        return width if width < LARGEST_ENTRY[residuals.dtype.itemsize] else inf
    factor = solver.sigma_factor or DEFAULT_FACTORS[solver.sigma]
    return kernel_width(residuals, solver.sigma, factor, solver.sigma_min)
