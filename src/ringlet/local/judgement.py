"""Which entries are right: each is compared with the ring and its trusted neighbours, never with itself."""

from dataclasses import dataclass

import numpy as np

from ringlet.local.layout import Layout, Tile
from ringlet.local.local_scale import SCALE_RADIUS, LocalScale, SliceScales
from ringlet.local.neighbours import Array32, Predictions, agreeing_pairs, neighbour_predictions
from ringlet.local.outlier_model import OutlierModel
from ringlet.local.stacking import Stack
from ringlet.local.window import Window
from ringlet.ring.arrays import Mapper

__all__ = [
    "JUDGING_RADIUS",
    "NEIGHBOUR_RADIUS",
    "TRUSTED",
    "Round",
    "Trust",
    "judge",
    "prediction_errors",
    "predictions",
]

TRUSTED = 0.5  # least weight of an entry that counts in filling, and that is kept
NEIGHBOUR_LEVELS = 3
NEIGHBOUR_RADIUS = 2**NEIGHBOUR_LEVELS - 1
JUDGING_RADIUS = NEIGHBOUR_RADIUS + SCALE_RADIUS  # entries that a round reads on either side
_PARTS = 3  # Gaussians in the mixture of right residuals
_WIDER = 3.0  # scale of each relative to that of the one before
_ROOT = float(np.sqrt(2 * np.pi))
_INFLATION = 1.3  # of the variance, where values are frequent: there is little noise, no right entry shall be lost
_LEAST_SCALE = 0.5  # of the step between values: rounding errors
_FARTHEST_SCORE, _STEPS = 100, 64  # range of a table of masses, and steps per unit: beyond, the judgement is the same
_FAR = 1e4  # squared errors in variances; larger ones are equally wrong
_TINY = np.float32(1e-30)
_MOST = 1e15  # of odds and widths, so that their products stay in float32


@dataclass(frozen=True, eq=False)
class Round:
    """The parameters of one round of judging, measured in a sample.

    Attributes
    ----------
    stack : Stack
        Combines the predictions of neighbours.
    variance : float
        Variance of the errors of these predictions, over all trusted entries, each divided by the scales of its slices.
        Wide parts count like the narrow core.
    scales : SliceScales
        Relative scales of the errors in the slices of modes without an order.
    tail : float
        Share of each part of right residuals relative to the next narrower one.
    outliers : OutlierModel
    """

    stack: Stack
    variance: float
    scales: SliceScales
    tail: float
    outliers: OutlierModel


@dataclass(frozen=True, eq=False)
class Trust:
    """The trust in every entry.

    Attributes
    ----------
    weights : float32 array
        Probability that it is right; 0 where nothing is observed.
    calm : float32 array
        The same, times the weight of its squared error in the scale of the core.
    """

    weights: Array32
    calm: Array32

    def arranged(self, layout: Layout) -> "Trust":
        """The same in a layout, if it is in that of the data."""
        return Trust(layout.arranged(self.weights), layout.arranged(self.calm))

    @property
    def tail(self) -> float:
        """Approximate share of right entries that are not in the core."""
        total = float(self.weights.sum(dtype=np.float64))
        calm = float(self.calm.sum(dtype=np.float64))
        return (1 - calm / total) / (1 - 1 / _WIDER**2) if total else 0.0


def predictions(window: Window, weights: Array32, tile: Tile) -> Predictions:
    """Predictions of the entries of a tile from neighbours with these weights."""
    around = window.residuals[tile.outer], weights[tile.outer]
    return neighbour_predictions(*around, window.layout.modes, NEIGHBOUR_LEVELS, tile.core)


def prediction_errors(
    window: Window,
    trust: Trust,
    stack: Stack,
    *,
    nearest: bool,
    known: dict[Tile, Predictions] | None = None,
    mapper: Mapper = map,
) -> Array32:
    """Data minus the prediction of ring and neighbours for every entry; 0 where nothing is observed.

    Parameters
    ----------
    window : Window
    trust : Trust
        In the neighbours.
    stack : Stack
        Combines the predictions of neighbours.
    nearest : bool
        Whether the two neighbours along a mode replace all others if they agree with each other and are nearer to the
        entry, as along an edge.
    known : dict, optional
        Results of `predictions` in some tiles. They are removed, to free their memory.
    mapper : callable, optional
        Used like `map`, over tiles.
    """
    along = window.layout.modes.ordered if nearest else ()
    errors = np.empty_like(window.residuals)

    def work(tile: Tile) -> None:
        said = known.pop(tile, None) if known else None
        said = said or predictions(window, trust.weights, tile)
        residuals = window.residuals[tile.inner]
        error = np.subtract(residuals, stack.predict(said.columns, said.density))
        square = error * error
        for other, variance in agreeing_pairs(
            window.residuals[tile.outer], trust.weights[tile.outer], along, tile.core
        ):
            np.subtract(residuals, other, out=other)
            variance += other * other
            nearer = variance < square
            np.minimum(square, variance, out=square)
            other *= nearer  # a choice without branches, several times as fast as one with
            error *= np.logical_not(nearer, out=nearer)
            error += other
        error *= window.observed[tile.inner]
        errors[tile.inner] = error

    for _ in mapper(work, window.layout.tiles(NEIGHBOUR_RADIUS)):
        pass
    return errors


def judge(window: Window, nearest: Array32, trust: Trust, this: Round, mapper: Mapper = map) -> Trust:
    """Judge every observed entry.

    Parameters
    ----------
    window : Window
    nearest : float32 array
        Errors of the nearest predictions, with the trust of the last round.
    trust : Trust
        The last round.
    this : Round
    mapper : callable, optional
        Used like `map`, over tiles.
    """
    judging = _Judging(window, this)
    scale = LocalScale.of(nearest, trust.weights, trust.calm, window.layout, this.variance, this.scales)
    weights, calm = np.empty_like(nearest), np.empty_like(nearest)

    def work(tile: Tile) -> None:
        variance = scale.variance(tile)
        weights[tile.inner], calm[tile.inner] = judging.judge(nearest[tile.inner], variance, tile)

    for _ in mapper(work, window.layout.tiles(SCALE_RADIUS)):
        pass
    return Trust(weights, calm)


class _Judging:
    """What all tiles of a window need in a round."""

    def __init__(self, window: Window, this: Round) -> None:
        outliers = this.outliers
        widths = np.minimum(outliers.widths / window.unit, _MOST)
        self._window, self._tail = window, this.tail
        self._odds = np.clip((1 - outliers.share) / np.maximum(outliers.masses, 1 / _MOST), 0, _MOST)
        self._odds_of_density = np.clip(self._odds * widths, 0, _MOST).astype(np.float32)
        self._inflation = np.float32(_INFLATION if outliers.repeats else 1.0)
        self._floor = np.float32((_LEAST_SCALE * min(outliers.step / window.unit, _MOST)) ** 2)
        ends = outliers.edges[1], outliers.edges[-2]
        self._ends = tuple(
            (cell, sign, (end - window.origin) / window.unit)
            for cell, sign, end, clipped in zip((0, widths.size - 1), (1, -1), ends, outliers.clipped, strict=True)
            if clipped
        )
        self._masses = _masses_below(this.tail) if self._ends else np.empty(0, np.float32)

    def judge(self, errors: Array32, variance: Array32, tile: Tile) -> tuple[Array32, Array32]:
        """Probabilities that entries are right, and the same times the weight of their squares."""
        variance *= self._inflation
        variance += self._floor
        np.maximum(variance, _TINY, out=variance)
        density, precise = _mixture(errors, variance, self._tail)
        precise /= np.maximum(density, _TINY)
        scale = np.sqrt(variance, out=variance)
        cells = self._window.cells[tile.inner]
        odds = np.divide(density, scale, out=density)
        odds *= self._odds_of_density[cells]
        self._judge_ends(odds, errors, scale, tile)
        np.minimum(odds, np.float32(_MOST), out=odds)
        weights = np.divide(odds, odds + np.float32(1), dtype=np.float32)
        weights *= self._window.observed[tile.inner]
        precise *= weights
        return weights, precise

    def _judge_ends(self, odds: Array32, errors: Array32, scale: Array32, tile: Tile) -> None:
        """Where values are clipped, all mass beyond the end counts."""
        window = self._window
        if not self._ends:
            return
        cells = ((window.cells[tile.inner] + np.int16(1)) * window.observed[tile.inner]).ravel()  # 0 where unobserved
        predicted = window.ring[tile.inner] + window.residuals[tile.inner]
        predicted -= errors
        for cell, sign, end in self._ends:
            here = np.flatnonzero(cells == cell + 1)
            scores = np.float32(sign) * (np.float32(end) - predicted.ravel()[here]) / scale.ravel()[here]
            places = np.clip(scores, -_FARTHEST_SCORE, _FARTHEST_SCORE, out=scores)
            places += np.float32(_FARTHEST_SCORE)
            places *= np.float32(_STEPS)
            odds.reshape(-1)[here] = self._masses[places.astype(np.intp)] * np.float32(self._odds[cell])


def _mixture(errors: Array32, variance: Array32, tail: float) -> tuple[Array32, Array32]:
    """Density of right residuals times their scale, and the sum of its parts, each divided by its variance.

    Each exponential is a power of that of the next wider part.
    """
    squares = errors * errors
    squares /= variance
    np.minimum(squares, np.float32(_FAR), out=squares)
    squares *= np.float32(-0.5 / _WIDER ** (2 * _PARTS - 2))
    power = np.exp(squares, out=squares)
    density, precise = np.zeros_like(power), np.zeros_like(power)
    for share, width in reversed(_parts(tail)):
        part = power * np.float32(share / width / _ROOT)
        density += part
        part *= np.float32(1 / width**2)
        precise += part
        if width > 1:
            eighth = power * power
            eighth *= eighth
            eighth *= eighth
            power *= eighth  # the ninth power: the next part is a third as wide
    return density, precise


def _masses_below(tail: float) -> Array32:
    """Mass of right residuals below scores, as a table from the least to the largest score, which is cheap to read."""
    from scipy.special import ndtr  # here, because importing it takes a fifth of a second

    scores = (np.arange(2 * _FARTHEST_SCORE * _STEPS + 1) + 0.5) / _STEPS - _FARTHEST_SCORE
    masses = sum(share * ndtr(scores / width) for share, width in _parts(tail)).astype(np.float32)
    masses[0] = 0  # a tiny weight of a huge value would still be visible in the sum
    return np.asarray(masses)


def _parts(tail: float) -> list[tuple[float, float]]:
    """Shares and scales of the Gaussians in the mixture of right residuals."""
    shares = [tail**part for part in range(_PARTS)]
    return [(share / sum(shares), _WIDER**part) for part, share in enumerate(shares)]
