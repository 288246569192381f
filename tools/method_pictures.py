"""Draw the pictures of docs/how/method.md and automatic.md: `python tools/method_pictures.py docs/images`."""

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import numpy as np

import ringlet
from ringlet.sampling.draws import sample_sizes

_BLUE, _RED, _GREY = "#2f6fb2", "#c8502d", "#8a8a8a"


def main() -> None:
    """Draw all of them."""
    folder = Path(sys.argv[1])
    for name, figure in {
        "method-loss": _loss(),
        "method-gram": _gram(),
        "method-sampling": _sampling(),
        "automatic-path": _path(),
    }.items():
        figure.savefig(folder / f"{name}.png", dpi=110, pil_kwargs={"optimize": True})
        plt.close(figure)


def _loss() -> plt.Figure:
    """What an error costs, what an entry weighs, and what comes out of a fit with both."""
    figure, axes = plt.subplots(1, 3, figsize=(10, 2.9), layout="constrained", width_ratios=(1, 1, 1.5))
    error = np.linspace(-4, 4, 401)
    weight = np.exp(-(error**2) / 2)
    axes[0].plot(error, error**2 / 2, color=_RED, label="least squares")
    axes[0].plot(error, 1 - weight, color=_BLUE, label="correntropy")
    axes[0].set(ylim=(0, 3), xlabel="error / σ", title="cost of an error")
    axes[0].legend(frameon=False, loc="upper center", fontsize=8)
    axes[1].plot(error, np.ones_like(error), color=_RED)
    axes[1].plot(error, weight, color=_BLUE)
    axes[1].set(ylim=(0, 1.1), xlabel="error / σ", title="weight of the entry")
    i, j, k = np.ogrid[:20, :40, :12]
    truth = (2 + np.sin(j / 6)) * (1 + 0.3 * np.cos(i / 5)) + 0.1 * k
    data = truth.copy()
    data[np.random.default_rng(0).random(truth.shape) < 0.1] = 9.0
    axes[2].plot(data[7, :, 5], ".", color=_GREY, label="data")
    for loss, colour in {"l2": _RED, "correntropy": _BLUE}.items():
        solver = ringlet.AWRTRD(loss=loss, smooth=0, sweeps=60)
        ring = ringlet.decompose(data, 3, solver=solver).ring
        axes[2].plot(np.asarray(ring[7, :, 5]), color=colour, label="least squares" if loss == "l2" else loss)
    axes[2].set(title="one fibre; a tenth of the data is wrong", xlabel="index", ylim=(1, 9.6))
    axes[2].legend(frameon=False, loc="center right", fontsize=8)
    return figure


def _gram() -> plt.Figure:
    """The chain of transfer matrices without one core, closed by what stands before it and after it."""
    figure, axis = plt.subplots(figsize=(9, 2.1), layout="constrained")
    axis.set(xlim=(-0.6, 6.6), ylim=(-0.72, 0.82), aspect="equal")
    axis.axis("off")
    groups = {"prefix product, kept": (0, 2), "suffix product, kept": (4, 6)}
    for words, (first, last) in groups.items():
        corner, size = (first - 0.42, -0.42), (last - first + 0.84, 0.84)
        axis.add_patch(plt.Rectangle(corner, *size, facecolor=_BLUE, alpha=0.12, edgecolor="none"))
        axis.text((first + last) / 2, 0.55, words, ha="center", color=_BLUE)
    axis.plot([-0.5, 6.5, 6.5, -0.5, -0.5], [0, 0, -0.62, -0.62, 0], color=_GREY, zorder=0, linewidth=1.5)
    for place in range(7):
        out = place == 3
        style = {"facecolor": "white", "edgecolor": _RED if out else _BLUE, "linestyle": "--" if out else "-"}
        axis.add_patch(plt.Rectangle((place - 0.28, -0.28), 0.56, 0.56, linewidth=1.5, **style))
        axis.text(place, 0, f"$T_{place + 1}$", ha="center", va="center", color=_RED if out else "black")
    axis.text(3, 0.55, "core 4 is updated", ha="center", color=_RED)
    return figure


def _sampling() -> plt.Figure:
    """The same number of columns, as a subtensor and as single rows of the design."""
    rng = np.random.default_rng(3)
    height, width, taken = 24, 36, 54
    rows, columns = sample_sizes((height, width), taken)
    lattice, single = np.zeros((height, width), bool), np.zeros((height, width), bool)
    chosen = np.sort(rng.choice(height, rows, replace=False)), np.sort(rng.choice(width, columns, replace=False))
    lattice[np.ix_(*chosen)] = True
    single.flat[rng.choice(height * width, rows * columns, replace=False)] = True
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.3), layout="constrained")
    titles = (
        f"subtensor: {rows} + {columns} slices of cores",
        f"single places: {single.any(1).sum()} + {single.any(0).sum()} slices of cores",
    )
    for axis, mask, title in zip(axes, (lattice, single), titles, strict=True):
        used = 0.25 * (mask.any(1)[:, None] | mask.any(0)[None, :])
        axis.imshow(np.where(mask, 1.0, used), cmap="Blues", vmin=0, vmax=1.1)
        axis.set(title=title, xlabel="index along mode 3", ylabel="index along mode 2", xticks=[], yticks=[])
    return figure


def _path() -> plt.Figure:
    """Rungs of an automatic fit."""
    rng = np.random.default_rng(2)
    i, j, k = np.ogrid[:40, :30, :20]
    waves = [np.cos(i / a + k / b) * np.sin(j / c + k / a) for a, b, c in rng.uniform(4, 12, (8, 3))]
    truth = 5 + sum(waves)
    data = truth + 0.05 * rng.standard_normal(truth.shape)
    data[rng.random(data.shape) < 0.05] = 15.0
    data[rng.random(data.shape) < 0.5] = np.nan
    fit = ringlet.decompose(data)
    figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
    fit.plot_path(axis)
    return figure


if __name__ == "__main__":
    main()
