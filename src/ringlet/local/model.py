"""The model of the neighbourhood of entries: learned in a sample of a tensor, applied to any part of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ringlet.local.filling import FILLING_RADIUS, Filling, learn_filling
from ringlet.local.judgement import JUDGING_RADIUS, TRUSTED, Round, Trust, prediction_errors
from ringlet.local.judging import JUDGING_HALO, Judged, JudgingModel, judge_sample, learn_predictions, round_of
from ringlet.local.layout import Tile
from ringlet.local.local_scale import SCALE_RADIUS, LocalScale, SliceScales
from ringlet.local.modes import NeighbourModes
from ringlet.local.neighbours import Array32
from ringlet.local.noise import Noise, noise_variance
from ringlet.local.outlier_model import OutlierModel
from ringlet.local.window import Entries, Window
from ringlet.ring.arrays import Mapper

__all__ = ["HALO", "TRUSTED", "Clean", "LocalModel", "learn"]

HALO = JUDGING_HALO + max(FILLING_RADIUS, JUDGING_RADIUS)  # entries around a block on which its result depends
_HIDDEN = 0.05  # share of the trusted entries that are hidden to learn filling, if the ring has seen all
_LEAST_UNSEEN = 300  # entries from which filling is learned, if they were kept from the ring
_DRAWS = 1  # random stream after judging: the same wherever entries were judged
_LEAST_GAIN = 0.01  # of the mean square at hidden entries: detail with a smaller gain is not used;
_LEAST_SEEN_GAIN = 0.1  # the same if the ring has seen them, because its errors there are not representative


@dataclass(frozen=True, eq=False)
class Clean:
    """The result, in the data's units.

    Attributes
    ----------
    predicted : float64 array
        Ring and detail; an entry's own value is not used.
    shares : float32 array
        The share of the data in the best guess: how far they are right and not noise.
    weights : float32 array
        Probability that an entry is right; 0 where nothing is observed.
    """

    predicted: NDArray[np.float64]
    shares: Array32
    weights: Array32


@dataclass(frozen=True, eq=False)
class LocalModel:
    """How neighbours predict entries, learned in a sample.

    Attributes
    ----------
    judging : JudgingModel
        Separates right entries from wrong ones.
    last : Round
        Combines predictions for trusted entries at the end.
    filling : Filling
    measured : Noise
        Of the data, in squared units of the model and of the scales of slices.
    """

    judging: JudgingModel
    last: Round
    filling: Filling
    measured: Noise

    @property
    def noise(self) -> float:
        """Variance of the data's noise."""
        return self.measured.variance

    @property
    def modes(self) -> NeighbourModes:
        """Which modes were found ordered, and which related."""
        return self.judging.modes

    @property
    def unit(self) -> float:
        """Unit of the model's numbers."""
        return self.judging.unit

    @property
    def outliers(self) -> OutlierModel:
        """Share and distribution of wrong values."""
        return self.judging.outliers

    @property
    def detail_pays(self) -> bool:
        """Whether the detail was nearer to hidden entries than the ring alone."""
        return self.filling.gain.pays(_LEAST_GAIN if self.filling.smooths_ring else _LEAST_SEEN_GAIN)

    def apply(self, entries: Entries, mapper: Mapper = map) -> Clean:
        """Judge and fill a block.

        Entries nearer than `HALO` to its border may differ from those in a larger block. Memory: as for `learn`.
        """
        window = self.judging.window(entries)
        trust = self.judging.trust(window, mapper)
        errors = prediction_errors(window, trust, self.last.stack, nearest=False, mapper=mapper)
        return self.clean(window, trust, errors, mapper)

    def clean(self, window: Window, trust: Trust, errors: Array32, mapper: Mapper = map) -> Clean:
        """Fill and keep entries, by this trust and these errors of the predictions."""
        weights, layout = trust.weights, window.layout
        trusted = weights > TRUSTED
        filled = self.filling.fill(window, trusted, mapper)
        filled -= errors * trusted
        shares = np.zeros_like(weights)
        scale = LocalScale.of(errors, weights, trust.calm, layout, self.last.variance, self.last.scales)

        def work(tile: Tile) -> None:
            noisy = np.float32(self.noise) / np.maximum(scale.variance(tile, relative=True), np.float32(1e-30))
            shares[tile.inner] = (np.float32(1) - np.minimum(noisy, 1)) * weights[tile.inner]

        for _ in mapper(work, [] if self.measured.is_all else layout.tiles(SCALE_RADIUS)):
            pass
        predicted = layout.restored(filled).astype(np.float64)
        predicted *= window.unit
        predicted += window.origin
        return Clean(predicted, layout.restored(shares), layout.restored(weights))


def learn(
    sample: Sequence[Entries],
    outliers: OutlierModel | None = None,
    seed: int = 0,
    mapper: Mapper = map,
    *,
    judged: Judged | None = None,
) -> tuple[LocalModel, list[Clean]]:
    """Learn from parts of a tensor, and return them clean.

    Parameters
    ----------
    sample : sequence of Entries
        With at least one observed entry.
    outliers : OutlierModel, optional
        By default it is learned.
    seed : int
        Seed of the draws of entries.
    mapper : callable, optional
        Used like `map`; one of a pool of threads gives the same result sooner.
    judged : Judged, optional
        Result of `judge_sample` for the same sample, without its windows. By default the sample is judged here, with
        the same result.

    Notes
    -----
    Needs about 80 bytes of memory for each entry, input not counted, and 40 MB; 25 MB more for each thread but the
    first.
    """
    judged = judge_sample(sample, outliers, seed, mapper) if judged is None else judged.beside(sample)
    rng = np.random.default_rng((seed, _DRAWS))
    windows, trusts = judged.windows, judged.trusts
    stack, errors = learn_predictions(windows, trusts, rng, judging=False, mapper=mapper)
    last = round_of(stack, windows, errors, trusts, judged.tail, judged.model.outliers)
    filling = _learn_filling(judged, rng, mapper)
    model = LocalModel(judged.model, last, filling, _noise(judged, errors, last.scales))
    triples = zip(windows, trusts, errors, strict=True)
    return model, [model.clean(window, trust, error, mapper) for window, trust, error in triples]


def _learn_filling(judged: Judged, rng: np.random.Generator, mapper: Mapper) -> Filling:
    """Learn at entries that the ring has not seen; without any, at some that it has seen."""
    trusted = [trust.weights > TRUSTED for trust in judged.trusts]
    hidden = [
        np.zeros_like(known) if window.unseen is None else known & window.unseen
        for known, window in zip(trusted, judged.windows, strict=True)
    ]
    honest = sum(int(np.count_nonzero(away)) for away in hidden) >= _LEAST_UNSEEN
    if not honest:
        hidden = [known & (rng.random(known.shape, np.float32) < _HIDDEN) for known in trusted]
    return learn_filling(judged.windows, trusted, hidden, smooths_ring=honest, rng=rng, mapper=mapper)


def _noise(judged: Judged, errors: Sequence[Array32], scales: SliceScales) -> Noise:
    """The noise, relative to the scales of slices. Entries at an end of the range do not count."""
    last = judged.model.outliers.masses.size - 1
    weights = [
        trust.weights * ((window.cells > 0) & (window.cells < last))
        for window, trust in zip(judged.windows, judged.trusts, strict=True)
    ]
    residuals = [window.residuals / scales.over(window.residuals.shape) for window in judged.windows]
    relative = [error / scales.over(error.shape) for error in errors]
    return noise_variance(residuals, relative, weights, judged.windows[0].layout.modes.ordered)
