"""Pages in a single file without external resources: the frame, the style, and pictures one over the other."""

import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["Viewed", "ViewerItem", "packed", "viewer", "whole_page"]

_QUALITY = 90  # of WebP pictures: a hundred of them have to fit into a page


@dataclass(frozen=True)
class Viewed:
    """A picture that a viewer can show: its label, a note beside it, and its data address."""

    label: str
    note: str
    source: str


@dataclass(frozen=True)
class ViewerItem:
    """Pictures of one thing, any two of which can be compared."""

    name: str
    pictures: tuple[Viewed, ...]


def packed(picture: "Image", *, lossless: bool = False) -> str:
    """The data address of a picture, as WebP.

    Examples
    --------
    >>> from PIL import Image
    >>> packed(Image.new("RGB", (4, 3)))[:23]
    'data:image/webp;base64,'
    """
    content = BytesIO()
    picture.save(content, "WEBP", quality=_QUALITY, lossless=lossless)
    return f"data:image/webp;base64,{b64encode(content.getvalue()).decode()}"


def viewer(items: Sequence[ViewerItem], item_word: str, left: str, right: str) -> str:
    """Two pictures of an item, one over the other, with a slider between them.

    Parameters
    ----------
    items : sequence of ViewerItem
    item_word : str
        What an item is called. Where there is only one, without a name, nothing can be chosen.
    left, right : str
        Labels of the pictures that are shown first, where an item has them.
    """
    content = json.dumps(
        [
            {
                "name": item.name,
                "pictures": [{"label": p.label, "note": p.note, "source": p.source} for p in item.pictures],
            }
            for item in items
        ]
    ).replace("<", "\\u003c")  # no text of ours may end the script
    choices = "".join(f"<label>{escape(name)}<select></select></label>" for name in (item_word, "Left", "Right"))
    return (
        f'<div class="viewer" data-left="{escape(left)}" data-right="{escape(right)}">'
        f'<div class="choices">{choices}</div>'
        '<div class="stage"><img class="before" alt=""><img class="after" alt=""><div class="bar"></div>'
        '<input type="range" min="0" max="100" value="50" aria-label="How much of the left picture is seen"></div>'
        '<div class="captions"><span></span><span></span></div>'
        f'<script type="application/json">{content}</script></div>'
    )


def whole_page(title: str, body: str, *, styles: Sequence[str] = ()) -> str:
    """A page around its body, with the common style, further style sheets of this folder, and the viewers' script."""
    assets = files("ringlet.report")
    names = ("page.css", *styles, "viewer.js")
    *sheets, script = (assets.joinpath(name).read_text(encoding="utf-8") for name in names)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title>'
        f"<style>{''.join(sheets)}</style></head><body>{body}<script>{script}</script></body></html>\n"
    )
