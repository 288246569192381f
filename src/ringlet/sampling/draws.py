"""Which indices to draw: random subtensors (RStS) and, for the paper's ablation, single rows of the unfolding."""

from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.ring.arrays import inverse_cholesky
from ringlet.ring.chain import Core
from ringlet.sampling.sizes import sample_sizes

__all__ = ["draw_rows", "draw_subtensor", "leverage_distribution", "merge_rows", "subset"]

Indices: TypeAlias = NDArray[np.intp]

_EPS = float(np.finfo(np.float64).eps)
_TABLE = 4  # times the rows drawn: up to this number of possible rows, a table merges repetitions


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
    sizes = dict(zip(others, sample_sizes([shape[mode] for mode in others], samples), strict=True))
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
