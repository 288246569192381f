"""
Fill gaps in satellite fields
=============================

A satellite measures the temperature of the sea. Clouds hide a large part of every map,
and their edges look too cold. The job: complete maps, with their coordinates.
"""

# %%
# The data
# --------
# Sixty maps, generated: seasons, a front, and warm eddies that drift to the west.
# Labels are those of xarray.

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from scipy.ndimage import gaussian_filter

import ringlet

rng = np.random.default_rng(1)
time, lat, lon = np.arange(60), np.linspace(20, 45, 50), np.linspace(-70, -40, 60)
t, y, x = np.meshgrid(time, lat, lon, indexing="ij")
truth = (
    300
    - 0.4 * (y - 20)
    - 5 * np.cos(2 * np.pi * t / 24) * (y - 10) / 35
    + 3 * np.tanh((38 - y + np.sin(x / 3)) / 2)
)
for _ in range(6):
    start, north, speed = (
        rng.uniform(-65, -35),
        rng.uniform(24, 42),
        rng.uniform(0.05, 0.25),
    )
    truth += 1.5 * np.exp(-((x - start + speed * t) ** 2) / 6 - (y - north) ** 2 / 4)

clouds = gaussian_filter(rng.standard_normal(truth.shape), (0.7, 3, 3), mode="wrap")
clouds /= clouds.std()
sky = truth + 0.1 * rng.standard_normal(truth.shape)
edges = (clouds > 0.05) & (clouds < 0.2) & (rng.random(truth.shape) < 0.5)
sky[edges] -= rng.uniform(3, 12, edges.sum())  # cloud that was taken for sea
sky[clouds > 0.2] = np.nan
field = xr.DataArray(
    sky,
    dims=("time", "lat", "lon"),
    coords={"time": time, "lat": lat, "lon": lon},
    attrs={"units": "K"},
)
print(f"{np.isnan(sky).mean():.0%} missing, {edges.mean():.1%} too cold")

# %%
# The fit
# -------
# A DataArray goes in, a DataArray comes out.

fit = ringlet.decompose(field)
filled = fit.restored()
print(type(filled).__name__, filled.dims, filled.attrs["units"])

# %%
# The simple rival
# ----------------
# xarray interpolates along time. What is left at the ends gets the mean of its map.

linear = field.interpolate_na("time").fillna(field.mean(("lat", "lon")))
hidden = np.isnan(sky)
results = {"Ringlet": filled.values, "xarray interpolate_na": linear.values}
for name, estimate in results.items():
    squares = (estimate - truth) ** 2
    clouds, rims = (np.sqrt(np.nanmean(squares[part])) for part in (hidden, edges))
    print(f"{name:22s} error under clouds {clouds:.2f} K, at cloud edges {rims:.2f} K")

# %%
# One map, and the result of each method:

fig, axes = plt.subplots(
    2, 2, figsize=(7, 5), sharex=True, sharey=True, layout="constrained"
)
maps = {"truth": truth, "measured": sky, **results}
for axis, (name, values) in zip(axes.flat, maps.items(), strict=True):
    drawn = axis.pcolormesh(
        lon, lat, values[31], vmin=truth[31].min(), vmax=truth[31].max(), cmap="turbo"
    )
    axis.set(title=name)
fig.supxlabel("longitude", fontsize="medium")
fig.supylabel("latitude", fontsize="medium")
fig.colorbar(drawn, ax=axes, label="K")

# %%
# Interpolation spreads the cold edges into the gaps. The ring does not: no other map
# supports them. Every pixel has a standard error:

sigma = fit.uncertainty(31)
print(
    f"typical standard error: {np.median(sigma.values[~hidden[31]]):.2f} K seen,",
    f"{np.median(sigma.values[hidden[31]]):.2f} K hidden",
)

# %%
# It is too small where the ring cannot follow the field, as under clouds that hide a
# moving eddy. Compare it with the error at pixels that you hide yourself.
#
# Land is filled, too. :doc:`/start/data` shows how to leave it out.
