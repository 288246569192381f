"""Which indices to draw, and how many: random subtensors (RStS) and, for the paper's ablation, single rows.

Random streams are counter-based: a draw depends on the seed and on its purpose, never on what was drawn before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from math import log, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError
from ringlet.ring.chain import Core
from ringlet.ring.gram import inverse_cholesky
from ringlet.sources.base import Source
from ringlet.sources.memory import ArraySource

__all__ = [
    "Purpose",
    "SamplingRule",
    "draw_rows",
    "draw_subtensor",
    "leverage_distribution",
    "merge_rows",
    "sample_sizes",
    "stream",
    "subset",
]

Indices: TypeAlias = NDArray[np.intp]

_EPS = float(np.finfo(np.float64).eps)
_TABLE = 4  # times the rows drawn: up to this number of possible rows, a table merges repetitions


class Purpose(IntEnum):
    """What a random stream is for; part of its key, so the order is part of the reproducibility promise."""

    START = 0
    SAMPLE = 1
    PILOT = 2
    SURVEY = 3
    SKETCH = 4
    CHUNKS = 5
    EXTENSION = 7
    HOLD_OUT = 8
    GROWTH = 9
    COARSE = 10
    GUIDES = 11
    RESIDUALS = 12
    NEIGHBOURS = 13


def stream(seed: int, purpose: Purpose, sweep: int = 0, mode: int = 0) -> np.random.Generator:
    """Random generator for one purpose in one sweep and mode.

    Examples
    --------
    >>> a = stream(7, Purpose.SAMPLE, sweep=3, mode=1).random()
    >>> a == stream(7, Purpose.SAMPLE, sweep=3, mode=1).random()
    True
    """
    return np.random.Generator(np.random.Philox(np.random.SeedSequence((seed, purpose, sweep, mode))))


@dataclass(frozen=True)
class SamplingRule:
    """How many columns of the unfolding a core update uses, and how they are drawn.

    Attributes
    ----------
    samples : int or None
        Columns of the unfolding, the paper's J; None: all.
    method : {"subtensor", "uniform-subtensor", "uniform-rows", "leverage-rows"}
    """

    samples: int | None = None
    method: str = "subtensor"

    @property
    def by_rows(self) -> bool:
        """Columns are drawn one by one, not as a subtensor."""
        return self.method.endswith("rows")

    @property
    def by_leverage(self) -> bool:
        """Rows are drawn by leverage scores."""
        return self.method == "leverage-rows"

    @property
    def uniform(self) -> bool:
        """Subtensors are drawn without regard to chunks."""
        return self.method == "uniform-subtensor"

    def check(self, source: Source, *, on_cluster: bool) -> None:
        """Refuse single rows of data that are not in memory here."""
        if self.by_rows and not isinstance(source, ArraySource):
            raise ArgumentError(f"sampling={self.method!r} needs data in memory; use sampling='subtensor'")
        if self.by_rows and on_cluster:
            raise ArgumentError(f"sampling={self.method!r} cannot use an executor; use sampling='subtensor'")


@lru_cache(maxsize=256)  # the same sizes come back in every core update
def sample_sizes(shape: tuple[int, ...], samples: int) -> tuple[int, ...]:
    """Sizes of a subtensor of about `samples` entries, spread over the modes by water-filling.

    Small modes are taken whole and the others get equal counts, so that the product comes as close to `samples` as
    whole numbers allow. A mode never gives more indices than it has, nor less than one.

    Examples
    --------
    >>> sample_sizes((1080, 3, 50), 40_000)
    (267, 3, 50)
    >>> sample_sizes((10, 3), 1_000_000)
    (10, 3)
    """
    sizes = [1] * len(shape)
    remaining = float(samples)
    by_size = sorted(range(len(shape)), key=lambda mode: shape[mode])
    for filled, mode in enumerate(by_size):  # raise the water level, the smallest modes fill up first
        level = max(remaining, 1.0) ** (1.0 / (len(shape) - filled))
        sizes[mode] = min(shape[mode], int(level))
        if sizes[mode] < shape[mode]:
            for other in by_size[filled:]:
                sizes[other] = max(1, int(level))
            break
        remaining /= sizes[mode]
    for mode in by_size:  # whole numbers were rounded down: grow while that brings the product closer
        larger = sizes[mode] + 1
        grown = prod(sizes) // sizes[mode] * larger
        if larger <= shape[mode] and abs(log(grown / samples)) < abs(log(prod(sizes) / samples)):
            sizes[mode] = larger
    return tuple(sizes)


def draw_subtensor(
    shape: Sequence[int], samples: int, rng: np.random.Generator, whole: int | None = None
) -> tuple[Indices, ...]:
    """Sorted indices, drawn without replacement, of a random subtensor of about `samples` entries.

    Parameters
    ----------
    shape : sequence of int
    samples : int
    rng : numpy Generator
    whole : int, optional
        A mode that is taken whole and does not count towards `samples`.
    """
    others = [mode for mode in range(len(shape)) if mode != whole]
    sizes = dict(zip(others, sample_sizes(tuple([shape[mode] for mode in others]), samples), strict=True))
    return tuple(subset(length, sizes.get(mode, length), rng) for mode, length in enumerate(shape))


def subset(length: int, size: int, rng: np.random.Generator) -> Indices:
    """`size` of the indices below `length`, sorted; taking all of them needs no random numbers."""
    if size >= length:
        return np.arange(length)
    drawn = rng.choice(length, size, replace=False, shuffle=False)
    drawn.sort()
    return drawn


def draw_rows(
    distributions: Sequence[NDArray[np.float64]], samples: int, rng: np.random.Generator
) -> tuple[tuple[Indices, ...], NDArray[np.float64]]:
    """Draw rows of the subchain unfolding, one index a mode, with replacement.

    Parameters
    ----------
    distributions : sequence of arrays
        One probability vector a mode; a row's probability is the product of its indices'.
    samples : int
    rng : numpy Generator

    Returns
    -------
    indices : tuple of arrays of length `samples`, one a mode
    weights : array of length `samples`
        ``1 / (samples * probability)``, the factor that makes sums over the sample unbiased.
    """
    indices, weights = [], np.full(samples, 1.0 / samples)
    for place, q in enumerate(distributions):
        drawn = np.arange(len(q)).repeat(rng.multinomial(samples, q))  # how often each, then in which order:
        if place > 0:  # as if drawn one by one, but faster
            rng.shuffle(drawn)
        weights /= q.take(drawn)
        indices.append(drawn)
    return tuple(indices), weights


def leverage_distribution(core: Core) -> NDArray[np.float64]:
    """Leverage scores of the slices of one core, normalised to sum to one.

    They are uniform when the core has at least as many columns ``r_k r_{k+1}`` as slices.
    """
    a, slices, b = core.shape
    unfolded: NDArray[Any] = core.transpose(1, 0, 2).reshape(slices, a * b).astype(np.float64)
    # l_i = a_i (A^T A + delta I)^-1 a_i^T, through the smaller Gram matrix; delta is at the level of rounding errors,
    # so zero directions do not count.
    wide = slices <= a * b
    gram = unfolded @ unfolded.T if wide else unfolded.T @ unfolded
    delta = max(unfolded.shape) * _EPS * float(np.vdot(unfolded, unfolded))
    if delta == 0.0:
        return np.full(slices, 1.0 / slices)
    gram.reshape(-1)[:: len(gram) + 1] += delta
    root = inverse_cholesky(gram)
    if wide:
        scores = np.maximum(1.0 - delta * np.square(root).sum(axis=0), 0.0)
    else:
        scores = np.square(unfolded @ root.T).sum(axis=1)
    return np.asarray(scores / scores.sum())


def merge_rows(
    rows: tuple[Indices, ...], weights: NDArray[np.float64], shape: Sequence[int]
) -> tuple[tuple[Indices, ...], NDArray[np.float64]]:
    """Distinct rows, each with the sum of the weights of its repetitions.

    Parameters
    ----------
    rows : tuple of arrays
        One index a mode for every row.
    weights : array
        One a row.
    shape : sequence of int
        Sizes of these modes.

    Examples
    --------
    >>> rows, weights = merge_rows((np.array([1, 0, 1]),), np.ones(3), (2,))
    >>> rows[0].tolist(), weights.tolist()
    ([0, 1], [1.0, 2.0])
    """
    places = np.ravel_multi_index(rows, tuple(shape))
    if prod(shape) <= _TABLE * len(places):  # a table of all rows is faster than sorting
        sums = np.asarray(np.bincount(places, weights), np.float64)
        (distinct,) = sums.nonzero()
        return np.unravel_index(distinct, tuple(shape)), sums[distinct]
    distinct, where = np.unique(places, return_inverse=True)
    return np.unravel_index(distinct, tuple(shape)), np.asarray(np.bincount(where, weights), np.float64)
