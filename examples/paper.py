"""
Reproduce the paper
===================

He and Atia compare their methods with others on photos with missing entries and
outliers. This page repeats one photo of that experiment in a small size. One command
runs the whole: ``ringlet paper image-completion``.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import ringlet
from ringlet.baselines import L1TNN, TRALS, LpTRC
from ringlet.report.metrics import psnr

# %%
# The damage
# ----------
# Half of the entries are observed. A fifth of these is salt and pepper.

truth = data.chelsea()[:240:2, 60:360:2].astype(np.float32) / 255
rng = np.random.default_rng(11)
observed = rng.random(truth.shape) < 0.5
noisy = np.where(
    rng.random(truth.shape) < 0.2, rng.integers(0, 2, truth.shape), truth
).astype(np.float32)

# %%
# The methods
# -----------
# ``paper()`` is the method as it is printed: a given rank, no penalties. TRALS knows
# neither gaps nor outliers; it gets the gaps filled with the mean. That is the simple
# rival.

rank = (6, 6, 3)
filled = np.where(observed, noisy, noisy[observed].mean())
results = {
    "damaged": np.where(observed, noisy, 0),
    "TRALS": np.asarray(ringlet.decompose(filled, rank, solver=TRALS()).ring),
    "LpTRC": ringlet.complete(noisy, rank=rank, solver=LpTRC(), mask=observed).tensor,
    "L1TNN": ringlet.complete(noisy, solver=L1TNN(), mask=observed).tensor,
    "SAWRTRD, printed": np.asarray(
        ringlet.decompose(
            noisy, rank, solver=ringlet.SAWRTRD.paper(samples=3000), mask=observed
        ).ring
    ),
    "decompose(x)": np.asarray(ringlet.decompose(noisy, mask=observed).ring),
}

fig, axes = plt.subplots(2, 3, figsize=(7.5, 4.4), layout="constrained")
for axis, (name, picture) in zip(axes.flat, results.items(), strict=True):
    axis.imshow(np.clip(picture, 0, 1))
    axis.set(title=f"{name}, {psnr(picture, truth, 1):.1f} dB", xticks=[], yticks=[])

# %%
# The printed method needs a rank that suits the picture, and many known entries. The
# automatic fit chooses rank and penalties by held-out entries. :doc:`/experiments` has
# the settings of all experiments, :doc:`/results/README` the results.
