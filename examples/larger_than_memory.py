"""
Data larger than memory
=======================

The data are in a zarr store. The fit may use less memory than the data have.
"""

# %%
# The data
# --------
# A store of 29 MB is written chunk by chunk, with gaps and wrong entries. Real ones
# have hundreds of gigabytes; the code is the same.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import zarr

import ringlet

folder = tempfile.TemporaryDirectory()
path = Path(folder.name, "field.zarr")
shape, chunks = (120, 200, 300), (40, 40, 50)
rng = np.random.default_rng(6)
i, j = np.ogrid[:120, :200]


def slab(start, stop):
    k = np.arange(start, stop)
    waves = [
        np.cos(i[..., None] / p + k / (4 * p)) * np.sin(j[..., None] / p)
        for p in (11.0, 17.0, 29.0)
    ]
    return np.asarray(sum(waves), np.float32)


store = zarr.create_array(
    path, shape=shape, chunks=chunks, dtype="float32", fill_value=np.nan
)
for start in range(0, 300, 50):
    values = slab(start, start + 50)
    values[rng.random(values.shape) < 0.05] = 20.0
    values[rng.random(values.shape) < 0.4] = np.nan
    store[..., start : start + 50] = values

# %%
# What will it cost?
# ------------------

solver = ringlet.SAWRTRD(samples=1000, sweeps=30, smooth=0, memory="25MB")
print(ringlet.plan(shape, rank=8, solver=solver, dtype="float32", chunks=chunks))

# %%
# The fit, and the clean store
# ----------------------------
# ``restore`` with a path writes the result in parts, too. ``detail="never"`` and
# ``keep="never"`` write the ring alone, which takes the least memory and time. Leave
# ``rank`` out, and held-out entries choose it.

clean = Path(folder.name, "clean.zarr")
fit = ringlet.restore(path, clean, rank=8, solver=solver, detail="never", keep="never")
print(fit)

# %%
# The simple rival
# ----------------
# Work through the store slab by slab, drop what is far from zero, and interpolate along
# time. Every fourth row is enough for a comparison.

import pandas as pd

ours = zarr.open_array(clean)
errors = {"Ringlet": [], "interpolation by slab": []}
for start in range(0, 300, 100):
    part, truth = store[::4, :, start : start + 100], slab(start, start + 100)[::4]
    part[np.abs(part) > 5] = np.nan
    series = pd.DataFrame(part.reshape(-1, 100).T).interpolate(limit_direction="both")
    errors["interpolation by slab"].append(
        np.mean((series.to_numpy().T.reshape(part.shape) - truth) ** 2)
    )
    errors["Ringlet"].append(np.mean((ours[::4, :, start : start + 100] - truth) ** 2))
print("root mean square error")
for name, squares in errors.items():
    print(f"{name:22s} {np.sqrt(np.mean(squares)):.4f}")

# %%
# One slice of both stores. Only the chunks that it touches are read.

moment = 150
pictures = {
    "in the store": store[..., moment],
    "clean store": ours[..., moment],
    "truth": slab(moment, moment + 1)[..., 0],
}
fig, axes = plt.subplots(1, 3, figsize=(7, 2.2), layout="constrained")
for axis, (name, picture) in zip(axes, pictures.items(), strict=True):
    axis.imshow(picture, vmin=-3, vmax=3, cmap="RdBu")
    axis.set(title=name, xticks=[], yticks=[])

# %%
# Interpolation gets only the values that are right. It is fast, and enough where gaps
# are short and the data are smooth. :doc:`/scale` is about budgets, checkpoints and
# clusters.

folder.cleanup()
