"""
Run a fit on a cluster
======================

The passes over the data run on the workers of a Dask cluster. The result has the same
bits as on one machine.
"""

# %%
# The data
# --------
# A dask array whose chunks are made by the workers. The whole array never exists in one
# place.

import logging

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

import ringlet


def chunk(block_info=None):
    (i0, i1), (j0, j1), (k0, k1) = block_info[None]["array-location"]
    i, j, k = np.ogrid[i0:i1, j0:j1, k0:k1]
    values = np.cos(i / 9 + k / 14) * np.sin(j / 7) + 0.1 * k / 60
    rng = np.random.default_rng([i0, j0, k0])
    values[rng.random(values.shape) < 0.05] = 9.0
    values[rng.random(values.shape) < 0.3] = np.nan
    return values.astype(np.float32)


x = da.map_blocks(
    chunk,
    chunks=((30, 30), (30, 30), (20, 20)),
    dtype=np.float32,
    meta=np.empty((0, 0, 0), np.float32),
)

# %%
# The cluster
# -----------
# Here two workers in this process. ``Client("tcp://...")`` is a real one.

with (
    LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        dashboard_address=None,
        silence_logs=logging.ERROR,
    ) as cluster,
    Client(cluster) as client,
):
    there = ringlet.decompose(
        x, rank=4, smooth=0, sweeps=12, executor=ringlet.DaskExecutor(client)
    )
print(there)

# %%
# The simple rival
# ----------------
# No cluster: one machine, all threads. It should be your first choice while the machine
# can read the data.

here = ringlet.decompose(x.compute(), rank=4, smooth=0, sweeps=12)
i, j, k = np.ogrid[:60, :60, :40]
truth = np.cos(i / 9 + k / 14) * np.sin(j / 7) + 0.1 * k / 60
for name, fit in {"cluster": there, "one machine": here}.items():
    print(f"{name:12s} largest error {np.abs(np.asarray(fit.ring) - truth).max():.4f}")

pictures = {"data": x[..., 0].compute(), "ring": there.ring[..., 0]}
pictures["truth"] = truth[..., 0]
fig, axes = plt.subplots(1, 3, figsize=(7, 2.6), layout="constrained")
for axis, (name, picture) in zip(axes, pictures.items(), strict=True):
    axis.imshow(picture, vmin=-1, vmax=1, cmap="RdBu")
    axis.set(title=name, xticks=[], yticks=[])

# %%
# ``ringlet.plan`` and ``ringlet plan --workers N`` predict traffic and speed before
# anything runs. :doc:`/scale` says what was measured. A cluster helps where one
# machine cannot read the data fast enough.
