"""
Restore a photo
===============

Half of the values of a photo are lost. A fifth of the others is salt and pepper.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import ringlet
from ringlet.report.metrics import psnr

truth = data.coffee()[::2, ::2]
rng = np.random.default_rng(4)
known = rng.random(truth.shape) < 0.5
ruined = rng.random(truth.shape) < 0.2
damaged = np.where(
    known,
    np.where(ruined, rng.choice(np.array([0, 255], np.uint8), truth.shape), truth),
    0,
).astype(np.uint8)

# %%
# The fit
# -------
# ``restore`` gives pixels again. It sees that black and white are far more frequent
# than they should be.

restored = ringlet.restore(damaged, mask=known)

# %%
# The simple rival
# ----------------
# Whoever knows that the damage is salt and pepper treats 0 and 255 as missing. SciPy
# then interpolates the rest, colour by colour.

from scipy.interpolate import griddata

rows, columns = np.indices(truth.shape[:2])
rival = np.empty(truth.shape)
for colour in range(3):
    good = (
        known[..., colour] & (damaged[..., colour] > 0) & (damaged[..., colour] < 255)
    )
    rival[..., colour] = griddata(
        (rows[good], columns[good]),
        damaged[good][:, colour],
        (rows, columns),
        fill_value=128,
    )

fig, axes = plt.subplots(2, 2, figsize=(7, 5), layout="constrained")
pictures = {
    "truth": truth,
    "damaged": damaged,
    "Ringlet": restored,
    "SciPy without 0 and 255": rival,
}
for axis, (name, picture) in zip(axes.flat, pictures.items(), strict=True):
    axis.imshow(np.clip(picture, 0, 255).astype(np.uint8))
    score = "" if name == "truth" else f", {psnr(picture, truth, 255):.1f} dB"
    axis.set(title=name + score, xticks=[], yticks=[])

# %%
# A photo has few axes, and neighbouring pixels predict each other well: simple methods
# are strong here. Ringlet does not know what the damage looks like. For holes in a
# clean photo, OpenCV's ``inpaint`` is a good and faster choice.
#
# From the shell::
#
#     ringlet restore damaged.png --mask known.png -o clean.png --report page.html
#
# Dark pixels of ``known.png`` are missing. With ``--trust-known`` only they change.
