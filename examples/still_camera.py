"""
What moves before a still camera
================================

A camera stands still and people walk by. The job: the empty scene, and a mask of what
moves. A part of the pixels is lost in transmission.
"""

# %%
# The data
# --------
# Generated: a scene whose light changes slowly, and two walkers that cover a part of
# it.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter

import ringlet

rng = np.random.default_rng(5)
height, width, frames = 80, 120, 60
scene = gaussian_filter(rng.standard_normal((height, width)), 4)
scene = 120 + 60 * scene / np.abs(scene).max()
light = 1 + 0.25 * np.sin(np.arange(frames) / 12)
empty = scene[..., None] * light

y, x, t = np.ogrid[:height, :width, :frames]
walkers = ((x - 2 * t) ** 2 / 30 + (y - 45) ** 2 / 200 < 1) | (
    (x - 110 + 0.8 * t) ** 2 / 30 + (y - 30) ** 2 / 150 < 1
)
video = np.where(walkers, 220.0, empty) + 2 * rng.standard_normal(empty.shape)
video[rng.random(video.shape) < 0.3] = np.nan

# %%
# The fit
# -------
# ``background()`` keeps the bonds of time at 1: one picture, times one number for every
# frame.

fit = ringlet.decompose(video, ringlet.background())
background = np.asarray(fit.ring)
moving = fit.outliers()

# %%
# The simple rival
# ----------------
# The median of every pixel over time.

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    median = np.broadcast_to(np.nanmedian(video, axis=2, keepdims=True), video.shape)
known = ~np.isnan(video)
apart = known & (np.abs(video - median) > 30)
for name, estimate, mask in (
    ("Ringlet", background, moving),
    ("median over time", median, apart),
):
    error = np.sqrt(np.mean((estimate - empty) ** 2))
    precision, recall = (
        (mask & walkers).sum() / mask.sum(),
        (mask & walkers).sum() / (walkers & known).sum(),
    )
    print(
        f"{name:18s} background error {error:4.1f} grey levels;",
        f"moving pixels: precision {precision:.0%}, recall {recall:.0%}",
    )

fig, axes = plt.subplots(2, 2, figsize=(7, 5), layout="constrained")
pictures = {
    "a frame": video,
    "background": background,
    "moving": moving * 255.0,
    "median over time": median,
}
for axis, (name, values) in zip(axes.flat, pictures.items(), strict=True):
    axis.imshow(values[..., 20], cmap="gray", vmin=0, vmax=255)
    axis.set(title=name, xticks=[], yticks=[])

# %%
# The median is as good where the light does not change. It needs every frame at once,
# and cannot follow a sunset.
