"""
Find anomalies at a false-discovery rate
========================================

Meters report once an hour. Some readings are off by a moderate amount, less than the
daily swing. The job: a list of them in which about one in twenty is a false alarm.
"""

# %%
# The data
# --------
# Forty meters, five weeks, 24 hours. Noise differs from meter to meter by a factor of
# ten.

import matplotlib.pyplot as plt
import numpy as np

import ringlet

rng = np.random.default_rng(3)
meter, day, hour = np.ogrid[:40, :35, :24]
level = rng.uniform(5, 50, (40, 1, 1))
swing = rng.uniform(0.2, 0.6, (40, 1, 1)) * np.sin(
    (hour - rng.uniform(0, 24, (40, 1, 1))) * 2 * np.pi / 24
)
weekend = 1 - rng.uniform(0, 0.5, (40, 1, 1)) * np.isin(day % 7, (5, 6))
noise = np.geomspace(0.1, 1.0, 40)[:, None, None]
readings = level * (1 + swing) * weekend + noise * rng.standard_normal((40, 35, 24))

anomalous = rng.random(readings.shape) < 0.01
readings += anomalous * noise * rng.choice([-9, 9], readings.shape)
readings[rng.random(readings.shape) < 0.1] = np.nan
anomalous &= ~np.isnan(readings)

# %%
# The fit
# -------
# ``outliers(fdr=0.05)`` compares every residual with its local scale. For rows of a
# table see :doc:`/start/data`.

fit = ringlet.decompose(readings)
found = fit.outliers(fdr=0.05)


def report(name, flags):
    alarms = max(flags.sum(), 1)
    caught = (flags & anomalous).sum() / anomalous.sum()
    false = (flags & ~anomalous).sum() / alarms
    print(
        f"{name:24s} found {caught:4.0%} of them, {false:4.0%} of its alarms are false"
    )


report("Ringlet, fdr=0.05", found)

# %%
# The simple rival
# ----------------
# Three deviations from the mean of the same hour, for every meter. And scikit-learn's
# IsolationForest on meter, day, hour and reading; it gets the true share of anomalies.

from sklearn.ensemble import IsolationForest

mean, deviation = (
    np.nanmean(readings, 1, keepdims=True),
    np.nanstd(readings, 1, keepdims=True),
)
report("three deviations", np.abs(readings - mean) > 3 * deviation)

known = ~np.isnan(readings)
rows = np.column_stack(
    [np.broadcast_to(axis, readings.shape)[known] for axis in (meter, day, hour)]
    + [readings[known]]
)
forest = (
    IsolationForest(
        contamination=float(anomalous.sum() / known.sum()), random_state=0, n_jobs=1
    ).fit_predict(rows)
    < 0
)
flags = np.zeros(readings.shape, bool)
flags[known] = forest
report("IsolationForest, helped", flags)

# %%
# One meter. Most anomalies lie inside the range that the meter has every day, so no
# limit on the value finds them.

one = 30
fig, axis = plt.subplots(figsize=(7, 3), layout="constrained")
axis.plot(readings[one].ravel(), color="tab:grey", linewidth=0.7)
where = np.flatnonzero(found[one].ravel())
axis.plot(
    where,
    readings[one].ravel()[where],
    "o",
    color="tab:red",
    markersize=4,
    label="found",
)
axis.set(xlabel="hour", ylabel="reading", title=f"meter {one}")
axis.legend()
