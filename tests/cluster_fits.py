"""What tests of fits on a cluster share: a small tensor, all bits of a fit, and something to happen in its midst."""

import threading
import time

import numpy as np

SHAPE, RANK = (40, 30, 3, 20), (5, 4, 3, 4)


def tensor(dtype, seed=0):
    """A smooth tensor with noise and outliers."""
    rng = np.random.default_rng(seed)
    grids = np.meshgrid(*(np.linspace(0, 3, length) for length in SHAPE), indexing="ij")
    x = 120 + 60 * np.sin(grids[0] + grids[1]) * np.cos(grids[2] - grids[3]) + 5 * rng.standard_normal(SHAPE)
    return np.where(rng.random(SHAPE) < 0.1, rng.choice([0.0, 255.0], SHAPE), x).astype(dtype)


def bits(fit):
    """Everything that a fit has computed."""
    records = [(record.change, record.loss, record.sigma, record.mean_weight) for record in fit.history]
    return [core.tobytes() for core in fit.ring.cores], records


def when(condition, action):
    """Do something as soon as a condition holds, from another thread."""

    def watch():
        while not condition():
            time.sleep(0.001)
        action()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread
