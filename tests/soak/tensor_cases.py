"""Tensors at the edge of what can be fitted."""

import numpy as np

from ringlet import AWRTRD, SAWRTRD, decompose
from ringlet.errors import RingletError
from ringlet.results.records import Status
from soak.guard import ViolationError, generator


def tensor(number, folder):
    """A zero, constant, huge, tiny or odd tensor: finite rings, or an error that is named."""
    rng = generator("tensor", number)
    x = odd_tensor(rng)
    kept = x.copy()
    solver = _solver(rng)
    rank = int(rng.integers(1, 4)) if solver is not None else "auto"
    try:
        done = decompose(x, rank, solver=solver, seed=number, **({} if solver else {"sweeps": 12}))
    except RingletError:
        return "refused"
    if not np.array_equal(x, kept, equal_nan=True):
        raise ViolationError("the data were changed")
    if not all(np.isfinite(core).all() for core in done.ring.cores) or not isinstance(done.status, Status):
        raise ViolationError(f"not finite: {x.shape} {x.dtype} {solver}")
    numbers = [value for record in done.history for value in (record.loss, record.mean_weight)]
    if not np.isfinite(numbers).all():
        raise ViolationError(f"not finite in the history: {x.shape} {x.dtype} {solver} {done.history[-1]}")
    for view in (done.restored, done.uncertainty):
        if not np.isfinite(view()).all():
            raise ViolationError(f"not finite: {view.__name__} of {x.shape} {x.dtype} {solver}")
    return "finite"


def odd_tensor(rng):
    """A tensor at the edge of what can be fitted."""
    shape = tuple(int(length) for length in rng.integers(1, 8, rng.integers(2, 6)))
    dtype = rng.choice(["f4", "f8", "u1", "i2", "i8"])
    kind = rng.choice(["zero", "constant", "huge", "tiny", "one entry", "sparse", "spread"])
    noise = rng.standard_normal(shape)
    if kind == "zero":
        x = np.zeros(shape)
    elif kind == "constant":
        x = np.full(shape, rng.choice([1.0, -3.0, 1e-200, 1e200, 100.0]))
    elif kind == "huge":
        x = noise * (1e300 if dtype == "f8" else 1e37)
    elif kind == "tiny":
        x = noise * (1e-300 if dtype == "f8" else 1e-38)
    elif kind == "one entry":
        x = np.zeros(shape)
        x.flat[rng.integers(x.size)] = rng.choice([1.0, 1e30, -1e-30])
    elif kind == "sparse":
        x = np.where(rng.random(shape) < 0.9, 0.0, noise)
    else:
        x = noise * 10.0 ** rng.integers(-12, 12, shape)
    if dtype[0] in "ui":
        limits = np.iinfo(dtype)
        return np.clip(np.nan_to_num(x), limits.min / 2, limits.max / 2).astype(dtype)
    x = np.clip(x, np.finfo(dtype).min, np.finfo(dtype).max).astype(dtype)
    if rng.random() < 0.4:
        x[rng.random(shape) < 0.3] = np.nan
    return x


def _solver(rng):
    """One of the solvers; None for an automatic fit."""
    settings = {"sweeps": 5, "tol": 0.0, "loss": rng.choice(["correntropy", "cauchy", "huber", "l2"])}
    makers = (
        lambda: AWRTRD(smooth=0.0, **settings),
        lambda: SAWRTRD(smooth=0.0, samples=int(rng.integers(1, 40)), **settings),
        lambda: AWRTRD(**settings),
        lambda: AWRTRD.paper(sweeps=5),
        lambda: AWRTRD(smooth=0.0, scaling="none", ridge=0.0, **settings),
        lambda: None,
    )
    return makers[rng.integers(len(makers))]()
