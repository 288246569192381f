"""
In a scikit-learn pipeline
==========================

A classifier finds the kind of a household from a week of power readings. Readings are
lost, and some are wrong. ``RingImputer`` is a step before the classifier.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ringlet.sklearn import RingImputer

# %%
# The data
# --------
# A row is a household and has 168 columns, the hours of a week. ``modes=(7, 24)`` says
# that they are days and hours. People of one kind come home an hour later. These
# readings are generated.

rng = np.random.default_rng(8)
day, hour = np.ogrid[:7, :24]
late = rng.random(240) < 0.5
evening = np.exp(-0.5 * ((hour - 18 - late[:, None, None]) / 2.0) ** 2)
morning = np.exp(-0.5 * ((hour - 7) / 1.5) ** 2) * np.where(day < 5, 1, 0.3)
size, habit = rng.uniform(0.5, 2, (240, 1, 1)), rng.uniform(0.2, 1, (240, 1, 1))
week = size * (0.3 + habit * morning + evening)
week = week + 0.15 * rng.standard_normal((240, 7, 24))
readings = week.reshape(240, 168)

damaged = np.where(rng.random(readings.shape) < 0.03, 20.0, readings)
damaged[rng.random(readings.shape) < 0.6] = np.nan

# %%
# The pipeline, and its rivals
# ----------------------------
# Every imputer is fitted to the training part only, and applied to households that it
# has not seen.

imputers = {
    "RingImputer": RingImputer(modes=(7, 24), random_state=0),
    "KNNImputer": KNNImputer(),
    "SimpleImputer": SimpleImputer(strategy="median"),
}


def accuracy(table, *steps):
    pipeline = make_pipeline(
        *steps, StandardScaler(), LogisticRegression(C=0.1, max_iter=2000)
    )
    return cross_val_score(pipeline, table, late, cv=3).mean()


scores = {name: accuracy(damaged, one) for name, one in imputers.items()}
scores["undamaged"] = accuracy(readings)
for name, score in scores.items():
    print(f"{name:14s} accuracy {score:.1%}")

# %%
# One household, as it was measured and as the imputers fill it:

household = 5
fig, axes = plt.subplots(2, 1, figsize=(7, 4.6), sharex=True, layout="constrained")
axes[0].plot(readings[household], color="tab:grey", linewidth=3, label="truth")
axes[0].plot(damaged[household], "k.", label="measured")
axes[1].plot(readings[household], color="tab:grey", linewidth=3, label="truth")
for name, imputer in list(imputers.items())[:2]:
    filled = imputer.fit_transform(damaged)
    axes[1].plot(filled[household], linewidth=1, label=name)
for axis in axes:
    axis.set(ylabel="reading", ylim=(-0.5, 1.6 * readings[household].max()))
    axis.legend(ncols=3, frameon=False)
axes[1].set_xlabel("hour of the week")

# %%
# Rows are judged one by one, so a wrong reading of one household does not spoil
# another. Where columns are no grid, leave ``modes`` out. Where they are of different
# kinds, use ``IterativeImputer``.
