"""
Fill a sensor log
=================

Counters at thirty places count once an hour, for eight weeks. A fifth of the counts is
lost, and so are many whole days. Some counts are plainly wrong. The job: a complete
log, and a list of the wrong counts.
"""

# %%
# The data
# --------
# Counts follow the hour, the day of the week and the weather. So the log is a tensor
# with four axes: place, week, day and hour. These counts are generated, so the truth is
# known. :doc:`/start/data` begins with a csv file.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import ringlet

rng = np.random.default_rng(0)
hour = np.arange(24)


def peak(centre, width):
    return np.exp(-0.5 * ((hour - centre + 12) % 24 - 12) ** 2 / width**2)


size = rng.gamma(6, 20, (30, 1, 1, 1))
commuters = rng.random((30, 1, 1, 1))
workday = np.array([1, 1, 1, 1, 0.9, 0.25, 0.15])[:, None]
weather = 1 + 0.25 * rng.standard_normal((8, 7, 1))
to_work = peak(8, 1.5) + peak(17, 2)
leisure = peak(14, 3) + 0.4 * peak(20, 2)
truth = size * (
    commuters * workday * to_work
    + (1 - commuters) * weather * (1.3 - workday / 2) * leisure
    + 0.1
)
truth *= 1 + 0.03 * rng.standard_normal(truth.shape)

log = truth.copy()
log[rng.random(log.shape) < 0.2] = np.nan  # lost hours
for place, week, day in zip(
    *(rng.integers(0, n, 150) for n in (30, 8, 7)), strict=True
):
    log[place, week, day] = np.nan  # lost days
missing = np.isnan(log)
wrong = ~missing & (rng.random(log.shape) < 0.02)
log[wrong] = rng.choice([0, 999], wrong.sum())

# %%
# The fit
# -------
# Nothing is chosen. The fit finds its own rank, and which entries to trust.

fit = ringlet.decompose(log)
filled = fit.restored()
print(fit)

# %%
# A week of one place:

fig, axes = plt.subplots(2, 1, figsize=(7, 4.4), sharex=True, layout="constrained")
place = int(missing[:, 3].sum((1, 2)).argmax())
axes[0].plot(log[place, 3].ravel(), ".-", color="tab:grey")
axes[0].set(title=f"place {place}, one week, as it was logged", ylabel="counts")
axes[1].plot(
    truth[place, 3].ravel(), color="tab:grey", linewidth=4, alpha=0.5, label="truth"
)
axes[1].plot(filled[place, 3].ravel(), color="tab:blue", label="filled")
axes[1].set(title="filled", ylabel="counts", xlabel="hour of the week")
axes[1].legend()

# %%
# The wrong counts:

found = fit.outliers(fdr=0.05)
print(
    f"{wrong.sum()} counts are wrong; {(found & wrong).sum()} of them were found,",
    f"with {(found & ~wrong).sum()} false alarms",
)

# %%
# The simple rival
# ----------------
# Most people would interpolate every series with pandas. We help it: counts of 0 and
# 999 are removed first. Ringlet has to find them. A second rival takes the median of
# the same hour in the other weeks.

helped = np.where(wrong, np.nan, log)
linear = (
    pd.DataFrame(helped.reshape(30, -1).T)
    .interpolate(limit_direction="both")
    .to_numpy()
    .T.reshape(log.shape)
)
weekly = np.broadcast_to(np.nanmedian(helped, axis=1, keepdims=True), log.shape)

print("root mean square error at missing counts")
for name, estimate in {
    "Ringlet": filled,
    "pandas, helped": linear,
    "median of weeks, helped": weekly,
}.items():
    error = np.sqrt(np.mean((estimate - truth)[missing] ** 2))
    print(f"{name:25s} {error:5.1f}")

# %%
# Interpolation draws straight lines through lost days. The median of weeks does not
# know the weather. The ring knows the hour, the day and the weather of that day from
# the other places.
