"""All that is learned about the neighbourhood of entries, in a sample of a tensor, and its use in any part of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.local.filling import FILLING_RADIUS, Filling, learn_filling
from ringlet.local.judgement import JUDGING_RADIUS, NEIGHBOUR_LEVELS, Round, Said, Trust, judge, local_variance
from ringlet.local.modes import NeighbourModes, find_modes
from ringlet.local.neighbours import Array32, neighbour_predictions
from ringlet.local.noise import noise_variance
from ringlet.local.outlier_model import OutlierModel, outliers_of_values
from ringlet.local.stacking import Stack, Training, fit_stack
from ringlet.local.window import Entries, Window

__all__ = ["HALO", "TRUSTED", "Clean", "LocalModel", "learn"]

_ROUNDS = 4  # of judging
HALO = _ROUNDS * JUDGING_RADIUS + max(FILLING_RADIUS, JUDGING_RADIUS)  # entries around a block that decide about it
TRUSTED = 0.5  # least weight of an entry that counts in filling, and that is kept
_TRAINING_ENTRIES = 60_000  # for one stack
_HIDDEN = 0.05  # share of the trusted entries that are hidden to learn filling, if the ring has seen all
_LEAST_UNSEEN = 300  # entries from which filling is learned, if they were kept from the ring
_FIRST_WIDTH = 3.0  # robust standard deviations from which a residual is doubted before neighbours are asked
_FIRST_TAIL = 0.2  # share of the tail of right residuals, before any is judged
_LEAST_TAIL, _MOST_TAIL = 0.02, 0.4  # later
_COEFFICIENTS = 60  # about: what is learned gains this number over that of hidden entries by chance
_LEAST_GAIN = 0.01  # of the mean square at hidden entries: less detail than that is none


@dataclass(frozen=True, eq=False)
class Clean:
    """What comes out, in the data's units.

    Attributes
    ----------
    predicted : float64 array
        Ring and detail; no entry speaks for itself.
    shares : float32 array
        How far the data are right and not noise: the share of them in the best guess.
    weights : float32 array
        Probability that an entry is right; 0 where nothing is observed.
    """

    predicted: NDArray[np.float64]
    shares: Array32
    weights: Array32


@dataclass(frozen=True, eq=False)
class LocalModel:
    """What neighbours say of entries, learned in a sample.

    Attributes
    ----------
    modes : NeighbourModes
        Which modes were found ordered, and which related.
    origin, unit : float
        Of the numbers in here: an entry of the data is ``origin + unit * x``.
    start : OutlierModel
    doubted : float
        Before neighbours are asked: a residual that is doubted, and what wrong values look like.
    rounds : tuple of Round
        Of judging.
    last : Round
        Of judging, for what is said of trusted entries in the end.
    filling : Filling
    noise : float
        Variance of the data's noise.
    """

    modes: NeighbourModes
    origin: float
    unit: float
    start: OutlierModel
    doubted: float
    rounds: tuple[Round, ...]
    last: Round
    filling: Filling
    noise: float

    @property
    def outliers(self) -> OutlierModel:
        """Share and distribution of wrong values."""
        return self.last.outliers

    @property
    def detail_pays(self) -> bool:
        """Whether the detail was nearer to hidden entries than the ring alone."""
        chance = _COEFFICIENTS / max(self.filling.hidden, 1)
        return self.filling.error < (1 - _LEAST_GAIN - chance) * self.filling.ring_error

    def apply(self, entries: Entries) -> Clean:
        """Judge and fill a block. Entries nearer than `HALO` to its border may differ from those in a larger block."""
        window = Window.of(entries, self.origin, self.unit, self.outliers)
        trust = first_trust(window, self.start, self.doubted)
        for this in self.rounds:
            said = Said.of(window, trust.weights, self.modes, this.stack)
            trust = judge(window, said, trust, self.modes.ordered, this)
        return self.clean(window, trust)

    def clean(self, window: Window, trust: Trust) -> Clean:
        """Fill and keep, by this trust."""
        weights = trust.weights
        said = Said.of(window, weights, self.modes, self.last.stack)
        variance = local_variance(said.errors, trust.calm, weights, self.modes.ordered, self.last.variance)
        noisy: Array32 = np.clip(np.float32(self.noise) / np.maximum(variance, np.float32(1e-30)), 0, 1)
        trusted = weights > TRUSTED
        predicted = np.where(trusted, said.prediction, self.filling.fill(window, trusted)).astype(np.float64)
        return Clean(self.origin + self.unit * predicted, weights * (np.float32(1) - noisy), weights)


def learn(
    sample: Sequence[Entries], outliers: OutlierModel | None = None, seed: int = 0
) -> tuple[LocalModel, list[Clean]]:
    """Learn from parts of a tensor; they come back clean.

    Parameters
    ----------
    sample : sequence of Entries
        With at least one observed entry.
    outliers : OutlierModel, optional
        By default it is learned, too.
    seed : int
        Of the draws of entries.
    """
    start = outliers or outliers_of_values(_observed_values(sample))
    origin, unit = _range(sample)
    windows = [Window.of(entries, origin, unit, start) for entries in sample]
    rng = np.random.default_rng(seed)
    doubted = _FIRST_WIDTH * _spread(windows, start)
    trusts = [first_trust(window, start, doubted) for window in windows]
    residuals = [window.residuals for window in windows]
    weights = [trust.weights for trust in trusts]
    known = [
        window.ring + weight * residual for window, weight, residual in zip(windows, weights, residuals, strict=True)
    ]
    modes = find_modes(known, residuals, weights, seed)
    now = start.learned_again(_wrong(windows, trusts, start)) if outliers is None and not start.atoms.any() else start
    rounds: list[Round] = []
    tail = _FIRST_TAIL
    for _ in range(_ROUNDS):
        this, said = _learn_round(windows, trusts, modes, rng, (tail, now))
        steps = zip(windows, said, trusts, strict=True)
        trusts = [judge(window, one, trust, modes.ordered, this) for window, one, trust in steps]
        rounds.append(this)
        tail = (tail + min(max(float(np.mean([trust.tail for trust in trusts])), _LEAST_TAIL), _MOST_TAIL)) / 2
        if outliers is None:
            now = now.learned_again(_wrong(windows, trusts, now))
    weights = [trust.weights for trust in trusts]
    stack, said = _learn_neighbours(windows, weights, modes, rng)
    last = Round(stack, _variance(trusts, [one.errors for one in said]), tail, now)
    filling = _learn_filling(windows, weights, modes, rng)
    inside = [weight * _inside(window, now) for window, weight in zip(windows, weights, strict=True)]
    noise = noise_variance(residuals, [one.errors for one in said], inside, modes.ordered)
    model = LocalModel(modes, origin, unit, start, doubted, tuple(rounds), last, filling, noise)
    return model, [model.clean(window, trust) for window, trust in zip(windows, trusts, strict=True)]


def first_trust(window: Window, outliers: OutlierModel, doubted: float) -> Trust:
    """Trust before neighbours are asked: by the atoms of the values, or else by the size of residuals."""
    trust = outliers.first_trust.astype(np.float32)[window.cells]
    if not outliers.atoms.any() and doubted > 0:
        trust = trust / (1 + (window.residuals / np.float32(doubted)) ** 4)
    weights = np.where(window.observed, trust, np.float32(0))
    return Trust(weights, weights)


def _learn_round(
    windows: Sequence[Window],
    trusts: Sequence[Trust],
    modes: NeighbourModes,
    rng: np.random.Generator,
    known: tuple[float, OutlierModel],
) -> tuple[Round, list[Said]]:
    """A round by the trust of the one before, with a known share of the tail and known outliers."""
    stack, said = _learn_neighbours(windows, [trust.weights for trust in trusts], modes, rng)
    return Round(stack, _variance(trusts, [one.nearest for one in said]), *known), said


def _variance(trusts: Sequence[Trust], errors: Sequence[Array32]) -> float:
    """Mean square of trusted errors, the wide parts counted as if they were narrow."""
    squares = sum(float(np.sum(t.calm * e**2, dtype=np.float64)) for t, e in zip(trusts, errors, strict=True))
    total = sum(float(np.sum(trust.weights, dtype=np.float64)) for trust in trusts)
    return squares / max(total, 1.0)


def _learn_neighbours(
    windows: Sequence[Window], weights: Sequence[Array32], modes: NeighbourModes, rng: np.random.Generator
) -> tuple[Stack, list[Said]]:
    """The stack of neighbours' predictions, learned at trusted entries, and what it says."""
    everything = [
        neighbour_predictions(window.residuals, weight, modes, NEIGHBOUR_LEVELS)
        for window, weight in zip(windows, weights, strict=True)
    ]
    share = _TRAINING_ENTRIES / len(windows)
    stack = fit_stack(
        Training.of(said.columns, said.density, window.residuals, weight, _draw(weight > TRUSTED, share, rng))
        for said, window, weight in zip(everything, windows, weights, strict=True)
    )
    pairs = zip(windows, everything, strict=True)
    return stack, [Said.combined(window, predictions, modes, stack) for window, predictions in pairs]


def _learn_filling(
    windows: Sequence[Window], weights: Sequence[Array32], modes: NeighbourModes, rng: np.random.Generator
) -> Filling:
    """Learn at entries that the ring has not seen, or else at some that it has."""
    trusted = [weight > TRUSTED for weight in weights]
    hidden = [known & window.unseen for known, window in zip(trusted, windows, strict=True)]
    honest = sum(int(np.count_nonzero(away)) for away in hidden) >= _LEAST_UNSEEN
    if not honest:
        hidden = [known & (rng.random(known.shape, np.float32) < _HIDDEN) for known in trusted]
    return learn_filling(windows, trusted, hidden, modes, smooths_ring=honest)


def _draw(allowed: NDArray[np.bool_], number: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """About this number of the allowed entries, or all."""
    chosen = np.flatnonzero(allowed)
    if chosen.size <= number:
        return chosen
    return np.asarray(chosen[rng.integers(0, chosen.size, int(number))])


def _wrong(windows: Sequence[Window], trusts: Sequence[Trust], outliers: OutlierModel) -> NDArray[np.float64]:
    """Share of all observed entries that are judged wrong, by cell."""
    cells = outliers.masses.size
    wrong, total = np.zeros(cells), 0
    for window, trust in zip(windows, trusts, strict=True):
        wrong += np.bincount(window.cells[window.observed], 1.0 - trust.weights[window.observed], cells)
        total += int(np.count_nonzero(window.observed))
    return wrong / max(total, 1)


def _inside(window: Window, outliers: OutlierModel) -> NDArray[np.bool_]:
    """Entries that are not at an end of the range."""
    return (window.cells > 0) & (window.cells < outliers.masses.size - 1)


def _observed_values(sample: Sequence[Entries]) -> NDArray[Any]:
    return np.concatenate(
        [entries.values.ravel() if entries.observed is None else entries.values[entries.observed] for entries in sample]
    )


def _range(sample: Sequence[Entries]) -> tuple[float, float]:
    """Origin and unit: most of the ring's values lie between 0 and 1."""
    low, high = np.quantile(np.concatenate([entries.ring.ravel() for entries in sample]), [0.005, 0.995])
    return float(low), float(high - low) or max(abs(float(high)), 1.0)


def _spread(windows: Sequence[Window], outliers: OutlierModel) -> float:
    """Robust standard deviation of residuals whose values are not known as wrong."""
    trust = outliers.first_trust
    sizes = [np.abs(window.residuals[window.observed & (trust[window.cells] > TRUSTED)]) for window in windows]
    together = np.concatenate(sizes)
    return 1.4826 * float(np.median(together)) if together.size else 0.0
