"""
Follow a stream
===============

Every day brings new readings, with gaps and errors. The fit is extended, not repeated:
its cost does not grow.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import ringlet

# %%
# The data
# --------
# Fifty sensors and 24 hours. Thirty days are known; thirty more arrive one by one.

rng = np.random.default_rng(7)
sensor, hour, day = np.ogrid[:50, :24, :60]
truth = (
    15
    + rng.uniform(0, 8, (50, 1, 1))
    + rng.uniform(2, 5, (50, 1, 1))
    * np.sin((hour - 9) / 12 * np.pi)
    * (1 + 0.3 * rng.standard_normal((1, 1, 60)))
    + 3 * np.sin(day / 9)
)
stream = truth + 0.2 * rng.standard_normal(truth.shape)
wrong = rng.random(stream.shape) < 0.03
stream[wrong] = 85.0
stream[rng.random(stream.shape) < 0.3] = np.nan

# %%
# The fit, then one day after the other
# -------------------------------------

fit = ringlet.decompose(stream[..., :30])
seconds, errors = [], []
for today in range(30, 60):
    begin = time.perf_counter()
    fit = fit.extend(stream[..., today : today + 1])
    seconds.append(time.perf_counter() - begin)
    errors.append(np.sqrt(np.mean((fit.ring[..., -1] - truth[..., today]) ** 2)))
print(f"{np.median(seconds):.3f} s a day, error {np.mean(errors):.2f} degrees")

# %%
# The wrong readings of the last day:

flags = fit.outliers((..., -1))
truly_wrong = wrong[..., -1] & ~np.isnan(stream[..., -1])
print(f"{(flags & truly_wrong).sum()} of {truly_wrong.sum()} found")

# %%
# The simple rival
# ----------------
# A running median of the last seven readings of each sensor, carried forward into gaps.

import pandas as pd

series = pd.DataFrame(stream.transpose(2, 1, 0).reshape(60 * 24, 50))
carried = (
    series.rolling(7, min_periods=3)
    .median()
    .ffill()
    .bfill()
    .to_numpy()
    .reshape(60, 24, 50)
    .transpose(2, 1, 0)
)
rival = [
    np.sqrt(np.mean((carried[..., today] - truth[..., today]) ** 2))
    for today in range(30, 60)
]
print(f"running median: error {np.mean(rival):.2f} degrees")

fig, axis = plt.subplots(figsize=(7, 3), layout="constrained")
axis.semilogy(range(30, 60), rival, label="running median")
axis.semilogy(range(30, 60), errors, label="extended fit")
axis.set(xlabel="day", ylabel="error, degrees")
axis.legend()

# %%
# The running median is always late, and an outage longer than its window repeats an old
# value. If the sensors change, ``extend(..., forget=0.05)`` gives old days less weight.
