"""What tests of fits on a cluster share: a tensor that is cut, all bits of a fit, and something to happen meanwhile."""

import threading
import time

import dask.array
import h5py
import numpy as np
import zarr

from ringlet import DaskExecutor

SHAPE, RANK = (80, 70, 3, 48), (5, 4, 3, 4)  # blocks of three modes, tiles of the one of three slices
CHUNKS = (40, 35, 3, 24)


def tensor(dtype, seed=0):
    """A smooth tensor with noise and outliers."""
    rng = np.random.default_rng(seed)
    grids = np.meshgrid(*(np.linspace(0, 3, length) for length in SHAPE), indexing="ij")
    x = 120 + 60 * np.sin(grids[0] + grids[1]) * np.cos(grids[2] - grids[3]) + 5 * rng.standard_normal(SHAPE)
    return np.where(rng.random(SHAPE) < 0.1, rng.choice([0.0, 255.0], SHAPE), x).astype(dtype)


def eager(client):
    """An executor that sends work however small it is."""
    return DaskExecutor(client, least_seconds=1e-9)


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


def stored(x, kind, folder):
    """The tensor as users keep large ones."""
    if kind == "zarr":
        return zarr.create_array(folder / "x.zarr", data=x, chunks=CHUNKS)
    if kind == "hdf5":
        with h5py.File(folder / "x.h5", "w") as file:
            file.create_dataset("x", data=x, chunks=CHUNKS)
        return folder / "x.h5"
    return dask.array.from_array(x, chunks=CHUNKS)
