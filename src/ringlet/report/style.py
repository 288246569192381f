"""Common style of all plots: Matplotlib figures without pyplot, with light frames."""

from types import ModuleType
from typing import Any

from ringlet.errors import MissingDependencyError

__all__ = ["FRAME", "INK", "dress", "import_matplotlib", "new_figure"]

INK, FRAME, _GRID = "#1c2026", "#9aa3ad", "#e4e7eb"


def import_matplotlib() -> ModuleType:
    """Import Matplotlib, or raise an error that says how to install it."""
    try:
        import matplotlib.figure
    except ImportError as error:
        raise MissingDependencyError('plots need Matplotlib: pip install "ringlet[plot]"') from error
    module: ModuleType = matplotlib
    return module


def new_figure(width: float, height: float) -> Any:
    """Make a figure of this size in inches; without pyplot, nothing stays open."""
    import_matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return Figure(figsize=(width, height), dpi=160, layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.1))


def dress(axes: Any) -> None:
    """Light frames, so that lines and bars stand out."""
    for side, spine in axes.spines.items():
        spine.set_color(FRAME)
        spine.set_visible(side in ("left", "bottom"))
    axes.grid(color=_GRID)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", color=FRAME, labelcolor=INK)
    axes.title.set(color=INK, size=12)
