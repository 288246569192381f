"""The data of a fit and its ring, block by block: residuals, weights, z-scores, outliers and restored entries."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.local.answer import Choice, compose, uses_detail
from ringlet.local.model import TRUSTED, Clean
from ringlet.local.refining import Denoiser
from ringlet.local.window import Entries
from ringlet.results.choices import Refinement
from ringlet.results.local_entries import LocalEntries, Refining, evaluated
from ringlet.results.residual_model import (
    ResidualModel,
    ResidualSample,
    draw_sample,
    error_model,
    residual_model,
)
from ringlet.results.wrong_values import WrongValues, wrong_values
from ringlet.ring import TensorRing
from ringlet.robust import Kernel
from ringlet.robust.error_model import ErrorModel
from ringlet.robust.outlier_judgement import OutlierJudgement
from ringlet.sources import Source
from ringlet.sources.base import Block
from ringlet.sources.dtypes import as_dtype

__all__ = ["FittedEntries"]

_FEW_FDR = 0.01  # false-discovery rate of outliers among entries that are too few to learn from
_ALL = np.float32(1 - 1e-6)  # an entry whose share in its best guess is at least this stays exactly as it is


@dataclass(frozen=True, eq=False)
class FittedEntries:
    """A ring, its data, and what gives them weights. Every method reads one block of the data.

    Attributes
    ----------
    ring : TensorRing
    source : Source
    kernel : Kernel
        Gives entries their weights, unless `learned`.
    validation : float
        The error at held-out entries, or NaN.
    local : LocalEntries
        Predictions from the neighbours of entries.
    learned : bool
        Whether entries are judged by their neighbours.
    """

    ring: TensorRing
    source: Source
    kernel: Kernel
    validation: float
    local: LocalEntries
    learned: bool = False

    def residuals(self, block: Block) -> NDArray[np.float64]:
        """Data minus ring; NaN: not observed."""
        return self._read(block)[1]

    def weights(self, block: Block) -> NDArray[np.floating[Any]]:
        """1: trusted, 0: judged an outlier, NaN: not observed."""
        values, observed = self.source.read(block)
        clean = self.local.clean(block) if self.learned else None
        weights = self._kernel_weights(values, observed, block) if clean is None else clean.weights
        return weights if observed is None else np.where(observed, weights, np.nan)

    def restored(self, block: Block, detail: Choice, keep: Choice, refine: Refinement = None) -> NDArray[Any]:
        """Trusted entries of the data; ring and detail elsewhere."""
        values, observed = self.source.read(block)
        clean, learned = None, None
        if refine is not None or self.needs_neighbours(detail, keep):
            learned = self.local.learned
            clean = self.local.clean(block, None if refine is None else self._refining(refine, detail))
        if clean is None or learned is None:
            kept = keep != "never" and self._kernel_weights(values, observed, block) >= TRUSTED
            return np.where(kept, values, as_dtype(evaluated(self.ring, block), values.dtype))
        ring = evaluated(self.ring, block)
        if refine is None:
            clean = self._reweighted(clean, block)
        else:
            detail = "always"  # refined entries contain it, or do not
        clean = replace(clean, shares=np.where(clean.weights > TRUSTED, clean.shares, np.float32(0)))
        known = values if observed is None else np.where(observed, values, ring)
        composed = compose(Entries(known, observed, ring), clean, learned.model, detail=detail, keep=keep)
        result = as_dtype(composed, values.dtype)
        if keep == "never":
            return result
        return np.where(clean.weights > TRUSTED if keep == "always" else clean.shares > _ALL, values, result)

    def needs_neighbours(self, detail: Choice, keep: Choice) -> bool:
        """Whether restored entries depend on those around them."""
        return detail != "never" or keep == "auto" or (keep == "always" and self.learned)

    def zscores(self, block: Block) -> NDArray[np.float64]:
        """Residuals over their local scale."""
        return self.residual_model.zscores_of(self.residuals(block), block)

    def outliers(self, block: Block, fdr: float) -> NDArray[np.bool_]:
        """Whether an entry is probably wrong, or its z-score is too large for the bulk of all."""
        judgement = self._judgement
        if judgement is None:
            return self.residual_model.judge(self.zscores(block), fdr)
        return judgement.judge(self.weights(block), self.zscores(block), fdr)

    def outlier_share(self, fdr: float) -> float:
        """Share of the observed entries of the sample that are outliers or hardly trusted."""
        model, judgement = self.residual_model, self._judgement
        if judgement is not None:
            found = judgement.judge(judgement.weights, judgement.zscores, fdr)
            return float(np.mean(found | (judgement.weights < TRUSTED)))
        if not self._sample.residuals.size:
            return 0.0
        distrusted = self.kernel.weights(self._sample.residuals) < TRUSTED
        return float(np.mean(model.judge(model.zscores, fdr) | distrusted))

    @cached_property
    def outlier_model(self) -> WrongValues | None:
        """What wrong values look like; None if nothing could be learned."""
        learned = self.local.learned
        if learned is None:
            return None
        return wrong_values(learned.model.outliers, self._sample.values, self.residual_model.scale)

    @cached_property
    def residual_model(self) -> ResidualModel:
        """Measured in a sample of the data, when it is first needed."""
        return residual_model(self._sample)

    @cached_property
    def error_model(self) -> ErrorModel:
        """Measured in the same sample."""
        return error_model(self._sample, self.ring.rank, self.validation)

    def _refining(self, refine: str | Denoiser, detail: Choice) -> Refining:
        learned = self.local.learned
        return Refining(refine, learned is not None and uses_detail(detail, learned.model), self._reweighted)

    def _reweighted(self, clean: Clean, block: Block) -> Clean:
        """With the weights of the kernel, unless entries are judged by their neighbours."""
        return clean if self.learned else _with_weights(clean, self._kernel_weights(*self.source.read(block), block))

    @cached_property
    def _sample(self) -> ResidualSample:
        return draw_sample(self.source, self._read)

    @cached_property
    def _judgement(self) -> OutlierJudgement | None:
        """Of the windows in which the local model was learned; None if neighbours do not judge."""
        learned = self.local.learned if self.learned else None
        if learned is None:
            return None
        weights, zscores = [], []
        for window, weight in zip(learned.windows, learned.weights, strict=True):
            known = ~np.isnan(weight)
            weights.append(weight[known])
            zscores.append(self.zscores(window)[known])
        return OutlierJudgement(np.concatenate(weights), np.concatenate(zscores), prod(self.source.shape))

    def _read(self, block: Block) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Data and residuals of a block."""
        values, observed = self.source.read(block)
        residuals = values.astype(np.float64)
        residuals -= evaluated(self.ring, block)
        if observed is not None:
            residuals[~observed] = np.nan
        return values, residuals

    def _kernel_weights(
        self, values: NDArray[Any], observed: NDArray[np.bool_] | None, block: Block
    ) -> NDArray[np.float64]:
        """Weights by the size of residuals alone; 0 where nothing is observed."""
        residuals = values.astype(np.float64)
        residuals -= evaluated(self.ring, block)
        weights = self.kernel.weights(residuals)
        if self.learned:  # learned, but from too few entries; the kernel may be that of least squares
            model = self.residual_model
            weights = np.where(model.judge(model.zscores_of(residuals, block), _FEW_FDR), 0.0, weights)
        return np.asarray(weights if observed is None else np.where(observed, weights, 0.0))


def _with_weights(clean: Clean, weights: NDArray[np.float64]) -> Clean:
    """The same with other weights."""
    free_of_noise = np.divide(clean.shares, clean.weights, out=np.ones_like(clean.shares), where=clean.weights > 0)
    return Clean(clean.predicted, (weights * free_of_noise).astype(np.float32), weights.astype(np.float32))
