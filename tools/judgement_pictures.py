"""Draw the pictures of docs/how/judgement.md: `python tools/judgement_pictures.py docs/images`."""

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import ringlet


def main() -> None:
    """Fit a photo, a log and a field, and draw what was judged."""
    folder = Path(sys.argv[1])
    truth = data.astronaut()[30:130, 170:270]
    rng = np.random.default_rng(0)
    wrong = rng.random(truth.shape) < 0.2
    photo = np.where(wrong, rng.choice(np.array([0, 255], np.uint8), truth.shape), truth)
    learned, kernel = (ringlet.decompose(photo, loss=loss) for loss in ("learned", "correntropy"))
    _save(_weights(photo, wrong, learned, kernel), folder / "judgement-weights.png")
    _save(_values(learned), folder / "judgement-values.png")
    _save(_log(), folder / "judgement-log.png")
    _save(_field(), folder / "judgement-field.png")


def _save(figure: plt.Figure, path: Path) -> None:
    figure.savefig(path, dpi=100, pil_kwargs={"optimize": True})
    plt.close(figure)


def _weights(photo: np.ndarray, wrong: np.ndarray, learned: ringlet.Fit, kernel: ringlet.Fit) -> plt.Figure:
    figure, axes = plt.subplots(1, 3, figsize=(7.5, 2.8), layout="constrained")
    axes[0].imshow(photo)
    axes[0].set_title("data, a fifth is wrong")
    fits = {"doubted by the kernel": kernel, "doubted, learned": learned}
    for axis, (title, fit) in zip(axes[1:], fits.items(), strict=True):
        distrust = np.where(wrong, 0, 1 - fit.weights()).max(axis=2)
        axis.imshow(distrust, vmin=0, vmax=1, cmap="inferno")
        axis.set_title(title)
    for axis in axes:
        axis.set(xticks=[], yticks=[])
    return figure


def _values(fit: ringlet.Fit) -> plt.Figure:
    model = fit.outlier_model
    figure, axis = plt.subplots(figsize=(7, 2.8), layout="constrained")
    axis.stairs(model.counts - model.wrong, model.edges, fill=True, color="tab:grey", alpha=0.6, label="judged right")
    axis.stairs(model.wrong, model.edges, fill=True, color="tab:red", label="judged wrong")
    axis.set(xlabel="value", ylabel="share of the entries", yscale="log", title="which values are wrong")
    axis.legend(frameon=False)
    return figure


def _log() -> plt.Figure:
    rng = np.random.default_rng(1)
    sensor, day, hour = np.ogrid[:20, :28, :24]
    truth = 10 + sensor + (3 + np.sin(day / 4)) * np.sin((hour - 9) / 12 * np.pi)
    log = truth + 0.3 * rng.standard_normal(truth.shape)
    log[rng.random(log.shape) < 0.02] += 4
    one, shown, stuck = 12, slice(0, 7), slice(2, 5)
    log[one, stuck] = log[one, 2, 0]
    fit = ringlet.decompose(log)
    values, weights = log[one, shown].ravel(), fit.weights((one, shown)).ravel()
    figure, axis = plt.subplots(figsize=(8, 3.4), layout="constrained")
    axis.plot(truth[one, shown].ravel(), color="tab:grey", linewidth=3, alpha=0.5, label="truth")
    axis.plot(np.asarray(fit.ring[one, shown]).ravel(), color="tab:blue", linewidth=1, label="ring")
    found = axis.scatter(np.arange(len(values)), values, c=weights, cmap="RdYlGn", vmin=0, vmax=1, s=14)
    where = np.flatnonzero(fit.outliers((one, shown)).ravel())
    axis.plot(where, values[where], "o", markersize=10, markerfacecolor="none", color="black", label="fit.outliers()")
    figure.colorbar(found, label="weight")
    axis.set(xlabel="hour of the week", ylabel="reading", title="one of twenty sensors, stuck from hour 48 to 119")
    axis.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.1), frameon=False)
    return figure


def _field() -> plt.Figure:
    """A smooth field with gross errors: data, weights, and what is restored."""
    rng = np.random.default_rng(2)
    x, y, time = np.ogrid[0:1:60j, 0:1:90j, 0:1:12j]
    truth = np.sin(5 * x + 2 * time) * np.cos(7 * y - 3 * time) + 2 * np.exp(-20 * ((x - 0.5) ** 2 + (y - time) ** 2))
    data = truth + 0.02 * rng.standard_normal(truth.shape)
    wrong = rng.random(truth.shape) < 0.05
    data[wrong] = rng.uniform(-3, 6, np.count_nonzero(wrong))
    fit = ringlet.decompose(data)
    shown = {"data, 5 % are wrong": data, "weights": fit.weights(), "restored": fit.restored(), "truth": truth}
    figure, axes = plt.subplots(2, 2, figsize=(7, 5.2), layout="constrained")
    for axis, (title, values) in zip(axes.flat, shown.items(), strict=True):
        limits, colours = ((0, 1), "gray") if title == "weights" else ((-1.2, 3), "viridis")
        axis.imshow(values[..., 6], vmin=limits[0], vmax=limits[1], cmap=colours)
        axis.set(xticks=[], yticks=[], title=title)
    return figure


if __name__ == "__main__":
    main()
