"""
Fold data into more axes
========================

A long axis often hides several: a year of hours is week × day × hour. Folded, the same
entries need a smaller ring.
"""

import matplotlib.pyplot as plt
import numpy as np

import ringlet

# %%
# The data
# --------
# Twenty meters and 52 weeks of hours, as most files have them: a table of 20 × 8736.

rng = np.random.default_rng(9)
meter, week, day, hour = np.ogrid[:20, :52, :7, :24]
year = rng.uniform(1, 3, (20, 1, 1, 1)) * (2 + np.cos(week / 52 * 2 * np.pi)) * (
    1.5 - 0.5 * (day > 4)
) + rng.uniform(0, 1, (20, 1, 1, 1)) * np.sin(hour / 24 * 2 * np.pi)
truth = year.reshape(20, -1)
table = truth + 0.1 * rng.standard_normal(truth.shape)
table[rng.random(table.shape) < 0.6] = np.nan

# %%
# Fold, fit, unfold
# -----------------
# Factors of an axis are given as a tuple. ``unfold`` is the inverse.

factors = [None, (52, 7, 24)]
folded = ringlet.fold(table, factors)
print(table.shape, "->", folded.shape)
estimate = ringlet.unfold(ringlet.decompose(folded).ring, factors, table.shape)

# %%
# The simple rivals
# -----------------
# The same table without folding, and interpolation along the hours.

import pandas as pd

flat = np.asarray(ringlet.decompose(table).ring)
linear = pd.DataFrame(table.T).interpolate(limit_direction="both").to_numpy().T

results = {"folded": estimate, "not folded": flat, "interpolated": linear}
for name, values in results.items():
    error = np.sqrt(np.mean((values - truth) ** 2))
    print(f"{name:13s} root mean square error {error:.3f} (noise 0.1)")

fig, axis = plt.subplots(figsize=(7, 3), layout="constrained")
axis.plot(table[3, :168], ".", color="tab:grey", label="known")
axis.plot(linear[3, :168], color="tab:orange", linewidth=0.8, label="interpolated")
axis.plot(estimate[3, :168], color="tab:blue", label="folded")
axis.set(xlabel="hour of the first week", ylabel="reading")
axis.legend(ncols=3)

# %%
# Photos can be folded into overlapping patches with ``ringlet.windows``. That helps
# where few entries are known and many of them are wrong; elsewhere it rarely helps.
