"""Which entries are right: rounds of judging, learned in a sample of a tensor and applied to any part of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.local.judgement import (
    JUDGING_RADIUS,
    NEIGHBOUR_RADIUS,
    TRUSTED,
    Round,
    Trust,
    judge,
    prediction_errors,
    predictions,
)
from ringlet.local.layout import Tile, spread_tiles
from ringlet.local.local_scale import SliceScales
from ringlet.local.modes import NeighbourModes, find_modes
from ringlet.local.neighbours import Array32, Predictions
from ringlet.local.outlier_model import OutlierModel, outliers_of_values
from ringlet.local.plateaus import REACH, Structure, find_structure, first_trust, only_scattered
from ringlet.local.stacking import Stack, Training, fit_stack
from ringlet.local.window import Entries, Window
from ringlet.ring.arrays import Mapper

__all__ = [
    "JUDGING_HALO",
    "Judged",
    "JudgingModel",
    "judge_entries",
    "judge_sample",
    "learn_predictions",
    "round_of",
]

_ROUNDS = 7
JUDGING_HALO = _ROUNDS * JUDGING_RADIUS + REACH + 1  # entries around a block on which its judgement depends
_TRAINING_ENTRIES = 60_000  # for one stack
_TRAINING_TILES = 400_000  # least number of entries of the tiles that they are drawn from
_TRAINING_SHARE = 0.5  # least share of all entries in these tiles, whose predictions are held in memory
_COUNTED = 300_000  # entries in which wrong values are counted by cell
_SPREAD_ENTRIES = 1 << 17  # approximate number of entries for the spread of errors
_LARGEST = 1e6  # quantile of those: larger errors are doubted equally
_FIRST_WIDTH = 4.0  # robust standard deviations from which an error counts little in the first scale
_FIRST_TAIL = 0.2  # share of the tail of right residuals before the first round
_LEAST_TAIL, _MOST_TAIL = 0.02, 0.1  # later


@dataclass(frozen=True, eq=False)
class JudgingModel:
    """How entries are judged, learned in a sample.

    Attributes
    ----------
    modes : NeighbourModes
        Which modes were found ordered, and which related.
    origin, unit : float
        Units of the model: an entry of the data is ``origin + unit * x``.
    start : OutlierModel
        The model before the first round.
    doubted : float
        Size of an error that counts little in the scale of the first round.
    rounds : tuple of Round
    outliers : OutlierModel
        Share and distribution of wrong values, after all rounds.
    structure : Structure or None
        If given, doubted entries that lie side by side are right.
    """

    modes: NeighbourModes
    origin: float
    unit: float
    start: OutlierModel
    doubted: float
    rounds: tuple[Round, ...]
    outliers: OutlierModel
    structure: Structure | None

    def apply(self, entries: Entries, mapper: Mapper = map) -> Array32:
        """Probability that an entry of a block is right; 0 where nothing is observed.

        Entries nearer than `JUDGING_HALO` to its border may differ from those in a larger block. Needs about 35 bytes
        of memory for each entry, and 25 MB.
        """
        window = self.window(entries)
        return window.layout.restored(self.trust(window, mapper).weights)

    def window(self, entries: Entries) -> Window:
        """A block in the model's units."""
        return Window.of(entries, self.origin, self.unit, self.start, self.modes)

    def trust(self, window: Window, mapper: Mapper = map) -> Trust:
        """Judge a window."""
        trust = _first_trust(window, self.start)
        for number, this in enumerate(self.rounds):
            nearest = prediction_errors(window, trust, this.stack, nearest=True, mapper=mapper)
            if number == 0:
                trust = _calmed(trust, nearest, self.doubted)
            trust = judge(window, nearest, trust, this, mapper)
        return trust if self.structure is None else self.structure.believed(window, trust, self.outliers.atoms)


@dataclass(frozen=True, eq=False)
class Judged:
    """A sample after judging.

    Attributes
    ----------
    model : JudgingModel
    windows : list of Window
    trusts : list of Trust
    tail : float
        Share of each part of right residuals relative to the next narrower one.
    """

    model: JudgingModel
    windows: list[Window]
    trusts: list[Trust]
    tail: float

    @property
    def weights(self) -> list[Array32]:
        """Probability that an entry is right, in the layout of the data; 0 where nothing is observed."""
        pairs = zip(self.windows, self.trusts, strict=True)
        return [window.layout.restored(trust.weights) for window, trust in pairs]

    def without_windows(self) -> "Judged":
        """The parts that `beside` cannot read again: 8 bytes for every entry."""
        return replace(self, windows=[])

    def beside(self, sample: Sequence[Entries]) -> "Judged":
        """The same with the windows of a sample: the one that was judged."""
        return replace(self, windows=[self.model.window(entries) for entries in sample])


def judge_entries(
    sample: Sequence[Entries],
    outliers: OutlierModel | None = None,
    seed: int = 0,
    mapper: Mapper = map,
) -> tuple[JudgingModel, list[Array32]]:
    """Judge parts of a tensor; the learned model applies to other parts, too.

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

    Returns
    -------
    model : JudgingModel
    weights : list of float32 arrays
        Probability that an entry is right; 0 where nothing is observed.

    Notes
    -----
    Needs about 55 bytes of memory for each entry, input not counted, and 30 MB; 25 MB more for each thread but the
    first.

    Examples
    --------
    >>> truth = np.add.outer(np.arange(80.0), np.arange(90.0)) ** 2
    >>> damaged = truth.copy()
    >>> damaged[5::7, 3::5] = 0
    >>> model, (weights,) = judge_entries([Entries(damaged, None, ring=np.full_like(truth, truth.mean()))])
    >>> bool(np.mean(weights[5::7, 3::5] < 0.5) > 0.9), bool(np.mean(weights > 0.5) > 0.95)
    (True, True)
    """
    judged = judge_sample(sample, outliers, seed, mapper)
    return judged.model, judged.weights


def judge_sample(
    sample: Sequence[Entries],
    outliers: OutlierModel | None = None,
    seed: int = 0,
    mapper: Mapper = map,
) -> Judged:
    """The same as `judge_entries`, with all learned models."""
    rng = np.random.default_rng(seed)
    start = outliers or only_scattered(outliers_of_values(_observed_values(sample)), sample)
    origin, unit = _range(sample)
    as_read = [Window.of(entries, origin, unit, start, NeighbourModes((), ())) for entries in sample]
    modes = _find_modes(as_read, _first_trusts(as_read, start), rng)
    windows = [as_read.pop(0).arranged(modes) for _ in sample]
    trusts = _first_trusts(windows, start)
    counted = _Counted(windows, rng)
    now, tail, doubted = start, _FIRST_TAIL, 0.0
    rounds: list[Round] = []
    for _ in range(_ROUNDS):
        stack, errors = learn_predictions(windows, trusts, rng, judging=True, mapper=mapper)
        if not rounds:  # a scale that gross errors do not widen
            doubted = _FIRST_WIDTH * _spread(errors, trusts)
            trusts = [_calmed(trust, nearest, doubted) for trust, nearest in zip(trusts, errors, strict=True)]
        this = round_of(stack, windows, errors, trusts, tail, now)
        trusts = [
            judge(window, nearest, trust, this, mapper)
            for window, nearest, trust in zip(windows, errors, trusts, strict=True)
        ]
        rounds.append(this)
        tail = (tail + min(max(float(np.mean([trust.tail for trust in trusts])), _LEAST_TAIL), _MOST_TAIL)) / 2
        if outliers is None:
            now = now.learned_again(counted.wrong(trusts, now))
    structure = find_structure(windows, trusts, now.atoms)
    if structure is not None:
        trusts = [structure.believed(*pair, now.atoms) for pair in zip(windows, trusts, strict=True)]
    model = JudgingModel(modes, origin, unit, start, doubted, tuple(rounds), now, structure)
    return Judged(model, windows, trusts, tail)


def learn_predictions(
    windows: Sequence[Window], trusts: Sequence[Trust], rng: np.random.Generator, *, judging: bool, mapper: Mapper
) -> tuple[Stack, list[Array32]]:
    """The stack of neighbours' predictions, learned at trusted entries, and its errors as in `prediction_errors`.

    For `judging`, pairs that agree replace the stack, and entries that may be wrong count little in learning.
    """
    parts: list[Training] = []
    known: list[dict[Tile, Predictions]] = []
    for window, trust in zip(windows, trusts, strict=True):
        entries = max(_TRAINING_TILES / len(windows), _TRAINING_SHARE * window.ring.size)
        tiles = spread_tiles(window.layout.tiles(NEIGHBOUR_RADIUS), entries, rng)
        said = list(mapper(partial(predictions, window, trust.weights), tiles))
        known.append(dict(zip(tiles, said, strict=True)))
        total = len(windows) * sum(tile.size for tile in tiles)
        for tile, one in known[-1].items():
            weights = (trust.calm if judging else trust.weights)[tile.inner]
            chosen = _draw(trust.weights[tile.inner] > TRUSTED, _TRAINING_ENTRIES * tile.size / total, rng)
            parts.append(Training.of(one.columns, one.density, window.residuals[tile.inner], weights, chosen))
    stack = fit_stack(parts)
    return stack, [
        prediction_errors(window, trust, stack, nearest=judging, known=here, mapper=mapper)
        for window, trust, here in zip(windows, trusts, known, strict=True)
    ]


def round_of(
    stack: Stack,
    windows: Sequence[Window],
    errors: Sequence[Array32],
    trusts: Sequence[Trust],
    tail: float,
    outliers: OutlierModel,
) -> Round:
    """Measure the errors of a stack in a sample. Slices have scales of their own if it is one window."""
    scales, modes = SliceScales(), windows[0].layout.modes
    if len(windows) == 1:
        slices = [mode for mode in range(errors[0].ndim) if mode not in modes.ordered]
        scales = SliceScales.of(errors[0], trusts[0].weights, slices)
    squares = mass = 0.0
    for trust, error in zip(trusts, errors, strict=True):
        squares += float(np.sum(trust.calm * np.square(error / scales.over(error.shape)), dtype=np.float64))
        mass += float(trust.weights.sum(dtype=np.float64))
    return Round(stack, squares / max(mass, 1.0), scales, tail, outliers)


class _Counted:
    """Some observed entries of a sample, in which wrong values are counted by cell."""

    def __init__(self, windows: Sequence[Window], rng: np.random.Generator) -> None:
        self._places, self._cells = [], []
        for window in windows:
            places = _draw(window.observed, _COUNTED / len(windows), rng)
            self._places.append(places)
            self._cells.append(window.cells.ravel()[places])

    def wrong(self, trusts: Sequence[Trust], outliers: OutlierModel) -> NDArray[np.float64]:
        """Share of all observed entries that are judged wrong, by cell."""
        wrong = np.zeros(outliers.masses.size)
        for trust, places, cells in zip(trusts, self._places, self._cells, strict=True):
            wrong += np.bincount(cells, 1.0 - trust.weights.ravel()[places], wrong.size)
        return wrong / max(sum(places.size for places in self._places), 1)


def _draw(allowed: NDArray[np.bool_], number: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """Flat indices of about this number of allowed entries, or of all, in ascending order."""
    chosen = np.flatnonzero(allowed)
    if chosen.size <= number:
        return chosen
    return np.asarray(chosen[np.sort(rng.integers(0, chosen.size, ceil(number)))])


def _find_modes(windows: Sequence[Window], trusts: Sequence[Trust], rng: np.random.Generator) -> NeighbourModes:
    """Ordered and related modes; gross errors of the ring count little."""
    residuals = [window.residuals for window in windows]
    weights = [trust.calm for trust in trusts]
    known = [
        window.ring + weight * residual for window, weight, residual in zip(windows, weights, residuals, strict=True)
    ]
    return find_modes(known, residuals, weights, int(rng.integers(1 << 32)))


def _first_trusts(windows: Sequence[Window], outliers: OutlierModel) -> list[Trust]:
    """The first trust, in which the ring's gross errors count little in scales."""
    trusts, residuals = [_first_trust(window, outliers) for window in windows], [window.residuals for window in windows]
    doubted = _FIRST_WIDTH * _spread(residuals, trusts)
    return [_calmed(trust, residual, doubted) for trust, residual in zip(trusts, residuals, strict=True)]


def _first_trust(window: Window, outliers: OutlierModel) -> Trust:
    """Trust before neighbours are used, from the atoms of the values alone."""
    weights = first_trust(window, outliers)
    return Trust(weights, weights)


def _calmed(trust: Trust, errors: Array32, doubted: float) -> Trust:
    """The same trust, in which errors of a size that is doubted, and larger ones, count little in scales."""
    if not doubted > 0:
        return trust
    sizes = np.minimum(np.abs(errors), np.float32(_LARGEST * doubted))
    sizes /= np.float32(doubted)
    sizes *= sizes
    sizes *= sizes
    sizes += np.float32(1)
    return Trust(trust.weights, np.divide(trust.weights, sizes, out=sizes))


def _observed_values(sample: Sequence[Entries]) -> NDArray[Any]:
    return np.concatenate(
        [entries.values.ravel() if entries.observed is None else entries.values[entries.observed] for entries in sample]
    )


def _range(sample: Sequence[Entries]) -> tuple[float, float]:
    """Origin and unit: most of the ring's values lie between 0 and 1."""
    values = np.concatenate([entries.ring.ravel() for entries in sample])
    low, high = map(float, np.quantile(values, [0.005, 0.995]))
    return low, high - low or max(abs(high), 1.0)


def _spread(errors: Sequence[Array32], trusts: Sequence[Trust]) -> float:
    """Robust standard deviation of the errors of trusted entries."""
    step = 1 + sum(error.size for error in errors) // _SPREAD_ENTRIES
    together = np.concatenate(
        [np.abs(error[trust.weights > TRUSTED][::step]) for error, trust in zip(errors, trusts, strict=True)]
    )
    return 1.4826 * float(np.median(together)) if together.size else 0.0
