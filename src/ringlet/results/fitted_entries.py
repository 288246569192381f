"""The data of a fit beside its ring, block by block: residuals, weights, z-scores, outliers and restored entries."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.results.residual_model import (
    ResidualModel,
    ResidualSample,
    draw_sample,
    error_model,
    residual_model,
)
from ringlet.ring import TensorRing
from ringlet.robust import Kernel
from ringlet.robust.error_model import ErrorModel
from ringlet.sources import Source
from ringlet.sources.base import Block
from ringlet.sources.dtypes import as_dtype

__all__ = ["FittedEntries"]

_TRUSTED = 0.5  # the least weight of an entry that is left as it is


@dataclass(frozen=True, eq=False)
class FittedEntries:
    """A ring, the data it was fitted to, the kernel that weighs them, and the error at held-out entries (or NaN).

    Every method reads one block of the data.
    """

    ring: TensorRing
    source: Source
    kernel: Kernel
    validation: float

    def residuals(self, block: Block) -> NDArray[np.float64]:
        """Data minus ring; NaN: not observed."""
        return self._read(block)[1]

    def weights(self, block: Block) -> NDArray[np.floating[Any]]:
        """1: trusted, 0: judged an outlier, NaN: not observed."""
        residuals = self.residuals(block)
        return np.where(np.isnan(residuals), np.nan, self.kernel.weights(residuals))

    def restored(self, block: Block) -> NDArray[Any]:
        """The data where they are trusted, the ring elsewhere."""
        values, residuals = self._read(block)
        trusted = self.kernel.weights(residuals) >= _TRUSTED
        trusted &= ~np.isnan(residuals)
        del residuals  # blocks can be large
        return np.where(trusted, values, as_dtype(self._estimate(block), values.dtype))

    def zscores(self, block: Block) -> NDArray[np.float64]:
        """Residuals over their local scale."""
        return self.residual_model.zscores_of(self.residuals(block), block)

    def outliers(self, block: Block, fdr: float) -> NDArray[np.bool_]:
        """Whether the z-score is too large for the bulk of all, at this false-discovery rate."""
        return self.residual_model.judge(self.zscores(block), fdr)

    def outlier_share(self, fdr: float) -> float:
        """Share of the observed entries of the sample that are outliers, or that the fit itself hardly trusts."""
        if not self._sample.residuals.size:
            return 0.0
        model = self.residual_model
        distrusted = self.kernel.weights(self._sample.residuals) < _TRUSTED
        return float(np.mean(model.judge(model.zscores, fdr) | distrusted))

    @cached_property
    def residual_model(self) -> ResidualModel:
        """Measured in a sample of the data, when it is first needed."""
        return residual_model(self._sample)

    @cached_property
    def error_model(self) -> ErrorModel:
        """Measured in the same sample."""
        return error_model(self._sample, self.ring.rank, self.validation)

    @cached_property
    def _sample(self) -> ResidualSample:
        return draw_sample(self.source, self._read)

    def _read(self, block: Block) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Data and residuals of a block."""
        values, observed = self.source.read(block)
        residuals = values.astype(np.float64)
        residuals -= self._estimate(block)
        if observed is not None:
            residuals[~observed] = np.nan
        return values, residuals

    def _estimate(self, block: Block) -> NDArray[Any]:
        """The ring's entries of a block, whose index arrays span a subtensor."""
        if sum(not isinstance(chosen, slice) for chosen in block) > 1:
            indices = [np.arange(length)[chosen] for length, chosen in zip(self.ring.shape, block, strict=True)]
            return np.asarray(self.ring[np.ix_(*indices)])
        return np.asarray(self.ring[block])
