"""The page about the demonstration: what was damaged, what came out, and where to go on."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from ringlet.report.html import packed, whole_page
from ringlet.sources.media import import_pillow
from ringlet.store.atomic import atomic_output

__all__ = ["Section", "write_page"]

Section = tuple[str, str, Sequence[str], Path]  # a heading, a sentence, further sentences, and a picture


def write_page(path: Path, sections: Sequence[Section], links: Mapping[str, str]) -> None:
    """Write one file that loads no external resources; links lead to files beside it."""
    parts = [_section(*section) for section in sections]
    beside = "".join(
        f'<li><a href="{escape(name)}">{escape(name)}</a>: {escape(text)}</li>' for name, text in links.items()
    )
    body = (
        "<header><h1>Ringlet: a log filled, a photo restored</h1></header>"
        f"<main>{''.join(parts)}<section><h2>Beside this page</h2><ul>{beside}</ul></section></main>"
    )
    with atomic_output(path) as temporary:
        temporary.write_text(whole_page("Ringlet: a demonstration", body), encoding="utf-8")


def _section(heading: str, lead: str, results: Sequence[str], picture: Path) -> str:
    with import_pillow().open(picture) as opened:
        address = packed(opened.convert("RGB"))
    items = "".join(f"<li>{escape(result)}</li>" for result in results)
    return (
        f'<section><h2>{escape(heading)}</h2><p class="muted">{escape(lead)}</p><ul>{items}</ul>'
        f'<img src="{address}" alt="{escape(heading)}" style="max-width:100%;height:auto"></section>'
    )
