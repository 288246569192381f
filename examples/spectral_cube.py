"""
Mend a spectral cube
====================

An airborne camera records a field in many narrow bands. Dead detectors leave stripes,
and whole bands are lost in part of the scene. Single values are struck by noise. The
job: a cube that a classifier can use.
"""

# %%
# The data
# --------
# Indian Pines is a real scene of 145 × 145 pixels and 200 bands. It ships with
# TensorLy. We take a part of it, and damage it ourselves, so that the truth is known.

import matplotlib.pyplot as plt
import numpy as np
from tensorly.datasets import load_indian_pines

import ringlet

truth = np.asarray(load_indian_pines()["tensor"], dtype=np.float32)[:80, :80, ::4]
rng = np.random.default_rng(2)
rows, columns, bands = truth.shape
cube = truth.copy()

dead = rng.random((columns, bands)) < 0.08  # a detector sees one column of one band
wrong = rng.random(cube.shape) < 0.05
cube[wrong] = rng.uniform(truth.min(), truth.max(), wrong.sum())
cube[:, dead] = np.nan
cube[20:60, :, [11, 30, 31]] = np.nan  # lost in transmission
missing = np.isnan(cube)
wrong &= ~missing
print(f"{cube.shape}: {missing.mean():.0%} missing, {wrong.mean():.0%} wrong")

# %%
# The fit
# -------
# Bands differ much in brightness. Whole columns of a band are missing, so it helps to
# subtract the median of every band first. The ring then has to fit the differences
# only.

brightness = np.nanmedian(cube, axis=(0, 1))
fit = ringlet.decompose(cube - brightness)
mended = np.asarray(fit.ring) + brightness
print(fit)

# %%
# The simple rival
# ----------------
# Interpolate every spectrum across its gaps, then remove spikes with a median over five
# neighbouring columns.

from scipy.ndimage import median_filter

position = np.arange(bands)
spectra = cube.reshape(-1, bands)
linear = np.array(
    [np.interp(position, position[~np.isnan(s)], s[~np.isnan(s)]) for s in spectra]
).reshape(cube.shape)
rival = median_filter(linear, size=(1, 5, 1))

results = {"Ringlet": mended, "interpolated": linear, "interpolated + median": rival}
for name, estimate in results.items():
    error = (estimate - truth) / truth.std()
    parts = {"missing": missing, "wrong": wrong, "all": np.ones_like(missing)}
    print(
        f"{name:22s}",
        ", ".join(
            f"{what} {np.sqrt(np.mean(error[part] ** 2)):.3f}"
            for what, part in parts.items()
        ),
    )

# %%
# Errors are in standard deviations of the cube. One of the damaged bands:

fig, axes = plt.subplots(2, 2, figsize=(6, 6), layout="constrained")
for axis, (name, values) in zip(
    axes.flat,
    {"truth": truth, "damaged": cube, "Ringlet": mended, "rival": rival}.items(),
    strict=True,
):
    axis.imshow(
        values[:, :, 30],
        cmap="gray",
        vmin=np.quantile(truth[:, :, 30], 0.01),
        vmax=np.quantile(truth[:, :, 30], 0.99),
    )
    axis.set(title=name, xticks=[], yticks=[])

# %%
# Bands of a scene depend on each other, and so do its places. The ring uses both, so
# stripes are filled. A detector that is stuck at one value is found, too. If it still
# has a little noise, the fit may trust it. Mark such columns as missing first: their
# standard deviation is far below that of the others.
