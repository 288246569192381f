"""
Restore a video
===============

A short film in which 70 % of the values are lost and a fifth of the others is salt and
pepper.
"""

# %%
# The data
# --------
# A camera passes slowly over a table, and the light of a lamp moves the other way.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter, map_coordinates
from skimage import data

import ringlet
from ringlet.report.metrics import psnr

rng = np.random.default_rng(10)
table = 0.75 * data.coffee()[::4, ::4]
y, x = np.mgrid[:54, :72].astype(float)
frames = []
for t in range(16):
    seen = [
        map_coordinates(
            table[..., colour], (y + 20 + 0.1 * t, x + 20 + 0.7 * t), order=1
        )
        for colour in range(3)
    ]
    lamp = 40 * np.exp(-((y - 20) ** 2 + (x - 70 + 2 * t) ** 2) / 200)
    frames.append(np.clip(np.stack(seen, axis=-1) + lamp[..., None], 0, 255))
truth = np.stack(frames, axis=-1).astype(np.uint8)

known = rng.random(truth.shape) < 0.3
spoilt = rng.random(truth.shape) < 0.2
damaged = np.where(spoilt, rng.choice(np.array([0, 255], np.uint8), truth.shape), truth)

# %%
# The fit
# -------

restored = ringlet.restore(damaged, mask=known)

# %%
# The simple rival
# ----------------
# Treat 0 and 255 as missing. Then average what is left over neighbours in space and
# time, with Gaussian weights.

good = known & (damaged > 0) & (damaged < 255)
width = (1.2, 1.2, 0, 0.7)
rival = gaussian_filter(np.where(good, damaged, 0.0), width) / np.maximum(
    gaussian_filter(good.astype(float), width), 1e-6
)

fig, axes = plt.subplots(2, 2, figsize=(7, 5.6), layout="constrained")
films = {
    "truth": truth,
    "damaged": np.where(known, damaged, 0),
    "Ringlet": restored,
    "Gaussian means": rival,
}
for axis, (name, film) in zip(axes.flat, films.items(), strict=True):
    axis.imshow(np.clip(film[..., 8], 0, 255).astype(np.uint8))
    score = "" if name == "truth" else f", {psnr(film, truth, 255):.1f} dB"
    axis.set(title=name + score, xticks=[], yticks=[])

# %%
# The rival knows which values are wrong. It blurs, and the ring does not: it uses that
# one frame is much like the next. Fast motion is harder for a ring than for
# local means.
#
# From the shell::
#
#     ringlet restore damaged.mp4 --mask known.png -o clean.mp4
