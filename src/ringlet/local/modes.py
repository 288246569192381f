"""Ordered modes, and modes whose slices are related, found from the data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["SHORTEST", "NeighbourModes", "find_modes", "is_ordered", "sampling_step"]

SHORTEST = 5  # slices; with fewer, the nearest cannot be told from the others
_LINES = 1024  # entries of a slice that are compared
_LONG = 2048  # slices; with more, no matrix of all distances is formed
_COMPARED = 1 << 22  # entries of a long mode that are compared
_RELATED_ENTRIES = 1 << 18  # orders in which slices of a mode are compared
_SHUFFLES = 50
_STANDARD_ERRORS = 4.0  # standard deviations by which neighbouring slices must be nearer than in random order
_LEAST_GAIN = 0.1  # and by this share of the mean squared distance
_LEAST_CORRELATION = 0.05  # of residuals in different slices of related modes
_FEW = 8  # slices, such as colours, that are compared in pairs:
_LEAST_PAIR_CORRELATION = 0.1  # the least correlation in them,
_ALIKE = 100.0  # and the factor by which this must exceed the correlation of independent entries by chance
_CLIP = 4.0  # standard deviations at which values are clipped, so that single gross errors do not decide


@dataclass(frozen=True)
class NeighbourModes:
    """Kinds of modes.

    Attributes
    ----------
    ordered : tuple of int
        Modes whose neighbouring slices are more alike than others: space, time, wavelength.
    related : tuple of int
        Modes without an order in whose slices the ring's errors are alike: colours.
    """

    ordered: tuple[int, ...]
    related: tuple[int, ...]


def find_modes(
    arrays: Sequence[NDArray[Any]], residuals: Sequence[NDArray[Any]], weights: Sequence[NDArray[Any]], seed: int = 0
) -> NeighbourModes:
    """Compare neighbouring slices of every mode with shuffled ones.

    Parameters
    ----------
    arrays : sequence of arrays
        Trusted data, and the ring's values elsewhere, in parts of the tensor. Their slices show an order.
    residuals, weights : sequences of arrays
        These show relations between slices.
    seed : int
        Seed of the draws.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((40, 30)).cumsum(0).astype(np.float32)
    >>> find_modes([x], [np.zeros_like(x)], [np.ones_like(x)])
    NeighbourModes(ordered=(0,), related=())
    """
    rng = np.random.default_rng(seed)
    ordered = [mode for mode in range(arrays[0].ndim) if is_ordered(_longest(arrays, mode), mode, rng)]
    others = [mode for mode in range(arrays[0].ndim) if mode not in ordered]
    return NeighbourModes(tuple(ordered), tuple(mode for mode in others if _is_related(residuals, weights, mode)))


def is_ordered(array: NDArray[Any], mode: int, rng: np.random.Generator) -> bool:
    """Whether neighbouring slices of a mode are nearer to each other than slices in random order are.

    Parameters
    ----------
    array : array
    mode : int
    rng : Generator
        Draws entries that are compared, and orders.
    """
    slices = np.moveaxis(array, mode, 0).reshape(array.shape[mode], -1)
    if len(slices) < SHORTEST:
        return False
    lines = _LINES if len(slices) <= _LONG else max(1, min(_LINES, _COMPARED // len(slices)))
    if slices.shape[1] > lines:
        slices = slices[:, rng.integers(0, slices.shape[1], lines)]
    slices = slices.astype(np.float64) - slices.mean(0)
    mean_step = _mean_step(slices)
    shuffled = [mean_step(rng.permutation(len(slices))) for _ in range(_SHUFFLES)]
    mean, deviation = float(np.mean(shuffled)), float(np.std(shuffled))
    gain = mean - mean_step(np.arange(len(slices)))
    return bool(gain > _LEAST_GAIN * mean and gain > _STANDARD_ERRORS * deviation)


def _longest(arrays: Sequence[NDArray[Any]], mode: int) -> NDArray[Any]:
    """The first of the arrays with the greatest length along a mode."""
    return max(arrays, key=lambda array: array.shape[mode])


def _mean_step(slices: NDArray[np.float64]) -> Callable[[NDArray[np.intp]], float]:
    """A function of an order of the slices: the mean squared distance of successive ones."""
    if len(slices) > _LONG:
        return lambda order: float((np.diff(slices[order], axis=0) ** 2).sum(1).mean())
    products = slices @ slices.T
    squares = np.diagonal(products)
    distances = squares[:, None] + squares[None, :] - 2 * products
    return lambda order: float(distances[order[1:], order[:-1]].mean())


def _is_related(residuals: Sequence[NDArray[Any]], weights: Sequence[NDArray[Any]], mode: int) -> bool:
    """Whether residuals of different slices are correlated: on average or, where slices are few, in pairs."""
    residuals, weights = _some_entries(residuals, mode), _some_entries(weights, mode)
    squares = sum(float(np.sum(w * r**2, dtype=np.float64)) for r, w in zip(residuals, weights, strict=True))
    total = sum(float(np.sum(w, dtype=np.float64)) for w in weights)
    limit = _CLIP * (squares / max(total, 1.0)) ** 0.5
    values = [weight * np.clip(residual, -limit, limit) for residual, weight in zip(residuals, weights, strict=True)]
    products = own = pairs = 0.0
    for value, weight in zip(values, weights, strict=True):
        sums, mass = value.sum(0), weight.sum(0)
        products += float(np.sum(value * (sums - value), dtype=np.float64))
        own += float(np.sum(value**2 * (mass - weight), dtype=np.float64))
        pairs += float(np.sum(weight * (mass - weight), dtype=np.float64))
    least = max(_LEAST_CORRELATION, _STANDARD_ERRORS / max(pairs, 1.0) ** 0.5)
    if own > 0 and abs(products / own) > least:
        return True
    return max(map(len, values)) <= _FEW and _has_related_pairs(values, weights)


def _has_related_pairs(values: Sequence[NDArray[Any]], weights: Sequence[NDArray[Any]]) -> bool:
    """Whether pairs of slices are correlated by the root mean square, where positive and negative ones cancel.

    Neighbouring entries are alike, so uncorrelated slices correlate by chance much more than independent entries.
    """
    shared = chance = own = 0.0
    for value, weight in zip(values, weights, strict=True):
        sizes, pairs = value**2, ~np.eye(len(value), dtype=bool)
        shared += float(np.sum(np.square(value @ value.T, dtype=np.float64), where=pairs))
        chance += float(np.sum(sizes @ sizes.T, where=pairs, dtype=np.float64))
        alone = (sizes @ weight.T).astype(np.float64)
        own += float(np.sum(alone * alone.T, where=pairs))
    return shared > max(_LEAST_PAIR_CORRELATION**2 * own, _ALIKE * chance)


def _some_entries(arrays: Sequence[NDArray[Any]], mode: int) -> list[NDArray[Any]]:
    """The slices of a mode as rows; of long slices, a regular sample."""
    step = sampling_step(1 + sum(array.size for array in arrays) // _RELATED_ENTRIES, prod(arrays[0].shape))
    return [np.moveaxis(array, mode, 0).reshape(array.shape[mode], -1)[:, ::step] for array in arrays]


def sampling_step(least: int, length: int) -> int:
    """A step, about the least one, with which a sample of `length` entries shows all parts of a regular pattern.

    Of a mosaic of colours, a step of 12 may leave out all pixels of one colour.

    Examples
    --------
    >>> [sampling_step(least, 1000) for least in (1, 2, 9, 12)]
    [1, 7, 11, 13]
    """
    step = least
    while gcd(step, 6 * length) > 1:  # patterns of 2, 3, 4 or 6 entries, or of a divisor of the length
        step += 1
    return step
