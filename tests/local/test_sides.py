"""Predictions from one side: entries beside an edge that the ring does not hold are believed."""

import numpy as np

from ringlet.local.judging import judge_entries
from ringlet.local.sides import agreeing_sides
from ringlet.local.window import Entries


def test_sides_are_the_corners_of_a_window():
    """Each mean and variance is that of the neighbours in one corner, if they are calm beside the whole window."""
    rng = np.random.default_rng(0)
    values = np.where(np.add.outer(np.arange(14), np.arange(11)) > 11, 200.0, 50.0).astype(np.float32)
    values += rng.normal(0, 1, values.shape).astype(np.float32)
    weights, ring = rng.choice([0, 0.8, 1], values.shape).astype(np.float32), rng.random(values.shape, np.float32)
    places = tuple(2 + place.ravel() for place in np.indices((10, 7)))
    sides = [
        (mean.reshape(10, 7), variance.reshape(10, 7))
        for mean, variance in agreeing_sides(values - ring, ring, weights, (0, 1), places)
    ]
    assert len(sides) == 4
    used = 0
    for row, column in np.ndindex(10, 7):
        for (up, left), (mean, variance) in zip(np.ndindex(2, 2), sides, strict=True):
            corner = slice(row + 2 * up, row + 2 * up + 3), slice(column + 2 * left, column + 2 * left + 3)
            mass = weights[corner].copy()
            mass[2 - 2 * up, 2 - 2 * left] = 0  # the entry itself
            if mass.sum() < 1.7:
                assert variance[row, column] > 1e20
            elif variance[row, column] < 1e20:
                used += 1
                expected = np.average(values[corner], weights=mass)
                spread = np.average((values[corner] - expected) ** 2, weights=mass)
                np.testing.assert_allclose(mean[row, column] + ring[row + 2, column + 2], expected, rtol=1e-5)
                np.testing.assert_allclose(variance[row, column], spread, atol=0.05)
    assert used > 20


def test_without_ordered_modes_there_are_no_sides():
    row = np.ones((3, 4), np.float32)
    assert list(agreeing_sides(row, row, row, (), (np.array([1]), np.array([2])))) == []


def test_entries_beside_an_edge_are_believed():
    """A disc on a slope, half of it missing; the ring has a soft edge, which is wrong by up to half of the range."""
    rng = np.random.default_rng(1)
    rows, columns = np.mgrid[:120, :150]
    distance = np.hypot(rows - 60, columns - 70) - 35.3
    slope = 40 + columns / 5
    truth, soft = slope + 150 * (distance < 0), slope + 150 / (1 + np.exp(distance))
    wrong, known = rng.random(truth.shape) < 0.1, rng.random(truth.shape) < 0.5
    data = np.where(wrong, rng.uniform(0, 255, truth.shape), truth).round()
    _, (weights,) = judge_entries([Entries(data, known, soft)])
    edge = known & ~wrong & (np.abs(distance) < 2)
    assert np.mean(weights[edge] > 0.5) > 0.85
    gross = known & wrong & (np.abs(data - truth) > 40)
    assert np.mean(weights[gross] < 0.5) > 0.98
