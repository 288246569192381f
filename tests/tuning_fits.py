"""What tests of automatic fits share: small damaged tensors, errors and bits of fits, and fits by another policy."""

import numpy as np

from ringlet.request import FitRequest
from ringlet.solvers.tuning.policy import TuningPolicy
from ringlet.sources import as_source


def waves(shape=(40, 36, 5), rank=3, seed=0):
    """A tensor of low rank that is smooth along all modes, of size about one."""
    rng = np.random.default_rng(seed)
    places = [np.linspace(0, 1, length) for length in shape]
    terms = [
        np.multiply.outer(
            np.multiply.outer(*(np.cos(rng.uniform(1, 6) * place + rng.uniform(0, 6)) for place in places[:2])),
            np.cos(rng.uniform(1, 6) * places[2] + rng.uniform(0, 6)),
        )
        for _ in range(rank)
    ]
    return np.sum(terms, axis=0)


def spoiled(truth, observed, outliers, seed=1, noise=0.01):
    """The tensor with noise and outliers, and a mask of the entries that are observed."""
    rng = np.random.default_rng(seed)
    x = truth + noise * rng.standard_normal(truth.shape)
    x[rng.random(truth.shape) < outliers] = truth.max() * 3
    return x, rng.random(truth.shape) < observed


def photo_fields(shape, slope, rng):
    """Two pictures with the spectrum of photos."""
    distances = np.hypot(*np.meshgrid(*(length * np.fft.fftfreq(length) for length in shape), indexing="ij"))
    spectra = [np.fft.fft2(rng.standard_normal(shape)) / np.maximum(distances, 1) ** slope for _ in range(2)]
    return [field / field.std() for field in map(np.real, map(np.fft.ifft2, spectra))]


def error(fit, truth):
    """Relative error of a fit."""
    return np.linalg.norm(np.asarray(fit.ring) - truth) / np.linalg.norm(truth)


def bits(fit):
    """The cores, to the bit."""
    return [core.tobytes() for core in fit.ring.cores]


def tuned(x, rank="auto", *, mask=None, policy=None, **given):
    """The fit that `decompose` gives, tuned by another policy."""
    return FitRequest(rank=rank, policy=policy or TuningPolicy(), **given).run(as_source(x, mask))


def chosen_penalties(fit):
    """The penalties that an automatic fit ended with."""
    return fit._extender.state.penalties


def hills(shape=(144, 132, 3), seed=0, terms=12):
    """Smooth along the first two modes, of size about one, of no small rank."""
    rng = np.random.default_rng(seed)
    y, x = (np.linspace(0, 1, length) for length in shape[:2])
    bumps = [
        np.multiply.outer(
            np.exp(-(np.hypot.outer(y - rng.random(), x - rng.random()) ** 2) / rng.uniform(0.005, 0.05)),
            rng.uniform(0, 1, shape[2]),
        )
        for _ in range(terms)
    ]
    return np.sum(bumps, axis=0)


def spoiled_hills(truth, observed=0.3, outliers=0.2, seed=1):
    rng = np.random.default_rng(seed)
    x = truth + 0.02 * rng.standard_normal(truth.shape)
    x[rng.random(truth.shape) < outliers] = rng.choice([-1.0, 3.0])
    return x, rng.random(truth.shape) < observed
