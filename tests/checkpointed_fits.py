"""What tests of checkpoints share: a small fit with a checkpoint, and all that it tells."""

import dataclasses

import numpy as np

from ringlet import SAWRTRD, decompose

RNG = np.random.default_rng(5)
DATA = np.where(RNG.random((8, 7, 6)) < 0.2, np.nan, RNG.standard_normal((8, 7, 6)))
SOLVER = SAWRTRD(smooth=0.0, samples=20, sweeps=4, tol=0, threads=1)
SLOTS = ("slot-0.safetensors", "slot-1.safetensors")


def fit(folder=None, data=DATA, rank=2, solver=SOLVER, seed=3, **more):
    return decompose(data, rank, solver=solver, seed=seed, checkpoint=folder, **more)


def begun(folder, sweeps=3):
    """A checkpoint of a fit that was stopped after some sweeps."""
    fit(folder, callback=lambda state: state.sweep == sweeps)
    return folder


def bits(done):
    history = [dataclasses.replace(record, seconds=0.0) for record in done.history]
    return [core.tobytes() for core in done.ring.cores], history, done.status, done.sigma


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())
