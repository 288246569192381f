"""Pictures drawn with Pillow: panels side by side, and the map of outliers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import MissingDependencyError
from ringlet.sources.media import import_pillow

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

__all__ = [
    "MAP_COLOURS",
    "Panel",
    "draw_comparison",
    "draw_outliers",
    "outlier_picture",
    "screen_picture",
    "show_missing",
]

Colour = tuple[int, int, int]

_PAPER: Colour = (255, 255, 255)
_INK: Colour = (28, 32, 38)
_MUTED: Colour = (98, 107, 118)
_TRUSTED: Colour = (245, 243, 238)
_OUTLIER: Colour = (200, 38, 20)
_MISSING: Colour = (150, 170, 190)
MAP_COLOURS = {"trusted": _TRUSTED, "judged an outlier": _OUTLIER, "missing": _MISSING}  # of maps of outliers
_GREY = 128  # missing entries in a picture
_SMALLEST, _LARGEST = 400, 1000  # width of a panel in pixels
_TALLEST = 2000  # height of a panel
_THINNEST = 40  # either side of a map


@dataclass(frozen=True, eq=False)
class Panel:
    """A picture with a caption.

    Attributes
    ----------
    pixels : array of uint8, (height, width) or (height, width, 3)
    title : str
    note : str
        A line below the title, in smaller print.
    """

    pixels: NDArray[np.uint8]
    title: str
    note: str = ""


def show_missing(pixels: NDArray[np.uint8], observed: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Paint missing entries in neutral grey.

    Examples
    --------
    >>> show_missing(np.array([[7, 9]], np.uint8), np.array([[True, False]]))
    array([[  7, 128]], dtype=uint8)
    """
    return np.where(observed, pixels, np.uint8(_GREY))


def draw_comparison(panels: Sequence[Panel]) -> "Image":
    """Draw panels of one size side by side, captions below: four in two rows, other numbers in one.

    Examples
    --------
    >>> grey = np.full((300, 400), 90, np.uint8)
    >>> draw_comparison([Panel(grey, "Before"), Panel(grey, "After", "nothing changed")]).mode
    'RGB'
    """
    pillow = import_pillow()
    pictures = [_resized(_picture(panel.pixels)) for panel in panels]
    width, height = pictures[0].size
    measure = max(_SMALLEST, width)
    gap = measure // 24
    title_font, note_font = _font(measure // 22), _font(measure // 27)
    title_line, note_line = int(1.4 * title_font.size), int(1.35 * note_font.size)
    notes = [_wrapped(panel.note, note_font, width) for panel in panels]
    caption = gap // 3 + title_line + note_line * max(map(len, notes))
    columns = 2 if len(panels) == 4 else len(panels)
    rows = -(-len(panels) // columns)
    size = (gap + columns * (width + gap), gap + rows * (height + caption + gap))
    canvas: Image = pillow.new("RGB", size, _PAPER)
    pen = _pen(canvas)
    for place, (panel, picture, lines) in enumerate(zip(panels, pictures, notes, strict=True)):
        left = gap + place % columns * (width + gap)
        top = gap + place // columns * (height + caption + gap)
        canvas.paste(picture, (left, top))
        below = top + height + gap // 3
        pen.text((left, below), panel.title, _INK, title_font)
        for number, line in enumerate(lines):
            pen.text((left, below + title_line + number * note_line), line, _MUTED, note_font)
    return canvas


def draw_outliers(distrust: NDArray[np.floating[Any]]) -> "Image":
    """Draw the map of outliers, with a legend below.

    Parameters
    ----------
    distrust : array of shape (height, width)
        As `ringlet.report.outliers.outlier_map` gives it: 0 trusted, 1 outlier, NaN missing.

    Examples
    --------
    >>> draw_outliers(np.array([[0.0, 1.0], [np.nan, 0.0]])).size
    (400, 448)
    """
    pillow = import_pillow()
    picture = outlier_picture(distrust)
    font = _font(max(16, picture.width // 40))
    strip = 3 * int(font.size)
    canvas: Image = pillow.new("RGB", (max(_SMALLEST, picture.width), picture.height + strip), _PAPER)
    canvas.paste(picture, (0, 0))
    _legend(_pen(canvas), font, (int(font.size), picture.height + strip // 2))
    return canvas


def outlier_picture(distrust: NDArray[np.floating[Any]]) -> "Image":
    """The same without a legend, of a size for screens."""
    condensed = _condensed(distrust)
    share = np.nan_to_num(condensed)[..., None]
    colours = np.array(_TRUSTED) * (1 - share) + np.array(_OUTLIER) * share
    colours[np.isnan(condensed)] = _MISSING
    return _thickened(_resized(_picture(colours.round().astype(np.uint8))))


def screen_picture(pixels: NDArray[np.uint8]) -> "Image":
    """A picture of a size for screens: small ones enlarged so that entries stay squares, large ones averaged."""
    return _thickened(_resized(_picture(pixels)))


def _legend(pen: "ImageDraw", font: "FreeTypeFont", start: tuple[int, int]) -> None:
    """Colour keys with their words, from left to right, centred on the height of `start`."""
    (x, y), side = start, int(font.size)
    for word, colour in MAP_COLOURS.items():
        pen.rectangle((x, y - side // 2, x + side, y + side - side // 2), colour, _MUTED)
        pen.text((x + int(1.5 * side), y), word, _INK, font, anchor="lm")
        x += int(1.5 * side + pen.textlength(word, font) + 1.5 * side)


def _picture(pixels: NDArray[np.uint8]) -> "Image":
    picture: Image = import_pillow().fromarray(np.ascontiguousarray(pixels)).convert("RGB")
    return picture


def _resized(picture: "Image") -> "Image":
    """Small pictures by a whole factor, so that entries stay sharp squares; large ones by averaging."""
    from PIL.Image import Resampling

    factor = min(-(-_SMALLEST // picture.width), _TALLEST // picture.height)
    if factor > 1:
        return picture.resize((factor * picture.width, factor * picture.height), Resampling.NEAREST)
    shrink = max(picture.width / _LARGEST, picture.height / _TALLEST)
    if shrink > 1:
        width, height = (max(1, round(side / shrink)) for side in picture.size)
        return picture.resize((width, height), Resampling.BOX)
    return picture


def _condensed(distrust: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """Means over blocks of a map with more entries than a panel has pixels; a thin side keeps its entries."""
    height, width = distrust.shape
    shrink = max(1.0, height / _TALLEST, width / _LARGEST)
    if shrink == 1:
        return distrust
    known = ~np.isnan(distrust)
    sums, counts = np.where(known, distrust, 0), known.astype(np.float32)
    for axis, side in enumerate(distrust.shape):
        blocks = min(side, max(_THINNEST, round(side / shrink)))
        starts = np.arange(blocks) * side // blocks
        sums, counts = (np.add.reduceat(values, starts, axis=axis) for values in (sums, counts))
    means = np.full(sums.shape, np.nan, sums.dtype)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def _thickened(picture: "Image") -> "Image":
    """Thin pictures stretched across by a whole factor, so that their entries are visible."""
    from PIL.Image import Resampling

    width, height = (side * max(1, -(-_THINNEST // side)) for side in picture.size)
    return picture.resize((width, height), Resampling.NEAREST)


def _wrapped(text: str, font: "FreeTypeFont", width: int) -> list[str]:
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and font.getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _pen(canvas: "Image") -> "ImageDraw":
    from PIL import ImageDraw

    return ImageDraw.Draw(canvas)


def _font(size: int) -> "FreeTypeFont":
    from PIL import ImageFont

    font = ImageFont.load_default(size)
    if isinstance(font, ImageFont.FreeTypeFont):
        return font
    raise MissingDependencyError("pictures with captions need a Pillow that was built with FreeType")
