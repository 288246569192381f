"""Validation: models are compared by their residuals at held-out entries, some of which may be wrong."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, log, log10, nan, prod, sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.chain import Core
from ringlet.ring.evaluate import dense_block
from ringlet.robust.background import background
from ringlet.solvers.base import Problem, first_look
from ringlet.solvers.rank_choice import RankChoice
from ringlet.solvers.tuning.holdout import HoldoutMask, choose_mask, hide
from ringlet.solvers.tuning.hole_guides import guide_holes
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.sources import Block, Source

__all__ = ["HeldOut", "Validator", "Verdict", "hold_out"]

Array64: TypeAlias = NDArray[np.float64]
Weights: TypeAlias = Callable[[Block], NDArray[Any]]  # the weight of every entry of a block

_WIDTH = 5.0  # of the validating kernel, in deviations of the residuals
_WIDEST = 0.3  # and at most this part of the data's range: entries with such residuals are wrong
_FARTHEST = 1.0  # the same of entries that were judged right
_FARTHEST_VALUE = 1e12  # data ranges, times their level: values beyond count as this, so that no square overflows
_PRECISION = 1e-5  # of the data's range: smaller differences do not count,
_ROUNDING = {4: 1e-5, 8: 1e-13}  # nor those below this part of their level, by bytes of the working precision
_DECIBEL = 10 / log(10)  # in the logarithm of a power
_NORMAL = 1.4826  # deviations in the median size of normal residuals
_TRUSTED = 0.5  # probability of being right from which an entry counts
_LEAST_TRUSTED = 0.2  # of the held-out entries: if fewer are right, the judgement is useless
_FEWEST_DOUBTED = 30  # held-out entries that are doubted: fewer do not represent the others
_FAR, _ROUNDS = 3.0, 6  # deviations beyond which the median leaves residuals out, and rounds to find them


@dataclass(frozen=True)
class Verdict:
    """A comparison of a new model with an old one at the held-out entries.

    Attributes
    ----------
    gain : float
        Decibels by which the mean square of the residuals is smaller, over entries to which either model comes near.
    certainty : float
        The difference of the two losses in units of its standard error; above 0: the new model is better.
    doubt : float
        Standard error of the gain, in decibels.
    """

    gain: float
    certainty: float
    doubt: float


@dataclass(frozen=True)
class Probe:
    """Held-out entries of one subtensor.

    Attributes
    ----------
    index : tuple of arrays
        Of the subtensor.
    places : array of int
        Places of the entries in it.
    values : array
        In data ranges.
    together : array of bool
        Which are held out together with others.
    cells : array of int
        Those that are together have the same number.
    """

    index: tuple[NDArray[np.intp], ...]
    places: NDArray[np.intp]
    values: Array64
    together: NDArray[np.bool_]
    cells: NDArray[np.intp]


class Validator:
    """Compares models by their residuals at held-out entries, of which up to half may be wrong.

    Parameters
    ----------
    probes : sequence of Probe
    precision : float
        Smaller differences of residuals do not count.
    missing : float
        Share of the data that is missing: entries held out together represent these, single ones the others.
    weights : array, optional
        Probability of being right for every held-out entry; without it a robust kernel leaves wrong ones out.
    most : float
        Residual, in data ranges, beyond which an entry that is right counts no more.
    seen : Validator or None
        Samples of entries that are not held out: they choose nothing, but help to estimate the quality of all entries.
    """

    def __init__(
        self,
        probes: Sequence[Probe],
        *,
        precision: float = 1e-12,
        missing: float = 0.0,
        weights: Array64 | None = None,
        most: float = 1.0,
        seen: "Validator | None" = None,
    ) -> None:
        self._seen = seen
        self._probes, self._precision, self._missing, self._weights = probes, precision, missing, weights
        self._most = most
        together = np.concatenate([probe.together for probe in probes])
        self.size, counts = len(together), (np.count_nonzero(together), np.count_nonzero(~together))
        # How much each entry counts: those held out together as the missing ones, the others as the rest; 1 in all.
        self._shares: Array64 = np.full(self.size, 1.0 / max(self.size, 1))
        if min(counts) > 0:
            self._shares = np.where(together, missing / counts[0], (1.0 - missing) / counts[1])
        cells = [np.unique(probe.cells, return_inverse=True)[1] for probe in probes]
        before = np.cumsum([0, *(len(probe.cells) for probe in probes[:-1])])
        self._cells = np.concatenate([own + first for own, first in zip(cells, before, strict=True)])
        values = np.concatenate([probe.values for probe in probes])
        flat = background(values) if values.size else None
        self._varied = values != flat  # a background that every model finds says nothing about large residuals
        right = values if weights is None else values[weights > 0]
        self._peak = float(np.ptp(right)) if weights is not None and np.ptp(right) > 0 else 1.0  # in data ranges

    @classmethod
    def of(cls, source: Source, observed: int, seed: int, *, together: bool = True) -> tuple["Validator", HoldoutMask]:
        """Choose the entries to hold out, as `choose_mask` does, and look them up."""
        mask, blocks = choose_mask(source, observed, seed, together=together)
        missing = 1.0 - observed / prod(source.shape)
        held, others = zip(*(_probes(source, mask, block) for block in blocks), strict=True)
        return cls(held, missing=missing, seen=cls(others)), mask

    def scaled(self, data_range: float, level: float, dtype: np.dtype[Any]) -> "Validator":
        """The validator of models of the data divided by `data_range`, which then lie `level` from zero, at least 1.

        `dtype` is that of the models: differences below its rounding do not count.
        """
        far = _FARTHEST_VALUE * level
        probes = [replace(probe, values=np.clip(probe.values / data_range, -far, far)) for probe in self._probes]
        precision = max(_PRECISION, _ROUNDING[dtype.itemsize] * level)
        seen = None if self._seen is None else self._seen.scaled(data_range, level, dtype)
        return Validator(probes, precision=precision, missing=self._missing, seen=seen)

    def judged(self, weights: Weights, *, sure: bool = True) -> "Validator":
        """The validator that trusts held-out entries by these weights.

        If the weights are not `sure`, some entries may be wrong, and none counts much.
        """
        known = self._at_probes(weights)
        known[known < _TRUSTED] = 0.0  # even a small part of a gross error would outweigh all others
        usable = known if known.sum() > _LEAST_TRUSTED * known.size else None
        most = _FARTHEST if sure else _WIDEST
        return Validator(
            self._probes,
            precision=self._precision,
            missing=self._missing,
            weights=usable,
            most=most,
            seen=None if self._seen is None else self._seen.judged(weights, sure=sure),
        )

    def _at_probes(self, weights: Weights) -> Array64:
        """The weights of the held-out entries."""
        found = [weights(probe.index).ravel()[probe.places] for probe in self._probes]
        return np.concatenate(found).astype(np.float64)

    def residuals(self, cores: Sequence[Core]) -> Array64:
        """Values less the model's, in data ranges."""
        found = []
        for probe in self._probes:
            parts = [core[:, chosen, :] for core, chosen in zip(cores, probe.index, strict=True)]
            model = dense_block(parts).ravel()[probe.places]
            found.append(probe.values - model)
        return np.concatenate(found)

    def compare(self, new: Array64, old: Array64) -> Verdict:
        """Compare the residuals of two models, at entries that are right, or under a kernel that fits the old ones."""
        if not self.size:  # too little data to hold any out
            return Verdict(0.0, 0.0, 0.0)
        if self._weights is not None:
            return self._compare_right(new, old, self._shares * self._weights)
        width = self._width(old)
        before, after = (np.exp(-0.5 * (residuals / width) ** 2) for residuals in (old, new))
        certainty, deviation = self._mean_gain(after - before, self._shares)
        near = self._shares * np.maximum(before, after)
        gain = 20 * log10(self._weighted_size(old, near) / self._weighted_size(new, near))
        lost = float(self._shares @ (before * (1 - before))) + 0.5 * (self._precision / width) ** 2
        doubt = _DECIBEL * deviation / lost
        return Verdict(gain, certainty, doubt)

    def _compare_right(self, new: Array64, old: Array64, weights: Array64) -> Verdict:
        """Compare mean squares; entries count by these weights."""
        before, after = (np.minimum(residuals**2, self._most**2) for residuals in (old, new))
        weights = weights / max(float(weights.sum()), 1e-300)
        certainty, deviation = self._mean_gain(before - after, weights)
        least = self._precision**2
        sizes = [float(weights @ squares) + least for squares in (before, after)]
        return Verdict(10 * log10(sizes[0] / sizes[1]), certainty, _DECIBEL * deviation / sizes[0])

    def certainty_with_doubted(self, new: Array64, old: Array64, weights: Weights) -> float:
        """Standard errors by which a new model is better, if doubted entries, those with little weight, count too.

        Mean squares are compared with a small and a large limit for what one entry counts, and both have to agree. With
        the small one a model gains little by following errors. With the large one it gains by coming nearer to right
        entries. The mean change of the model at trusted entries does not count at doubted ones. With too few doubted
        entries the answer is minus infinity.
        """
        known = self._at_probes(weights)
        believed = known >= _TRUSTED
        if np.count_nonzero((known > 0) & ~believed) < _FEWEST_DOUBTED:
            return -inf
        moved = float(np.mean((old - new)[believed])) if believed.any() else 0.0
        both = old, np.where(believed, new, new + moved)
        shares = self._shares * (known > 0)
        shares /= max(float(shares.sum()), 1e-300)
        found = []
        for most in (_WIDEST, _FARTHEST):
            before, after = (np.minimum(residuals**2, most**2) for residuals in both)
            found.append(self._mean_gain(before - after, shares)[0])
        return min(found)

    def _mean_gain(self, gains: Array64, weights: Array64) -> tuple[float, float]:
        """The mean gain of the entries, in standard errors, and its standard error."""
        mean = float(weights @ gains)
        deviation = sqrt(float(np.sum(np.bincount(self._cells, weights * (gains - mean)) ** 2)))
        return mean / deviation if deviation else 0.0, deviation

    def psnr(self, cores: Sequence[Core], choice: RankChoice) -> float:
        """Of all entries, or of those that are trusted, as the choice of a target says; NaN if none are held out.

        Held-out entries represent the missing ones, and a sample of the others the observed ones. The peak is the
        range of the entries that are judged right; before any is judged, that of the data.
        """
        if not self.size or self._seen is None:
            return nan
        held, seen = (
            one.error(residuals) if choice.trusted else one.plain_error(residuals)
            for one, residuals in ((one, one.residuals(cores)) for one in (self, self._seen))
        )
        error = sqrt(self._missing * held**2 + (1.0 - self._missing) * seen**2)
        return inf if error == 0.0 else 20 * log10(self._peak / error)

    def error(self, residuals: Array64) -> float:
        """Root mean square of the residuals at entries that are right, in data ranges."""
        if not self.size:
            return nan
        if self._weights is not None:
            return self._weighted_size(residuals, self._shares * self._weights)
        near = np.exp(-0.5 * (residuals / self._width(residuals)) ** 2)
        return self._weighted_size(residuals, self._shares * near if near.any() else self._shares)

    def plain_error(self, residuals: Array64) -> float:
        """Root mean square of all residuals, those of wrong entries included, in data ranges."""
        return sqrt(float(self._shares @ residuals**2)) if self.size else nan

    def _width(self, residuals: Array64) -> float:
        """`_WIDTH` deviations, by the median size of the residuals; those far off have small weights in it."""
        sizes = np.sort(np.abs(residuals[self._varied]))
        weights = np.ones_like(sizes)
        for _ in range(_ROUNDS):
            below = np.cumsum(weights)
            deviation = _NORMAL * float(sizes[np.searchsorted(below, below[-1] / 2)])
            weights = np.exp(-0.5 * (sizes / max(_FAR * deviation, 1e-12)) ** 2)
        return max(min(max(_WIDTH * deviation, 1e-12), _WIDEST), self._precision)

    def _weighted_size(self, residuals: Array64, weights: Array64) -> float:
        mean = float(weights @ residuals**2) / max(float(weights.sum()), 1e-300)
        return sqrt(mean + self._precision**2)


@dataclass(frozen=True)
class HeldOut:
    """A problem, and the same without a few entries.

    Attributes
    ----------
    whole : Problem
        With all entries, and with guides in large holes.
    seen : Problem
        Without those that are held out.
    validator : Validator
        Knows them.
    mask : HoldoutMask
        Says which they are.
    guided : bool
        Whether there are guides.
    """

    whole: Problem
    seen: Problem
    validator: Validator
    mask: HoldoutMask
    guided: bool = False


def hold_out(problem: Problem, policy: TuningPolicy, budget: int | None = None) -> HeldOut:
    """Choose entries to hold out, and make guides for large holes; `budget` limits the memory of both."""
    whole, observed = problem.source, problem.survey.observed
    validator, mask = Validator.of(whole, observed, problem.seed, together=policy.holds_out_together)
    seen = hide(whole, mask)
    if policy.hole_guides and observed < prod(whole.shape):
        whole = guide_holes(whole, seen, problem.seed, budget)
        seen = hide(whole, mask)
    survey = first_look(seen, problem.executor)
    guided = whole is not problem.source
    return HeldOut(
        replace(problem, source=whole), replace(problem, source=seen, survey=survey), validator, mask, guided
    )


def _probes(source: Source, mask: HoldoutMask, block: tuple[NDArray[np.intp], ...]) -> tuple[Probe, Probe]:
    """The held-out entries of a subtensor, and about as many of the others, evenly spaced."""
    values, observed = source.read(block)
    drawn = mask.drawn(block, range(len(block)))
    places = np.flatnonzero(drawn if observed is None else drawn & observed)
    others = np.flatnonzero(~drawn if observed is None else ~drawn & observed)
    others = others[:: max(1, len(others) // max(len(places), 1))]
    together = mask.drawn_together(block, range(len(block))).ravel()[places]
    first = [index * (mode not in mask.together) for mode, index in enumerate(np.unravel_index(places, drawn.shape))]
    cells = np.where(together, np.ravel_multi_index(first, drawn.shape), drawn.size + places)
    entries = values.ravel()
    return (
        Probe(block, places, entries[places].astype(np.float64), together, cells),
        Probe(block, others, entries[others].astype(np.float64), np.zeros(len(others), np.bool_), others),
    )
