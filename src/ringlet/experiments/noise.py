"""Noise and masks of the paper's experiments: exact counts, single entries, the same for the same item and run.

Tensors are damaged in place and a block at a time: for a video in full HD, temporaries of its size would not fit into
memory.
"""

from collections.abc import Iterator
from enum import IntEnum
from math import floor, sqrt
from typing import Literal, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "NOISES",
    "OUTLIERS",
    "Noise",
    "TrialSeed",
    "add_noise",
    "generator",
    "hypergeometric",
    "noise_of",
    "observed_entries",
]

Noise = Literal["gmm", "salt-and-pepper", "random-valued"]
NOISES: dict[str, str] = {  # for people
    "gmm": "Gaussian mixture",
    "salt-and-pepper": "salt and pepper",
    "random-valued": "random values",
}

Chosen: TypeAlias = tuple[slice, NDArray[np.intp]]  # a block of entries, and the positions chosen in it

OUTLIERS = 0.2  # share of the observed entries that noise corrupts
_VARIANCES = 1e-3, 0.5  # of the mixture's two components: grain, outliers
_BLOCK_ENTRIES = 1 << 20
_LARGEST = 10**9  # what NumPy's hypergeometric distribution takes of either kind


class TrialSeed(IntEnum):
    """What random numbers of a trial are for; part of their seed, so that masks and noise are independent."""

    MASK = 0
    NOISE = 1
    FIT = 2


def generator(item: str, run: int, seed_for: TrialSeed) -> np.random.Generator:
    """Random numbers of one item in one run; they depend on nothing else, so that all methods see the same data.

    Examples
    --------
    >>> first, second = (generator("flamingo", run, TrialSeed.NOISE).random() for run in (1, 2))
    >>> first == generator("flamingo", 1, TrialSeed.NOISE).random(), first == second
    (True, False)
    """
    return np.random.default_rng(np.random.SeedSequence((crc32(item.encode()), run, seed_for)))


def noise_of(position: int, items: int) -> Noise:
    """The first half of the items gets the mixture, the second half salt and pepper.

    Examples
    --------
    >>> [noise_of(position, 4) for position in range(4)]
    ['gmm', 'gmm', 'salt-and-pepper', 'salt-and-pepper']
    """
    return "gmm" if position < (items + 1) // 2 else "salt-and-pepper"


def observed_entries(shape: tuple[int, ...], share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose this share of all entries uniformly, with an exact count.

    Examples
    --------
    >>> int(observed_entries((10, 20), 0.3, np.random.default_rng(0)).sum())
    60
    """
    mask = np.zeros(shape, bool)
    flat = mask.reshape(-1)
    for _, chosen in _chosen(flat.size, None, round(share * flat.size), rng, _BLOCK_ENTRIES):
        flat[chosen] = True
    return mask


def add_noise(
    tensor: NDArray[np.float32],
    noise: Noise,
    rng: np.random.Generator,
    observed: NDArray[np.bool_] | None = None,
    *,
    outliers: float = OUTLIERS,
    variances: tuple[float, float] = _VARIANCES,
    block_entries: int = _BLOCK_ENTRIES,
) -> None:
    """Damage the observed entries of a tensor with values from 0 to 1, in place; nothing is clipped.

    Parameters
    ----------
    tensor : array, C order
        Changed. Entries that are not observed become 0.
    noise : {"gmm", "salt-and-pepper", "random-valued"}
        "gmm" adds 0.8 N(0, 1e-3) + 0.2 N(0, 0.5), by variance; "salt-and-pepper" sets 20 % of the entries to 0 or 1,
        half of them each; "random-valued" sets them to any value from 0 to 1. The counts are exact: ``floor(0.2 n)`` of
        n observed entries.
    rng : Generator
    observed : bool array, optional
        By default all entries are.
    outliers : float
        Another share than these 20 %.
    variances : tuple of two floats
        Other variances of "gmm" than these two.
    block_entries : int
        Entries that are damaged together.

    Examples
    --------
    >>> x = np.full((100, 10), 0.5, np.float32)
    >>> add_noise(x, "salt-and-pepper", np.random.default_rng(0))
    >>> int((x == 0).sum()), int((x == 1).sum())
    (100, 100)
    """
    flat = tensor.reshape(-1)
    mask = None if observed is None else observed.reshape(-1)
    if mask is not None:
        np.multiply(flat, mask, out=flat)
    count = floor(outliers * (flat.size if mask is None else np.count_nonzero(mask)))
    wrong = _chosen(flat.size, mask, count, rng, block_entries)
    if noise == "salt-and-pepper":
        _salt_and_pepper(flat, wrong, count, rng)
    elif noise == "random-valued":
        for _, chosen in wrong:
            flat[chosen] = rng.random(chosen.size, np.float32)
    else:
        _mixture(flat, mask, wrong, variances, rng)


def hypergeometric(good: int, bad: int, draws: int, rng: np.random.Generator, *, largest: int = _LARGEST) -> int:
    """Number of good entries in a number of draws without replacement.

    Parameters
    ----------
    good, bad, draws : int
    rng : Generator
    largest : int
        From this number on, of either kind, entries are drawn one by one: NumPy's distribution ends there.

    Examples
    --------
    >>> hypergeometric(5, 0, 3, np.random.default_rng(0))
    3
    """
    if not draws:
        return 0
    if max(good, bad) < largest:
        return int(rng.hypergeometric(good, bad, draws))
    return int(np.count_nonzero(rng.choice(good + bad, draws, replace=False, shuffle=False) < good))


def _salt_and_pepper(flat: NDArray[np.float32], wrong: Iterator[Chosen], count: int, rng: np.random.Generator) -> None:
    salt = count // 2
    left = count
    for _, chosen in wrong:
        white = hypergeometric(salt, left - salt, chosen.size, rng)
        rng.shuffle(chosen)
        flat[chosen[:white]], flat[chosen[white:]] = 1.0, 0.0
        salt, left = salt - white, left - chosen.size


def _mixture(
    flat: NDArray[np.float32],
    mask: NDArray[np.bool_] | None,
    wrong: Iterator[Chosen],
    variances: tuple[float, float],
    rng: np.random.Generator,
) -> None:
    grain, outlier = map(sqrt, variances)
    for block, chosen in wrong:
        values = rng.standard_normal(flat[block].size, np.float32)
        deviation = np.full(values.size, grain, np.float32)
        deviation[chosen - block.start] = outlier
        values *= deviation
        flat[block] += values if mask is None else values * mask[block]


def _chosen(
    size: int, mask: NDArray[np.bool_] | None, count: int, rng: np.random.Generator, block_entries: int
) -> Iterator[Chosen]:
    """Exactly `count` positions of those allowed, every set of them as likely as any other, block by block."""
    allowed = size if mask is None else int(np.count_nonzero(mask))
    for start in range(0, size, block_entries):
        stop = min(size, start + block_entries)
        here = np.arange(start, stop) if mask is None else start + np.flatnonzero(mask[start:stop])
        number = hypergeometric(count, allowed - count, here.size, rng)
        chosen: NDArray[np.intp] = rng.choice(here, number, replace=False) if number else here[:0]
        yield slice(start, stop), chosen
        count, allowed = count - number, allowed - here.size
