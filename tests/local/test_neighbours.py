"""Predictions by neighbours against plain loops, and their promise never to know the entry itself."""

from itertools import product

import numpy as np
import pytest

from ringlet.local.modes import NeighbourModes
from ringlet.local.neighbours import agreeing_pairs, neighbour_predictions, window_mean


def triangle(offset: int, levels: int) -> float:
    width = 2**levels
    return max(0.0, (width - abs(offset)) / width**2)


def looped_prediction(residuals, weights, modes, place, levels, shrinkage=0.02):
    """A triangular mean around one entry, without it, written as a loop over all other entries."""
    centre = triangle(0, levels) ** len(modes)
    total = mass = 0.0
    for other in product(*map(range, residuals.shape)):
        offsets = [a - b for a, b in zip(other, place, strict=True)]
        if other == place or any(offset for mode, offset in enumerate(offsets) if mode not in modes):
            continue
        share = np.prod([triangle(offsets[mode], levels) for mode in modes]) / (1 - centre)
        total += share * weights[other] * residuals[other]
        mass += share * weights[other]
    return total / (mass + shrinkage)


@pytest.mark.parametrize(("shape", "ordered"), [((15, 16), (0, 1)), ((15, 3, 17), (0, 2)), ((2, 4, 3, 15), (3,))])
def test_scales_are_triangular_means_without_the_entry(shape, ordered):
    rng = np.random.default_rng(0)
    residuals = rng.standard_normal(shape).astype(np.float32)
    weights = rng.random(shape).astype(np.float32)
    said = neighbour_predictions(residuals, weights, NeighbourModes(ordered, ()), levels=3)
    place = tuple(length // 2 for length in shape)
    for level in range(3):
        expected = looped_prediction(residuals, weights, ordered, place, level + 1)
        assert said.columns[level][place] == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize(
    "modes", [NeighbourModes((0, 1), (2,)), NeighbourModes((1,), (0, 2)), NeighbourModes((), (2,))]
)
@pytest.mark.parametrize("place", [(5, 4, 1), (0, 0, 0), (11, 3, 2)])
def test_no_prediction_changes_with_the_entry_itself(modes, place):
    rng = np.random.default_rng(1)
    residuals = rng.standard_normal((12, 10, 3)).astype(np.float32)
    weights = rng.random(residuals.shape).astype(np.float32)
    before = neighbour_predictions(residuals, weights, modes, levels=3).columns
    residuals[place] += 100
    after = neighbour_predictions(residuals, weights, modes, levels=3).columns
    for old, new in zip(before, after, strict=True):
        assert not np.array_equal(old, new)
        assert new[place] == pytest.approx(old[place], abs=1e-3)


def test_window_means_of_ones_are_one_far_from_the_border():
    assert window_mean(np.ones((40, 40), np.float32), (0, 1), 3)[20, 20] == pytest.approx(1.0)


def looped_pair(residuals, weights, mode, place):
    """Mean and variance of two neighbours, or None for the variance if one of them is unknown."""
    known = []
    for step in (-1, 1):
        other = list(place)
        other[mode] += step
        inside = 0 <= other[mode] < residuals.shape[mode]
        known.append((weights[tuple(other)], residuals[tuple(other)]) if inside else (0.0, 0.0))
    (first, low), (second, high) = known
    mass = max(first + second, 1.2)
    alone = first + second < 1.2
    return (first * low + second * high) / mass, None if alone else (low - high) ** 2 * first * second / mass**2


@pytest.mark.parametrize("core", [(), (slice(1, 6), slice(2, 7), slice(0, 3)), (slice(0, 3), slice(4, 8), slice(0, 3))])
def test_pairs_agree_as_in_plain_loops(core):
    rng = np.random.default_rng(2)
    residuals = rng.standard_normal((7, 8, 3)).astype(np.float32)
    weights = rng.choice(np.array([0, 0.7, 1], np.float32), residuals.shape)
    first = [part.start for part in core] or [0, 0, 0]
    for mode, (mean, variance) in zip((0, 1), agreeing_pairs(residuals, weights, (0, 1), core), strict=True):
        for place in np.ndindex(mean.shape):
            there = tuple(a + b for a, b in zip(place, first, strict=True))
            expected, spread = looped_pair(residuals, weights, mode, there)
            assert mean[place] == pytest.approx(expected, abs=1e-5)
            assert variance[place] > 1e20 if spread is None else variance[place] == pytest.approx(spread, abs=1e-5)
