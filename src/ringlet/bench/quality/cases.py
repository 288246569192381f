"""Damage of the data: shares of hidden and of corrupted entries."""

from dataclasses import dataclass, replace
from fnmatch import fnmatch
from hashlib import sha256
from typing import Literal, Protocol, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ringlet.bench.quality.samples import Sample, Truth
from ringlet.errors import ArgumentError
from ringlet.experiments.noise import OUTLIERS, Noise, TrialSeed, add_noise, generator, observed_entries
from ringlet.report.metrics import psnr

__all__ = [
    "HALVES",
    "Damaged",
    "Missing",
    "QualityCase",
    "cases_of",
    "chosen_cases",
    "half_of",
    "rival_cases",
    "with_seeds",
]

HALVES = ("tuned", "other")

Missing = Literal["entries", "pixels", "blocks"]

_MISSING = (0, 30, 70, 90)  # percent
_RUINED = (0, 20, 40)
_PAPERS = 70  # missing in the paper's completion experiments
_RIVALS_MISSING = (0, 50, 70, 90)
_RIVALS_NOISES: tuple[tuple[Noise, int], ...] = (("salt-and-pepper", 20), ("random-valued", 10), ("gmm", 20))
_RIVALS_HOLES: tuple[tuple["Missing", int], ...] = (("pixels", 70), ("blocks", 20))
_RIVALS_RUINED = (0, 10)
_BLOCK = 8  # pixels of a hole's side
_HOLES: dict["Missing", str] = {"entries": "m", "pixels": "p", "blocks": "b"}  # in names, before the percentage
_LETTERS: dict[Noise, str] = {"salt-and-pepper": "o", "random-valued": "r"}  # in names, before the percentage


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Case = TypeVar("_Case", bound=_Named)


@dataclass(frozen=True, eq=False)
class Damaged:
    """A tensor with gaps and outliers, and its truth.

    Attributes
    ----------
    data : array of float32
        NaN where an entry is missing.
    truth : Truth
    """

    data: NDArray[np.float32]
    truth: Truth

    def score(self, estimate: NDArray[np.floating]) -> float:
        """PSNR in dB over all entries with a truth, hidden, corrupted and untouched ones alike; nothing is clipped."""
        truth, known = self.truth.values, self.truth.known
        if known is not None:
            estimate, truth = estimate[known], truth[known]
        return psnr(estimate, truth, self.truth.high - self.truth.low)


@dataclass(frozen=True)
class QualityCase:
    """A sample with a share of its known entries hidden, and a share of the others corrupted.

    Attributes
    ----------
    sample : Sample
    missing, ruined : int
        In percent.
    noise : {"gmm", "salt-and-pepper", "random-valued"}
        Salt and pepper are the smallest and the largest known value; random values lie between them. "gmm" is the
        paper's mixture, in units of the data's range.
    seed : int
        Of the damage, from 1; the fit's is one less.
    holes : {"entries", "pixels", "blocks"}
        What is missing: single entries; pixels, with all that the third mode has there; or blocks of 8 x 8 pixels, with
        all that the other modes have there.
    """

    sample: Sample
    missing: int
    ruined: int
    noise: Noise = "salt-and-pepper"
    seed: int = 1
    holes: Missing = "entries"

    @property
    def name(self) -> str:
        """Name on the command line and in records: ``photos/rose-m70-o20``, ``photos/rose-b20-gmm-s2``."""
        return self.kind_of_damage if self.seed == 1 else f"{self.kind_of_damage}-s{self.seed}"

    @property
    def kind_of_damage(self) -> str:
        """The name without the seed."""
        damage = "gmm" if self.noise == "gmm" else f"{_LETTERS[self.noise]}{self.ruined}"
        return f"{self.sample.name}-{_HOLES[self.holes]}{self.missing}-{damage}"

    @property
    def like_the_papers(self) -> bool:
        """30 % of the entries observed, 20 % of these corrupted, or mixture noise."""
        return self.holes == "entries" and self.missing == _PAPERS and self.ruined == round(100 * OUTLIERS)

    def damaged(self) -> Damaged:
        """The data as the methods see them; always the same."""
        truth = self.sample.truth()
        span = truth.high - truth.low or 1.0
        data = (truth.values - np.float32(truth.low)) / np.float32(span)
        observed = self._observed(data.shape)
        if truth.known is not None:
            observed &= truth.known
            data[~truth.known] = 0  # values there are arbitrary
        noise = generator(self.kind_of_damage, self.seed, TrialSeed.NOISE)
        add_noise(data, self.noise, noise, observed, outliers=self.ruined / 100)
        data *= np.float32(span)
        data += np.float32(truth.low)
        data[~observed] = np.nan
        return Damaged(data, truth)

    def _observed(self, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        share, random = 1 - self.missing / 100, generator(self.kind_of_damage, self.seed, TrialSeed.MASK)
        if self.holes == "entries":
            return observed_entries(shape, share, random)
        if self.holes == "pixels":
            drawn = observed_entries((*shape[:2], *(1 for _ in shape[2:3]), *shape[3:]), share, random)
        else:
            blocks = observed_entries(tuple(-(-length // _BLOCK) for length in shape[:2]), share, random)
            whole = np.kron(blocks, np.ones((_BLOCK, _BLOCK), bool))[: shape[0], : shape[1]]
            drawn = whole.reshape(*shape[:2], *(1 for _ in shape[2:]))
        return np.broadcast_to(drawn, shape).copy()


def cases_of(samples: list[Sample]) -> list[QualityCase]:
    """All cases of all samples, in a random order that is always the same: any part of it is a fair sample."""
    damage: list[tuple[Missing, int, int, Noise]] = [
        ("entries", missing, ruined, "salt-and-pepper") for missing in _MISSING for ruined in _RUINED
    ]
    outliers = round(100 * OUTLIERS)
    damage += [("entries", _PAPERS, outliers, "gmm")]
    damage += [("pixels", 70, outliers, "salt-and-pepper"), ("blocks", 20, outliers, "salt-and-pepper")]
    return _shuffled(
        [
            QualityCase(sample, missing, ruined, noise, holes=holes)
            for sample in samples
            for holes, missing, ruined, noise in damage
        ]
    )


def rival_cases(samples: list[Sample]) -> list[QualityCase]:
    """Cases of the comparison with rivals: complete, 50, 30 and 10 % observed, with three kinds of noise.

    Of photos and videos also a fifth missing in blocks, and 70 % of the pixels, without and with salt and pepper.
    """
    single = [
        QualityCase(sample, missing, ruined, noise)
        for sample in samples
        for missing in _RIVALS_MISSING
        for noise, ruined in _RIVALS_NOISES
    ]
    together = [
        QualityCase(sample, missing, ruined, holes=holes)
        for sample in samples
        if sample.kind != "tensor"
        for holes, missing in _RIVALS_HOLES
        for ruined in _RIVALS_RUINED
    ]
    return _shuffled(single + together)


def with_seeds(cases: list[QualityCase], seeds: int) -> list[QualityCase]:
    """Every case with that many draws, one after another: a run that ends early has all of most cases."""
    return [replace(case, seed=seed) for case in cases for seed in range(1, seeds + 1)]


def half_of(kind_of_damage: str) -> str:
    """Whether settings may be tuned on a case: "tuned" or "other", by a hash of its name; all seeds together.

    Examples
    --------
    >>> half_of("full/coffee-m70-o20")
    'tuned'
    """
    return HALVES[sha256(kind_of_damage.encode()).digest()[0] & 1]


def chosen_cases(cases: list[_Case], patterns: tuple[str, ...]) -> list[_Case]:
    """Those whose names match one of the patterns (``*-m70-*``); all without any."""
    for pattern in patterns:
        if not any(fnmatch(case.name, pattern) for case in cases):
            raise ArgumentError(f"--cases {pattern!r} matches none of the cases; one of them is {cases[0].name!r}")
    return [case for case in cases if not patterns or any(fnmatch(case.name, pattern) for pattern in patterns)]


def _shuffled(cases: list[QualityCase]) -> list[QualityCase]:
    return sorted(cases, key=lambda case: crc32(case.name.encode()))
