"""
Compress, and when not to
=========================

A ring is small where the axes of the data explain each other. Where they do not, use a
codec.
"""

# %%
# Measurements with many axes
# ---------------------------
# Fluorescence of 64 mixtures: emission, excitation and time. The tensor ships with
# TensorLy.

import io

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from skimage import data
from tensorly.datasets import load_kinetic

import ringlet
from ringlet.report.metrics import psnr

spectra = np.asarray(load_kinetic()["tensor"], dtype=np.float32)
print(spectra.shape, f"{spectra.nbytes / 1e6:.1f} MB")

# %%
# Least squares (``loss="l2"``) keep every entry, also rare peaks, as a codec should.

sizes, errors = [], []
for bond in (2, 3, 5, 8):
    fit = ringlet.decompose(spectra, rank=bond, loss="l2", smooth=0)
    dense = np.asarray(fit.ring)
    sizes.append(fit.ring.nbytes)
    errors.append(np.linalg.norm(dense - spectra) / np.linalg.norm(spectra))
    smaller = spectra.nbytes / fit.ring.nbytes
    print(f"rank {bond}: {smaller:5.0f} times smaller, error {errors[-1]:.1%}")

# %%
# The simple rival for numbers
# ----------------------------
# Truncated principal components of the best unfolding, in the same number type.

matrix = spectra.reshape(64 * 12, -1)
left, values, right = np.linalg.svd(matrix, full_matrices=False)
pca_sizes, pca_errors = [], []
for count in (1, 2, 4, 8, 16):
    estimate = (left[:, :count] * values[:count] @ right[:count]).reshape(spectra.shape)
    pca_sizes.append(4 * count * sum(matrix.shape))
    pca_errors.append(np.linalg.norm(estimate - spectra) / np.linalg.norm(spectra))

fig, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
axis.loglog(np.array(sizes) / 1e3, errors, "o-", label="ring")
axis.loglog(np.array(pca_sizes) / 1e3, pca_errors, "s-", label="principal components")
axis.set(
    xlabel="kB",
    ylabel="relative error",
    title=f"fluorescence, {spectra.nbytes / 1e6:.1f} MB",
)
axis.legend()

# %%
# When not to
# -----------
# A clean photo. JPEG knows edges; a ring does not.

photo = data.chelsea()
fit = ringlet.decompose(photo, ringlet.budget("40kB"), time="4s")
file = io.BytesIO()
Image.fromarray(photo).save(file, "JPEG", quality=85)
jpeg = np.asarray(Image.open(io.BytesIO(file.getvalue())))
model = np.asarray(fit.ring)
print(f"ring {fit.ring.nbytes / 1e3:.0f} kB: {psnr(model, photo, 255):.1f} dB")
print(f"JPEG {len(file.getvalue()) / 1e3:.0f} kB: {psnr(jpeg, photo, 255):.1f} dB")

# %%
# ``ring.save(path, precision="float16")`` or ``"int8"`` stores two bytes or one for
# each number.
