"""Automatic fits do not depend on the order of the modes, on directions, or on units."""

import numpy as np
import pytest
from skimage import data

from ringlet import decompose
from tuning_fits import bits


def noisy_field(rng):
    """Waves in time and space, and noise of a hundredth of their range."""
    t, i, j = np.ogrid[0:1:40j, 0:1:25j, 0:1:28j]
    return (
        np.sin(6 * t + 3 * i) * np.cos(2 * j)
        + 0.4 * np.cos(6 * (i + 2 * j) + 4 * t)
        + 0.04 * rng.normal(size=(40, 25, 28))
    )


def log(rng):
    """Counts of sensors by day and hour: a peak in the morning, less of it at weekends, and one in the evening."""
    day, hour, sensor = np.ogrid[:42, :24, :15]
    morning = np.exp(-(((hour - 8 - sensor / 8) / 3.0) ** 2)) * (1 - 0.6 * (day % 7 > 4))
    evening = np.exp(-(((hour - 17) / 4.0) ** 2)) * (1 + 0.3 * rng.random((42, 1, 1)))
    sizes = rng.random((2, 15))
    return 100 * (1 + sizes[0]) * morning + 60 * sizes[1] * evening + rng.normal(size=(42, 24, 15))


def photo(_):
    """Pictures of sharp discs do not do: their fits differ by up to 4 dB from seed to seed."""
    return data.coffee()[::5, ::5].astype(float)


def damaged(clean, rng):
    """A twentieth of the entries is wrong, and of all 30 % are missing."""
    x = np.where(rng.random(clean.shape) < 0.05, rng.uniform(clean.min(), clean.max(), clean.shape), clean)
    x[rng.random(x.shape) < 0.3] = np.nan
    return x


def test_the_layout_in_memory_changes_no_bit():
    rng = np.random.default_rng(1)
    x = damaged(log(rng)[:30, :, :8], rng)
    one = decompose(x, threads=1)
    assert len(one.path) > 1
    assert bits(one) == bits(decompose(np.asfortranarray(x), threads=1))
    assert bits(one) == bits(decompose(x[::-1].copy()[::-1], threads=1))


@pytest.mark.long
@pytest.mark.parametrize("truth", [log, noisy_field, photo])
def test_order_of_modes_directions_and_units_hardly_change_the_quality(truth):
    """Means of three seeds: random draws differ with the order of the modes as they do with the seed."""
    rng = np.random.default_rng(1)
    clean = truth(rng)
    x = damaged(clean, rng)

    def psnr(order=(0, 1, 2), step=1, factor=1.0, offset=0.0):
        given = (factor * x + offset)[::step, ::step].transpose(order)
        found = [np.asarray(decompose(given, seed=seed, threads=1).ring) for seed in range(3)]
        found = [(ring.transpose(np.argsort(order))[::step, ::step] - offset) / factor for ring in found]
        return np.mean([20 * np.log10(np.ptp(clean) / np.sqrt(np.mean((ring - clean) ** 2))) for ring in found])

    qualities = [
        psnr(),
        psnr((2, 1, 0)),
        psnr((1, 2, 0)),
        psnr(step=-1),
        psnr(factor=1.8, offset=32),
        psnr(factor=-1e-3),
    ]
    assert np.ptp(qualities) < 0.3, qualities
