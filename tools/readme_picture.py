"""Draw the picture of the README from two examples: `python tools/readme_picture.py docs/images/overview.png`."""

import runpy
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import numpy as np

_EXAMPLES = Path(__file__).parents[1] / "examples"
_BAND = 30


def main() -> None:
    """Run the examples and draw what they have made."""
    log, cube = (runpy.run_path(str(_EXAMPLES / name)) for name in ("sensor_log.py", "spectral_cube.py"))
    plt.close("all")
    figure = plt.figure(figsize=(10, 5.8), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(1, 1.25))
    _draw_log(above.subplots(1, 2, sharex=True, sharey=True), log)
    _draw_cube(below.subplots(1, 4), cube)
    figure.savefig(sys.argv[1], dpi=110, bbox_inches="tight", pad_inches=0.05, pil_kwargs={"optimize": True})


def _draw_log(axes: np.ndarray, made: dict) -> None:
    week = made["place"], 3
    logged, wrong = made["log"][week].ravel(), made["wrong"][week].ravel()
    axes[0].plot(logged, ".-", color="tab:grey", linewidth=0.8, markersize=4)
    axes[0].plot(np.flatnonzero(wrong), logged[wrong], "o", color="tab:red", markersize=5, label="wrong")
    axes[0].set(title="sensor log: hours and days lost, some wrong", xlabel="hour of the week", ylabel="counts")
    axes[0].legend(frameon=False, fontsize=8)
    axes[1].plot(made["linear"][week].ravel(), color="tab:orange", linewidth=1, label="interpolation")
    axes[1].plot(made["truth"][week].ravel(), color="tab:grey", linewidth=4, alpha=0.5, label="truth")
    axes[1].plot(made["filled"][week].ravel(), color="tab:blue", linewidth=1.4, label="Ringlet")
    axes[1].set(title="filled", xlabel="hour of the week", ylim=(-5, 1.2 * made["truth"][week].max()), xlim=(-3, 170))
    axes[1].legend(frameon=False, ncols=3, fontsize=8)


def _draw_cube(axes: np.ndarray, made: dict) -> None:
    low, high = np.quantile(made["truth"][:, :, _BAND], (0.01, 0.99))
    titles = {
        "truth": "spectral cube, one band",
        "cube": "damaged",
        "mended": "Ringlet",
        "rival": "interpolation and median",
    }
    for axis, (name, title) in zip(axes, titles.items(), strict=True):
        axis.imshow(made[name][:, :, _BAND], cmap="gray", vmin=low, vmax=high)
        axis.set(title=title, xticks=[], yticks=[])


if __name__ == "__main__":
    main()
