"""Where the time of a sweep goes, as bars, and quality over time, as curves."""

from collections.abc import Sequence
from pathlib import Path

from ringlet.bench.measure import PARTS, CaseResult
from ringlet.bench.quality_time import Curve

__all__ = ["draw_parts", "draw_quality_time"]

_COLOURS = ("#1b6ca8", "#4c9f70", "#e0a030", "#7bb274", "#8e6bbf", "#c0392b", "#5dade2", "#b0b7bf")


def draw_parts(results: Sequence[CaseResult], path: Path) -> None:
    """Draw one bar a case, each part as a share of the sweep."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 1.6 + 0.5 * len(results)), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    labels = [f"{result.name}\n{result.sweep:.2g} s" for result in results]
    left = [0.0] * len(results)
    for part, colour in zip(PARTS, _COLOURS, strict=True):
        shares = [100 * result.parts[part] / sum(result.parts.values()) for result in results]
        axes.barh(labels, shares, left=left, color=colour, label=part, height=0.6)
        left = [start + share for start, share in zip(left, shares, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel("share of a sweep (%)")
    axes.set_xlim(0, 100)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=len(PARTS), frameon=False, columnspacing=1.0, handlelength=1.0)
    figure.savefig(path, format="png")


def draw_quality_time(curves: Sequence[Curve], path: Path) -> None:
    """Draw PSNR over processor seconds, one curve a solver."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for curve, colour in zip(curves, _COLOURS, strict=False):
        axes.plot(curve.processor, curve.psnr, color=colour, label=curve.name, marker=".")
    axes.set_xscale("log")
    axes.set_xlabel("processor time (s)")
    axes.set_ylabel("PSNR (dB)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path, format="png")
