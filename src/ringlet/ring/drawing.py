"""How a ring looks in a notebook: a small inline SVG and a few facts. Uses only numbers and strings."""

from collections.abc import Sequence
from html import escape
from math import cos, log2, pi, prod, sin

import numpy as np

from ringlet.amounts import format_bytes

__all__ = ["draw", "size_change"]

_ACCENT = "#4a90d9"  # mid-tones stand out on white and on black; text takes the page's own colour
_FONT = "12px system-ui, sans-serif"
_CHARACTER = 8.0  # width of a bold digit at this size, with some margin
_NODE = 8  # radius of a node
_LEG = 20  # from the ring to the label of a mode
_LONGEST_NAME = 16


def draw(
    shape: Sequence[int],
    rank: Sequence[int],
    dtype: np.dtype[np.floating],
    nbytes: int,
    compression: float,
    names: Sequence[str] | None = None,
    units: str | None = None,
) -> str:
    """HTML of a ring: cores as nodes with their mode sizes, bonds as arcs that grow with the rank.

    Parameters
    ----------
    shape, rank : sequence of int
        Mode sizes and bonds, bond k before mode k.
    dtype : dtype
    nbytes : int
    compression : float
    names : sequence of str, optional
    units : str, optional

    Returns
    -------
    str
        An HTML fragment without scripts; names and units are escaped.

    Examples
    --------
    >>> import numpy as np
    >>> draw((4, 5), (2, 3), np.dtype("float32"), 216, 0.4).startswith("<div")
    True
    """
    dense = format_bytes(prod(shape) * np.dtype(dtype).itemsize)
    facts = [
        ("shape", " × ".join(map(str, shape))),
        ("rank", ", ".join(map(str, rank))),
        ("type", str(dtype)),
        ("size", f"{format_bytes(nbytes)}, {size_change(compression)} (dense {dense})"),
    ]
    if units is not None:
        facts.append(("units", units))
    rows = "".join(
        f'<div style="opacity:.65">{name}</div><div style="overflow-wrap:anywhere">{escape(value)}</div>'
        for name, value in facts
    )
    return (
        f'<div style="display:flex;flex-wrap:wrap;align-items:center;gap:8px 28px;font:{_FONT}">'
        f"{_svg(shape, rank, names or [''] * len(shape))}"
        f'<div style="max-width:26em"><div style="font-weight:600;margin-bottom:6px">TensorRing</div>'
        f'<div style="display:grid;grid-template-columns:auto 1fr;gap:3px 14px">{rows}</div></div></div>'
    )


def size_change(compression: float) -> str:
    """Say in words how the ring compares with the dense tensor.

    Examples
    --------
    >>> size_change(7.62), size_change(0.5), size_change(123456.0)
    ('7.6x smaller', '2.0x larger', '123,456x smaller')
    """
    word = "smaller" if compression >= 1 else "larger"
    factor = max(compression, 1 / compression)
    return f"{factor:.1f}x {word}" if factor < 99.5 else f"{factor:,.0f}x {word}"


def _svg(shape: Sequence[int], rank: Sequence[int], names: Sequence[str]) -> str:
    order = len(shape)
    radius = max(44, 9.5 * order)  # many modes need a longer ring to keep their labels apart
    step = 2 * pi / order
    bonds = [_bond(radius, (k - 1) * step, k * step, bond) for k, bond in enumerate(rank)]
    nodes = [_node(radius, k * step) for k in range(order)]
    labels = [_mode(radius, k * step, size, name) for k, (size, name) in enumerate(zip(shape, names, strict=True))]
    high = radius + _LEG + 16
    left, right = min(left for _, left, _ in labels), max(right for _, _, right in labels)
    left, right = min(left, -radius - _NODE), max(right, radius + _NODE)
    drawing = "".join([*bonds, *nodes, *(label for label, _, _ in labels)])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="tensor ring" '
        f'width="{right - left:.0f}" height="{2 * high:.0f}" '
        f'viewBox="{left:.0f} {-high:.0f} {right - left:.0f} {2 * high:.0f}" '
        f'style="font:{_FONT};max-width:100%;overflow:visible" fill="currentColor">{drawing}</svg>'
    )


def _place(radius: float, angle: float) -> tuple[float, float]:
    """Clockwise from the top, as the modes are read."""
    return radius * sin(angle), -radius * cos(angle)


def _bond(radius: float, start: float, end: float, rank: int) -> str:
    middle = (start + end) / 2
    (x0, y0), (x1, y1), (x2, y2) = (_place(radius, angle) for angle in (start, middle, end))
    thickness = min(12.0, 1.2 + 1.1 * log2(rank))
    # The label is inside the ring, further in where its text is parallel to the radius.
    inset = 11 + thickness / 2 + _CHARACTER * (len(str(rank)) - 1) / 2 * abs(sin(middle))
    x, y = _place(radius - inset, middle)
    arc = f"A{radius:.1f} {radius:.1f} 0 0 1"
    return (
        f'<path d="M{x0:.1f} {y0:.1f}{arc} {x1:.1f} {y1:.1f}{arc} {x2:.1f} {y2:.1f}" fill="none" '
        f'stroke="currentColor" stroke-opacity=".45" stroke-width="{thickness:.1f}"/>'
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" dominant-baseline="central" '
        f'fill-opacity=".75">{rank}</text>'
    )


def _node(radius: float, angle: float) -> str:
    x, y = _place(radius, angle)
    tip_x, tip_y = _place(radius + _LEG - 3, angle)
    return (
        f'<path d="M{x:.1f} {y:.1f}L{tip_x:.1f} {tip_y:.1f}" stroke="{_ACCENT}" stroke-width="2"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_NODE}" fill="{_ACCENT}"/>'
    )


def _mode(radius: float, angle: float, size: int, name: str) -> tuple[str, float, float]:
    """Label of a mode at the end of its leg, and how far it reaches to the left and to the right."""
    upright = abs(sin(angle)) < 1e-6
    x, y = _place(radius + _LEG + (7 if upright else 3), angle)
    anchor = "middle" if upright else "start" if x > 0 else "end"
    shown = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    prefix = f'<tspan fill-opacity=".75">{escape(shown)} </tspan>' if shown else ""
    title = f"<title>{escape(name)}</title>" if name else ""
    text = (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" dominant-baseline="central">{title}{prefix}'
        f'<tspan font-weight="600">{size}</tspan></text>'
    )
    width = _CHARACTER * (len(str(size)) + len(shown) + bool(shown))
    before = {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    return text, x - before, x - before + width
