"""The start of a fit: the scale of the data, a typical value, and cores of a nearly constant tensor."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import copysign
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError
from ringlet.ring import TensorRing
from ringlet.ring.chain import Core
from ringlet.robust.background import background
from ringlet.sampling import Purpose, draw_entries, stream
from ringlet.sources import Source, Survey

__all__ = ["Scale", "check_representable", "given_start", "measure", "random_start"]

_MEASURED_ENTRIES = 1 << 17
_NOISE = 0.1  # relative size of the random part of the first model
# The range of the data is trusted up to this number of interquartile ranges; entries beyond are outliers.
_TAILS = 8.0
# If it is more than _BOUNDED times the range of all but two in a thousand on either side, the outliers are spread out
# among the rest: then up to _NEAR_TAILS interquartile ranges, or all but a twentieth on either side.
_BOUNDED, _NEAR_TAILS = 1.5, 2.5
_QUANTILES = (0.002, 0.05, 0.25, 0.75, 0.95, 0.998)
_HALF = 0.5  # largest middle of data that begin at zero, in units of their range
_REACH = 2.5  # how far beyond the upper quartile of what stands out from a background the first kernel reaches


@dataclass(frozen=True)
class Scale:
    """Robust measures of the data.

    Attributes
    ----------
    data_range : float
        The fit works on data divided by it: the range of the data, gross outliers left out.
    centre : float
        Mean of the middle half of the entries, in data ranges.
    reach : float
        Least first width of the kernel, in data ranges, with which objects on a flat background are not taken for
        outliers; 0 without such a background.
    level : float
        How far the data lie from zero, in data ranges; at least 1.
    penalty_unit : float
        Unit of penalties, in mean diagonals of the Gram matrix. If data are far from zero, a constant makes up most
        of that matrix, and a penalty in proportion to it would remove what varies.
    """

    data_range: float
    centre: float
    reach: float
    level: float = field(init=False)
    penalty_unit: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", max(1.0, abs(self.centre)))
        object.__setattr__(self, "penalty_unit", (_HALF / max(abs(self.centre), _HALF)) ** 2)


def measure(source: Source, found: Survey, seed: int) -> Scale:
    """Size and centre of the data, from a random subtensor of the observed entries."""
    values, observed = source.read(draw_entries(source, _MEASURED_ENTRIES, seed, Purpose.SURVEY))
    sample = (values if observed is None else values[observed]).astype(np.float64).ravel()
    if not sample.size:  # of very sparse data only the range is known
        sample = np.array([found.minimum, found.maximum])
    flat = background(sample)
    varied = sample if flat is None else sample[sample != flat]
    size = _range(varied, found)
    if size == 0.0 or not np.isfinite(size):
        size = max(abs(found.maximum), abs(found.minimum)) or 1.0
    q25, median, q75 = np.quantile(sample, (0.25, 0.5, 0.75), method="hazen")
    middle = sample[(sample >= q25) & (sample <= q75)]
    centre = float(np.mean(middle / size)) if middle.size else float(median / size)
    reach = 0.0
    if varied.size < sample.size:
        reach = _REACH * float(np.quantile(np.abs(varied / size - median / size), 0.75))
    return Scale(float(size), centre, reach)


def _range(values: NDArray[np.float64], found: Survey) -> float:
    """The range of the data, gross outliers left out."""
    low, q05, q25, q75, q95, high = np.quantile(values, _QUANTILES, method="hazen") / 2
    spread = found.maximum / 2 - found.minimum / 2  # halves: the range of float64 data may overflow
    if q75 > q25:
        scattered = spread > _BOUNDED * (high - low)
        reach = max(_NEAR_TAILS * (q75 - q25), q95 - q05) if scattered else _TAILS * (q75 - q25)
        spread = min(spread, reach)
    return float(2 * spread)


def random_start(
    shape: Sequence[int], rank: Sequence[int], centre: float, dtype: np.dtype[Any], seed: int, attempt: int = 0
) -> list[Core]:
    """Cores of the constant tensor `centre`, plus noise that is small compared with the range of the data."""
    rng = stream(seed, Purpose.START, attempt)
    order = len(shape)
    # The noise of one core meets the constants of all others, of which the product is |centre|^((N-1)/N).
    level = min(_NOISE ** (1 / order), _NOISE / max(abs(centre), _NOISE) ** ((order - 1) / order))
    cores = []
    for mode, length in enumerate(shape):
        before, after = rank[mode], rank[(mode + 1) % order]
        constant = abs(centre) ** (1 / order) / before  # summed over all bonds the product is |centre|
        noise = level / np.sqrt(before) * rng.standard_normal((before, length, after))
        sign = copysign(1.0, centre) if mode == 0 else 1.0
        cores.append((sign * (constant + noise)).astype(dtype))
    return cores


def given_start(
    ring: TensorRing,
    shape: Sequence[int],
    rank: Sequence[int],
    data_range: float,
    dtype: np.dtype[Any],
) -> list[Core]:
    """Given cores, for data divided by `data_range`; their norms are made equal, which changes no entry."""
    if ring.shape != tuple(shape) or ring.rank != tuple(rank):
        raise ArgumentError(
            f"init has shape {ring.shape} and rank {ring.rank}, "
            f"but the fit needs shape {tuple(shape)} and rank {tuple(rank)}"
        )
    cores = [core.astype(np.float64) for core in ring.cores]
    norms = [float(np.linalg.norm(core)) for core in cores]
    if not all(norms):
        raise ArgumentError("init has a core of zeros, from which no fit can start; leave init out for a random start")
    order = len(cores)
    log_common = (sum(np.log(norms)) - np.log(data_range)) / order
    return [(core * (np.exp(log_common) / norm)).astype(dtype) for core, norm in zip(cores, norms, strict=True)]


def check_representable(data_range: float, dtype: np.dtype[Any]) -> None:
    """Refuse data so large or so small that the working precision cannot hold their size or its inverse."""
    limits = np.finfo(dtype)
    if not float(limits.tiny) * 1e3 < data_range < float(limits.max) / 1e3:
        raise ArgumentError(
            f"the data vary by {data_range:.3g}, which {dtype} cannot work with; "
            + ("give them, or the solver's dtype, as float64" if dtype.itemsize == 4 else "scale the data first")
        )
