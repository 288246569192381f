"""What wrong values look like, as a plot drawn with Matplotlib."""

import os
from typing import Any

import numpy as np

from ringlet.report.style import INK, dress, new_figure
from ringlet.results.wrong_values import WrongValues

__all__ = ["plot_wrong_values"]

_BLUE, _RED = "#1f6fb2", "#c82614"
_BARS = 64


def plot_wrong_values(model: WrongValues, path: str | os.PathLike[str], *, units: str = "data units") -> None:
    """Plot the histogram of all observed values, and of those that are wrong, into a PNG file.

    Parameters
    ----------
    model : WrongValues
        `Fit.outlier_model`.
    path : path
        Where to write, as PNG whatever the suffix.
    units : str
        Unit of the data.

    Examples
    --------
    >>> import io, ringlet
    >>> x = np.random.default_rng(0).normal(size=(20, 15, 10))
    >>> picture = io.BytesIO()
    >>> plot_wrong_values(ringlet.decompose(x, rank=1).outlier_model, picture)
    >>> picture.getvalue()[1:4]
    b'PNG'
    """
    figure = new_figure(7, 3.9)
    axes = figure.subplots()
    dress(axes)
    bars = np.linspace(model.edges[0], model.edges[-1], _BARS + 1)
    _draw(axes, bars, _spread(model.edges, model.counts, bars), _BLUE, "all observed entries")
    _draw(axes, bars, _spread(model.edges, model.wrong, bars), _RED, "wrong ones")
    axes.set_yscale("log")
    axes.set_xlabel(f"value ({units})", color=INK)
    axes.set_ylabel("share of the observed entries", color=INK)
    axes.set_title(f"Wrong values: {model.share:.1%} of the observed entries")
    axes.legend(frameon=False, labelcolor=INK)
    figure.savefig(path, format="png")


def _draw(axes: Any, bars: Any, shares: Any, colour: str, label: str) -> None:
    axes.stairs(shares, bars, color=colour, fill=True, alpha=0.55, label=label)


def _spread(edges: Any, shares: Any, bars: Any) -> Any:
    """Shares of cells, as shares of bars."""
    below = np.concatenate([[0.0], np.cumsum(shares)])
    return np.diff(np.interp(bars, edges, below))
