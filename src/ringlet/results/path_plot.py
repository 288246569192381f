"""The path of an automatic fit as a plot: validation error over size."""

from collections.abc import Sequence
from typing import Any

from ringlet.errors import ArgumentError, ArgumentTypeError, MissingDependencyError
from ringlet.results.records import Rung

__all__ = ["plot_path"]

_BLUE, _RED, _INK = "#1f6fb2", "#c82614", "#1c2026"


def plot_path(path: Sequence[Rung], units: str | None, axes: Any = None) -> Any:
    """Draw the validation error of every rung over its size, and name its rank; the best one is marked.

    Parameters
    ----------
    path : sequence of Rung
    units : str or None
        Of the data.
    axes : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    """
    if axes is not None and not hasattr(axes, "annotate"):
        raise ArgumentTypeError(f"axes={axes!r} are no axes of Matplotlib; leave them out, or give some")
    if not path:
        raise ArgumentError("the fit has no path: its rank was given; rank='auto' has one")
    if axes is None:
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise MissingDependencyError('plots need Matplotlib: pip install "ringlet[plot]"') from error
        axes = pyplot.subplots(figsize=(7.0, 4.2), layout="constrained")[1]
    sizes, errors = [rung.parameters for rung in path], [rung.validation for rung in path]
    best = min(range(len(path)), key=lambda at: errors[at])
    axes.plot(sizes, errors, color=_BLUE, linewidth=2, marker="o", markersize=5)
    axes.plot(sizes[best], errors[best], color=_RED, marker="o", markersize=9)
    for rung in path:
        axes.annotate(
            ", ".join(map(str, rung.rank)),
            (rung.parameters, rung.validation),
            xytext=(0, 9),
            textcoords="offset points",
            ha="center",
            size=8,
            color=_INK,
        )
    axes.set_xscale("log")
    axes.margins(x=0.12, y=0.18)
    axes.set_xlabel("numbers in the ring")
    axes.set_ylabel(f"validation error ({units})" if units else "validation error")
    axes.set_title("Rungs of the fit, each with its rank; red: the best")
    return axes
