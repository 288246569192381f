"""
Fold data into more axes, windows or patches
============================================

A long axis often hides several: a year of hours is week × day × hour. Folded, the same
entries need a smaller ring. Windows and patches do the same for data that repeat
themselves without a fixed period.
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
    print(f"{name:13s} error {error:.3f} (noise 0.1)")

fig, axis = plt.subplots(figsize=(7, 3), layout="constrained")
axis.plot(table[3, :168], ".", color="tab:grey", label="known")
axis.plot(linear[3, :168], color="tab:orange", linewidth=0.8, label="interpolated")
axis.plot(estimate[3, :168], color="tab:blue", label="folded")
axis.set(xlabel="hour of the first week", ylabel="reading")
axis.legend(ncols=3)

# %%
# Windows of one series
# ---------------------
# Where the periods are not known, ``windows`` cuts a series into pieces that overlap:
# here 150 values, every 10. Similar pieces fill each other's gaps.

t = np.arange(3000)
signal = np.sin(t / 7.3) + 0.7 * np.sin(t / 11.9) * np.cos(t / 301)
series = signal + 0.1 * rng.standard_normal(t.size)
series[rng.random(t.size) < 0.05] = 8.0  # wrong
for begin in rng.integers(0, 2950, 12):
    series[begin : begin + 40] = np.nan
gaps = np.isnan(series)

pieces = ringlet.fold(series, [ringlet.windows(150, 10)])
print(series.shape, "->", pieces.shape)
model = ringlet.decompose(pieces).ring
ours = ringlet.unfold(model, [ringlet.windows(150, 10)], series.shape)
right = pd.Series(np.where(series == 8, np.nan, series))
rival = right.interpolate(limit_direction="both").to_numpy()
for name, values in {"windows": ours, "interpolated": rival}.items():
    error = np.sqrt(np.mean((values - signal)[gaps] ** 2))
    print(f"{name:13s} error in gaps {error:.3f}")

# %%
# Patches of a picture
# --------------------
# Windows along two axes are patches: here 16 × 16 pixels, every 8 pixels. Of a picture
# of gravel 30 % of the pixels are known, and a fifth of these is salt and pepper. The
# simple rival is the fit without patches.

from skimage import data

from ringlet.report.metrics import psnr

picture = data.gravel()[:256, :256] / 255.0
spoilt = rng.random(picture.shape) < 0.2
damaged = np.where(spoilt, rng.integers(0, 2, picture.shape), picture)
damaged[rng.random(picture.shape) > 0.3] = np.nan

cut = [ringlet.windows(16, 8), ringlet.windows(16, 8)]
patches = ringlet.fold(damaged, cut, paired=True)
print(picture.shape, "->", patches.shape)
model = ringlet.decompose(patches).ring
restored = {
    "damaged": np.nan_to_num(damaged),
    "patches": ringlet.unfold(model, cut, picture.shape, paired=True),
    "no patches": np.asarray(ringlet.decompose(damaged).ring),
}

fig, axes = plt.subplots(1, 3, figsize=(7, 2.6), layout="constrained")
for axis, (name, values) in zip(axes, restored.items(), strict=True):
    axis.imshow(values, cmap="gray", vmin=0, vmax=1)
    axis.set(title=f"{name}, {psnr(values, picture, 1):.1f} dB", xticks=[], yticks=[])

# %%
# Patches suit textures of which enough is known. With a tenth of the pixels, and in
# photos, they may do harm (:doc:`/quality`). Compare both on your data.
