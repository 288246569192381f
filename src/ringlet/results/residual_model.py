"""Residuals of a fit: their local scale, the largest that good entries have, and the errors that they predict.

All come from a sample of bounded size, which is the same for every call. So any block can be judged by itself.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import nan, prod, sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.arrays import Floats
from ringlet.ring.ranks import bond_limits
from ringlet.robust.background import background
from ringlet.robust.error_model import ErrorModel, Leverage, fit_error_model
from ringlet.robust.local_scale import LocalScale, fit_local_scale
from ringlet.robust.outlier_test import EmpiricalNull, fit_null
from ringlet.sampling import Purpose, sample_sizes, stream
from ringlet.sources import Source
from ringlet.sources.appended import AppendedSource
from ringlet.sources.base import Block, aligned_blocks

__all__ = ["ResidualModel", "ResidualSample", "draw_sample", "error_model", "residual_model", "sample_blocks"]

ReadResiduals: TypeAlias = Callable[[Block], tuple[NDArray[Any], NDArray[np.float64]]]

_SAMPLED_ENTRIES = 1 << 19  # about a second of work
_STORED_BLOCKS = 16  # of stored data that are read, unless a chunk is larger
_MOST_BLOCKS = 512  # of data in memory
_ROUNDING_STD = 1 / sqrt(12)  # of whole numbers: their rounding errors are uniform over a step
_GOOD_SPREADS = 4.0  # of z-scores: entries within count for the range of the data
_LEAST_PART = 1e-6  # share of the range between the 5 % quantiles: smaller residuals of floats are rounding
_RING_ROUNDING = 4  # rounding errors of a number by which a ring, a sum of products, may be wrong


@dataclass(frozen=True, eq=False)
class ResidualModel:
    """The residuals of a fit in a sample of its data.

    Attributes
    ----------
    scale : LocalScale
    null : EmpiricalNull
        Of the z-scores of good entries.
    zscores : array
        Of the observed entries of the sample.
    entries : int
        Of the whole tensor.
    data_range : float
        From the least to the largest good entry of the sample.
    deviation : float
        Standard deviation of the good entries of the sample.
    """

    scale: LocalScale
    null: EmpiricalNull
    zscores: Floats
    entries: int
    data_range: float
    deviation: float
    _limits: dict[float, float] = field(default_factory=dict)

    def zscores_of(self, residuals: NDArray[np.float64], block: Block) -> NDArray[np.float64]:
        """Residuals of a block over their local scale."""
        scale = self.scale.block(block)
        with np.errstate(over="ignore"):
            return np.divide(residuals, scale, out=np.zeros_like(residuals), where=(scale > 0) | (residuals != 0))

    def judge(self, zscores: Floats, fdr: float) -> NDArray[np.bool_]:
        """Which z-scores are outliers at this false-discovery rate; False for NaN."""
        if fdr not in self._limits:
            self._limits[fdr] = self.null.limit(self.zscores, fdr, self.entries)
        return np.asarray(np.abs(zscores - self.null.centre) > self._limits[fdr])


@dataclass(frozen=True, eq=False)
class ResidualSample:
    """Residuals of a fit in a bounded part of its data.

    Attributes
    ----------
    shape : tuple of int
        Of the whole tensor.
    values, residuals : arrays of shape (M,)
        Of the observed entries.
    places : tuple of int arrays of shape (M,)
        Their indices, one array per mode.
    known_shares : tuple of arrays, one a mode
        Observed share of every slice; for slices outside of the sample, that of all.
    """

    shape: tuple[int, ...]
    values: NDArray[Any]
    residuals: NDArray[np.float64]
    places: tuple[NDArray[np.int32], ...]
    known_shares: tuple[NDArray[np.float64], ...]

    @property
    def rounding(self) -> float:
        """Standard deviation of the rounding errors of the data."""
        return _rounding(self.values, self.residuals)


def draw_sample(source: Source, read: ReadResiduals) -> ResidualSample:
    """Residuals of a fit in a sample of its data, always the same one.

    Parameters
    ----------
    source : Source
        The data.
    read : callable
        Gives the data and the residuals of a block; NaN: not observed.
    """
    values, residuals, places = [], [], []
    met = [np.zeros(length) for length in source.shape]
    for block in sample_blocks(source):
        data, differences = read(block)
        known = np.nonzero(~np.isnan(differences))
        values.append(data[known])
        residuals.append(differences[known])
        indices = [np.arange(length, dtype=np.int32)[part] for length, part in zip(source.shape, block, strict=True)]
        places.append([axis[inside] for axis, inside in zip(indices, known, strict=True)])
        for count, axis in zip(met, indices, strict=True):
            count[axis] += differences.size / len(axis)
    where = tuple(np.concatenate(axis) for axis in zip(*places, strict=True))
    sample = np.concatenate(residuals)
    overall = sample.size / met[0].sum()
    shares = tuple(
        np.where(count > 0, np.bincount(axis, minlength=len(count)) / np.maximum(count, 1.0), overall)
        for axis, count in zip(where, met, strict=True)
    )
    return ResidualSample(source.shape, np.concatenate(values), sample, where, shares)


def residual_model(sample: ResidualSample) -> ResidualModel:
    """The local scale of residuals and the distribution of their z-scores, from a sample."""
    residuals = sample.residuals
    scale = fit_local_scale(residuals, sample.places, sample.shape, sample.rounding)
    spread = scale.points(sample.places)
    zscores = np.divide(residuals, spread, out=np.zeros_like(residuals), where=spread > 0)
    null = fit_null(zscores)
    good = sample.values[np.abs(zscores - null.centre) <= _GOOD_SPREADS * null.spread].astype(np.float64)
    data_range = float(np.ptp(good)) if good.size else nan
    deviation = data_range * float(np.std(good / data_range)) if data_range > 0 else 0.0  # no square leaves the range
    return ResidualModel(scale, null, zscores, prod(sample.shape), data_range, deviation)


def error_model(sample: ResidualSample, rank: Sequence[int], validation: float) -> ErrorModel:
    """Standard errors at entries that were not used, from a sample of a fit of this rank and its validation error."""
    shape, bonds = sample.shape, bond_limits(sample.shape, rank)
    terms = []
    for mode, shares in enumerate(sample.known_shares):
        others = prod(shape) / shape[mode]
        unknowns = min(bonds[mode] * bonds[(mode + 1) % len(bonds)], others)
        terms.append(unknowns / np.maximum(others * shares, 1.0))
    known = float(np.mean(sample.known_shares[0])) * prod(shape)
    leverage = Leverage(tuple(terms), sum(bond * bond for bond in bonds) / max(known, 1.0))
    varied = sample.values != background(sample.values) if sample.values.size else np.zeros(0, bool)
    return fit_error_model(sample.residuals, sample.places, leverage, sample.rounding, validation, varied)


def _rounding(values: NDArray[Any], residuals: Floats) -> float:
    """Standard deviation of the rounding errors of data: no residual is more precise."""
    if values.dtype.kind in "iub":
        return _ROUNDING_STD
    if not values.size:
        return 0.0
    low, high = np.quantile(values, [0.05, 0.95]).astype(np.float64)
    precision = float(max(np.finfo(values.dtype).eps, np.finfo(residuals.dtype).eps))
    sizes = np.abs(values)
    typical = float(np.median(sizes))
    if high > low:
        return max(_LEAST_PART * float(high - low), precision * typical)
    if typical > 0:  # almost all entries are the same
        return _RING_ROUNDING * precision * typical
    others = sizes[sizes > 0]  # almost all entries are zero
    return _LEAST_PART * float(np.median(others)) if others.size else precision


def sample_blocks(source: Source) -> Iterator[Block]:
    """Blocks with about half a million entries in total; all the data if they have no more.

    Of data in memory the blocks together meet every slice, if that is possible; stored data are read by whole chunks.
    """
    first = [0] * len(source.shape)
    held = source
    if isinstance(source, AppendedSource):
        first[source.mode], held = source.first, source.source
    blocks = _held_blocks(held)
    for block in blocks:
        yield tuple(
            slice(chosen.start + low, chosen.stop + low) if isinstance(chosen, slice) else chosen + low
            for chosen, low in zip(block, first, strict=True)
        )


def _held_blocks(source: Source) -> list[Block]:
    shape, rng = source.shape, stream(0, Purpose.RESIDUALS)
    if prod(shape) <= _SAMPLED_ENTRIES:
        return [tuple(slice(0, length) for length in shape)]
    if source.chunks is not None:
        stored = aligned_blocks(source.chunks, _SAMPLED_ENTRIES // _STORED_BLOCKS)
        count = min(len(stored), max(1, _SAMPLED_ENTRIES * len(stored) // prod(shape)))
        return [stored[place] for place in np.sort(rng.choice(len(stored), count, replace=False))]
    count = 1
    sizes = sample_sizes(shape, _SAMPLED_ENTRIES)
    while count < _MOST_BLOCKS and any(count * size < length for size, length in zip(sizes, shape, strict=True)):
        count *= 2
        sizes = sample_sizes(shape, _SAMPLED_ENTRIES // count)
    orders = [rng.permutation(length) for length in shape]
    return [
        tuple(
            np.sort(np.take(order, np.arange(number * size, (number + 1) * size), mode="wrap"))
            for order, size in zip(orders, sizes, strict=True)
        )
        for number in range(count)
    ]
