"""A page about one restored file: before and after, what was judged wrong, what was chosen and why."""

from dataclasses import dataclass
from html import escape
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.amounts import format_bytes
from ringlet.report.html import Viewed, ViewerItem, packed, viewer, whole_page
from ringlet.report.outliers import distrust
from ringlet.report.path_panel import path_panel
from ringlet.report.pictures import MAP_COLOURS, outlier_picture, screen_picture
from ringlet.report.views import Tones, View, views_of
from ringlet.restoration.clean_entries import CleanEntries
from ringlet.results.fit import Fit
from ringlet.sources import Source
from ringlet.sources.media import import_pillow
from ringlet.store.atomic import atomic_output

__all__ = ["Restoration", "check_page", "write_restoration_page"]

_DAMAGED, _RESTORED = "Damaged", "Restored"
_Tile = tuple[str, str, str]  # a number, what it is, and what was done


@dataclass(frozen=True, eq=False)
class Restoration:
    """A fit and what was made of it.

    Attributes
    ----------
    name : str
        Of the damaged file.
    source : Source
        The damaged data.
    entries : callable
        Gives any block of the restored data.
    fit : Fit
    seconds : float
        That the fit took.
    rank_given : bool
        Whether the rank was given, not chosen.
    kept : str
        A sentence about which entries stay as they are.
    moving : bool
        Whether the last mode is time.
    """

    name: str
    source: Source
    entries: CleanEntries
    fit: Fit
    seconds: float
    rank_given: bool
    kept: str
    moving: bool = False


def check_page() -> None:
    """Raise an error if pages cannot be made here; call it before any work."""
    import_pillow()


def write_restoration_page(path: Path, restoration: Restoration) -> None:
    """Write the page, one file that loads no external resources.

    Of the data only some pictures are read: a photo, or five frames or slices.

    Examples
    --------
    >>> import tempfile, ringlet
    >>> from ringlet.sources import as_source
    >>> x = np.fromfunction(lambda i, j: i + 2 * j, (12, 9))
    >>> fit = ringlet.decompose(x, rank=2)
    >>> made = Restoration("x.npy", as_source(x), lambda block: fit.ring[block], fit, 0.1, True, "All are the ring's.")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_restoration_page(Path(folder, "page.html"), made)
    ...     Path(folder, "page.html").read_text(encoding="utf-8")[:15]
    '<!DOCTYPE html>'
    """
    check_page()
    views = views_of(restoration.source.shape, moving=restoration.moving, names=restoration.source.names)
    compared, maps = _pictures(restoration, views)
    body = (
        f"<header><h1>{escape(restoration.name)}, restored</h1>"
        f'<p class="muted">{escape(_circumstances(restoration))}</p></header>'
        f'<main><section id="numbers">{_tiles(restoration)}</section>'
        f'<section id="compare"><h2>Before and after</h2><p class="muted">Drag the bar, or use the arrow keys.</p>'
        f"{viewer(compared, views[0].word, _DAMAGED, _RESTORED)}</section>"
        f'<section id="outliers"><h2>What was judged wrong</h2>{_outliers(restoration)}{_maps(maps)}</section>'
        f'<section id="choices"><h2>What was chosen, and why</h2>{_choices(restoration)}</section>'
        f'<section id="path"><h2>The path of the fit</h2>'
        f"{path_panel(restoration.fit.history, restoration.fit.ring.units or '')}</section></main>"
    )
    with atomic_output(path) as temporary:
        text = whole_page(f"{restoration.name}, restored by Ringlet", body, styles=("restoration.css",))
        temporary.write_text(text, encoding="utf-8")


def _circumstances(one: Restoration) -> str:
    from ringlet import __version__

    shape = " × ".join(map(str, one.source.shape))
    return f"{shape} entries, {one.source.dtype}. Fitted in {one.seconds:.1f} s by Ringlet {__version__}."


# Pictures.


def _pictures(one: Restoration, views: list[View]) -> tuple[list[ViewerItem], list[tuple[str, str]]]:
    """Pictures to compare, and maps of outliers with their names."""
    damaged = [one.source.read(view.block) for view in views]
    restored = [view.plane(np.asarray(one.entries(view.block))) for view in views]
    tones = Tones.of(restored)
    items, maps = [], []
    for view, (values, observed), clean in zip(views, damaged, restored, strict=True):
        known = None if observed is None else view.plane(observed)
        before = tones.pixels(view.plane(values), known)
        distrust = packed(outlier_picture(_distrust(one.fit, view)), lossless=True)
        pictures = (
            Viewed(
                _DAMAGED,
                "" if known is None else f"missing entries in {'grey' if view.in_colour else 'blue'}",
                packed(screen_picture(before)),
            ),
            Viewed(_RESTORED, "", packed(screen_picture(tones.pixels(clean)))),
            Viewed("Judged wrong", "", distrust),
        )
        items.append(ViewerItem(view.name, pictures))
        maps.append((view.name, distrust))
    return items, maps


def _distrust(fit: Fit, view: View) -> NDArray[np.floating[Any]]:
    """Distrust of every pixel, the mean of its observed colours; NaN where none is observed."""
    found = view.plane(distrust(fit, view.block))
    if not view.in_colour:
        return found
    observed = np.isfinite(found)
    count = observed.sum(axis=2)
    total = np.where(observed, found, 0).sum(axis=2)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _maps(maps: list[tuple[str, str]]) -> str:
    keys = "".join(
        f'<span><i style="background:rgb{colour}"></i>{escape(word)}</span>' for word, colour in MAP_COLOURS.items()
    )
    figures = "".join(
        f'<figure><img alt="Map of outliers{f", {escape(name)}" if name else ""}" src="{source}">'
        f"{f'<figcaption>{escape(name)}</figcaption>' if name else ''}</figure>"
        for name, source in maps
    )
    return f'<div class="keys">{keys}</div><div class="maps{"" if len(maps) > 1 else " single"}">{figures}</div>'


# Words.


def _tiles(one: Restoration) -> str:
    fit = one.fit
    tiles: list[_Tile] = []
    if isfinite(fit.missing_share):
        tiles.append((_percent(fit.missing_share), "missing", "filled" if fit.missing_share else "nothing to fill"))
    tiles.append((_percent(fit.outlier_share), "judged wrong", "of the known entries"))
    if isfinite(fit.validation):
        tiles.append((_error(one), "estimated error", _decibels(fit) or "at entries that were set aside"))
    data = fit.data_bytes
    tiles.append(
        (format_bytes(fit.ring.nbytes), "the ring", f"{_percent(fit.ring.nbytes / data)} of {format_bytes(data)}")
    )
    cells = "".join(
        f"<li><b>{escape(number)}</b><span>{escape(what)}</span><small>{escape(done)}</small></li>"
        for number, what, done in tiles
    )
    return f'<ul class="tiles">{cells}</ul>'


def _outliers(one: Restoration) -> str:
    if not one.fit.outlier_share:
        return "<p>No entry was judged wrong.</p>"
    return (
        "<p>Entries count as wrong if they differ from what all others predict by more than usual. A pixel is red "
        "where its entries are not trusted. Edges and texture that the ring does not hold can look wrong, too.</p>"
    )


def _choices(one: Restoration) -> str:
    fit = one.fit
    ring = fit.ring
    rank = ", ".join(map(str, ring.rank))
    if one.rank_given:
        why = "It was given."
    else:
        why = (
            "It was chosen from the data: bonds grew as long as this reduced the error at entries that had been set "
            "aside. A larger rank holds more detail and more of the noise."
        )
    facts = [
        ("Rank", rank, why),
        ("Size", format_bytes(ring.nbytes), _size(fit)),
        ("End of the fit", fit.status.name.replace("_", " ").lower(), str(fit.status)),
        ("Estimated error", _error(one) if isfinite(fit.validation) else "not estimated", _validation(fit)),
        ("Clean entries", "", one.kept),
    ]
    rows = "".join(
        f"<dt>{escape(name)}</dt><dd>{f'<b>{escape(value)}</b>' if value else ''}<p>{escape(words)}</p></dd>"
        for name, value, words in facts
    )
    return f'<dl class="facts">{rows}</dl>'


def _size(fit: Fit) -> str:
    data = fit.data_bytes
    if fit.ring.nbytes > data:
        return f"The ring is larger than the data ({format_bytes(data)}). A smaller rank makes it smaller."
    return f"The data take {format_bytes(data)}: {data / fit.ring.nbytes:.1f} times as much."


def _validation(fit: Fit) -> str:
    if not isfinite(fit.validation):
        return "No entries were set aside, because rank and smoothness were given."
    told = "Root mean square difference at known entries that the fit did not use."
    decibels = _decibels(fit)
    return f"{told} Over the range of the data this is {decibels}." if decibels else told


def _error(one: Restoration) -> str:
    units = one.fit.ring.units or ("of 255" if one.source.dtype == np.uint8 else "")
    return f"±{one.fit.validation:.3g} {units}".strip()


def _decibels(fit: Fit) -> str:
    return f"{fit.validation_db:.1f} dB" if isfinite(fit.validation_db) else ""


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.0f} %" if percent >= 10 or not percent else f"{percent:.2g} %"
