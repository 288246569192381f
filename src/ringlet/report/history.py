"""The course of a fit as a plot, drawn with Matplotlib."""

import os
from collections.abc import Sequence
from math import isfinite, nan
from typing import Any

from ringlet.report.style import INK, dress, new_figure
from ringlet.results.records import SweepRecord

__all__ = ["plot_history"]

_BLUE, _RED = "#1f6fb2", "#c82614"


def plot_history(
    history: Sequence[SweepRecord],
    path: str | os.PathLike[str],
    *,
    tol: float = 0.0,
    units: str = "data units",
) -> None:
    """Plot change, kernel width and mean weight over the sweeps into a PNG file.

    Parameters
    ----------
    history : sequence of SweepRecord
        As a fit gives it.
    path : path
        Where to write, as PNG whatever the suffix.
    tol : float
        The change at which the fit stops; drawn as a line if positive.
    units : str
        Unit of the data, for the axis of the kernel width.

    Examples
    --------
    >>> import io, numpy as np, ringlet
    >>> fit = ringlet.decompose(np.eye(6), rank=2)
    >>> picture = io.BytesIO()
    >>> plot_history(fit.history, picture)
    >>> picture.getvalue()[1:4]
    b'PNG'
    """
    figure = new_figure(10, 3.9)
    left, right = figure.subplots(1, 2)
    twin = right.twinx()
    for axes in (left, right, twin):
        _dress(axes)
    sweeps = [record.sweep for record in history]
    changes = [record.change if record.change > 0 else nan for record in history]  # a log axis has no zero
    _draw(left, sweeps, changes, _BLUE, "relative change")
    _draw(right, sweeps, [record.sigma for record in history], _BLUE, f"kernel width ({units})")
    _draw(twin, sweeps, [record.mean_weight for record in history], _RED, "mean weight (1 = trusted)")
    if any(map(isfinite, changes)):
        left.set_yscale("log")
    left.set_title("Change of the ring in each sweep")
    right.set_title("Kernel width and trust")
    right.set_ylim(bottom=0)
    twin.set_ylim(0, 1.05)
    twin.spines["right"].set_visible(True)
    twin.grid(visible=False)
    if tol > 0:
        _mark_tolerance(left, tol)
    figure.savefig(path, format="png")


def _dress(axes: Any) -> None:
    """As all plots, over whole sweeps."""
    dress(axes)
    axes.set_xlabel("sweep", color=INK)
    axes.xaxis.get_major_locator().set_params(integer=True)


def _draw(axes: Any, sweeps: Sequence[int], values: Sequence[float], colour: str, label: str) -> None:
    """Draw a line over the sweeps, with gaps where there is no number, and the axis in its colour."""
    finite = [value if isfinite(value) else nan for value in values]
    axes.plot(sweeps, finite, color=colour, linewidth=2, marker="o", markersize=3)
    axes.set_ylabel(label, color=colour)
    axes.tick_params(axis="y", labelcolor=colour)


def _mark_tolerance(axes: Any, tol: float) -> None:
    """Draw the line at which the fit stops, its words at the left where the change is still large."""
    axes.axhline(tol, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    axes.annotate(
        f"tolerance {tol:g}",
        (0.02, tol),
        xycoords=("axes fraction", "data"),
        xytext=(0, 4),
        textcoords="offset points",
        color=INK,
    )
