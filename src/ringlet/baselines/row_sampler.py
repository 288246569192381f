"""Which rows of a subchain SampledTRALS samples."""

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from ringlet.ring import GramChain
from ringlet.ring.arrays import Array64, Mapper
from ringlet.ring.chain import Core
from ringlet.sampling import draw_leverage_rows, draw_rows, leverage_distribution, merge_rows

__all__ = ["RowSampler"]

_FEW_TWICE = 0.1  # mean repetitions of a row below which merging costs more than it saves


class RowSampler:
    """Draws rows of the subchains of a ring whose cores are replaced one after the other.

    Parameters
    ----------
    cores : sequence of arrays
    sampling : {"product-leverage", "exact-leverage", "uniform"}
        As in `SampledTRALS`.
    samples : int
        Rows of a draw.
    mapper : callable
        Used like `map` for independent pieces.

    Attributes
    ----------
    scores : list of arrays
        Probabilities of the indices of every mode; not used by "exact-leverage".

    Examples
    --------
    >>> cores = [np.ones((1, 4, 1)), np.arange(3.0).reshape(1, 3, 1)]
    >>> (rows,), weights = RowSampler(cores, "uniform", 60, map).draw(cores, 0, np.random.default_rng(0))
    >>> rows, float(weights.sum().round(6))
    (array([0, 1, 2]), 3.0)
    """

    def __init__(self, cores: Sequence[Core], sampling: str, samples: int, mapper: Mapper) -> None:
        self._by_leverage = sampling == "product-leverage"
        self._grams = GramChain(cores, mapper) if sampling == "exact-leverage" else None
        self._samples = samples
        self._mapper = mapper
        self.scores = [leverage_distribution(core) if self._by_leverage else _uniform(core) for core in cores]

    def resume(self, cores: Sequence[Core], scores: list[Array64]) -> None:
        """Continue with other cores and their scores."""
        if self._grams is not None:
            self._grams = GramChain(cores, self._mapper)
        self.scores = scores

    def replace(self, mode: int, core: Core) -> None:
        """Update the scores for a new core."""
        if self._grams is not None:
            self._grams = self._grams.with_core(mode, core)
        if self._by_leverage:
            self.scores[mode] = leverage_distribution(core)

    def draw(
        self, cores: Sequence[Core], mode: int, rng: np.random.Generator
    ) -> tuple[tuple[NDArray[np.intp], ...], Array64]:
        """Rows of the subchain without core `mode`, distinct unless few are repeated, and their weights."""
        if self._grams is not None:
            gram = self._grams.without(mode).dense(self._mapper)
            rows, weights = draw_leverage_rows(cores, mode, gram, self._samples, rng, self._mapper)
        else:
            others = [scores for other, scores in enumerate(self.scores) if other != mode]
            rows, weights = draw_rows(others, self._samples, rng)
            twice = prod(float(scores @ scores) for scores in others)  # chance that two draws are the same row
            if self._samples * twice < _FEW_TWICE:
                return rows, weights
        return merge_rows(rows, weights, [core.shape[1] for other, core in enumerate(cores) if other != mode])


def _uniform(core: Core) -> Array64:
    return np.full(core.shape[1], 1.0 / core.shape[1])
