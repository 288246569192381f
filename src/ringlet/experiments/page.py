"""One page with all results: tables, figures and recovered pictures in a single file without external resources."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from statistics import mean
from typing import Any

from ringlet.amounts import format_bytes
from ringlet.experiments.catalogue import Experiment
from ringlet.experiments.complexity import GrowthRow
from ringlet.experiments.gallery import Gallery, Picture
from ringlet.experiments.journal import Record
from ringlet.experiments.methods import METHODS
from ringlet.experiments.noise import NOISES
from ringlet.experiments.summary import Row, latest
from ringlet.report.html import Viewed, ViewerItem, packed, viewer, whole_page
from ringlet.solvers.sawrtrd.settings import AWRTRD, SAWRTRD
from ringlet.sources.media import import_pillow
from ringlet.store.atomic import atomic_output

__all__ = ["Section", "growth_section", "section", "write_page"]

_NOTHING = "–"
_COSTS = ("seconds", "processor seconds", "peak memory")
_TEXT = ("noise", "not run", "paper's formula", "note")  # columns of words, to the left
_WORDS = ' class="words"'


@dataclass(frozen=True)
class Section:
    """An experiment on the page.

    Attributes
    ----------
    name, title : str
    words : str
        Description in a sentence or two.
    figures : sequence of Path
        SVG files.
    tables : list of (str, str)
        Headings, and tables in HTML.
    galleries : sequence of Gallery
    """

    name: str
    title: str
    words: str
    figures: Sequence[Path]
    tables: list[tuple[str, str]]
    galleries: Sequence[Gallery] = field(default_factory=list)


def section(
    experiment: Experiment,
    rows: Sequence[Row],
    figures: Sequence[Path],
    galleries: Sequence[Gallery],
    records: Sequence[Record],
) -> Section:
    """The section of an experiment with photos or videos; `records` are those of its rows."""
    items = list(dict.fromkeys(row.item for row in rows))
    observed = "All entries are observed." if experiment.observed == 1 else "30 % of the entries are observed."
    noises = " and ".join(f"{NOISES[noise]} noise" for noise in dict.fromkeys(row.noise for row in rows))
    words = (
        f"{len(items)} {experiment.kind}{'s' if len(items) > 1 else ''} with {noises}. {observed} {_demands(records)}"
    )
    if experiment.name == "ablation":
        tables = [("By sample size", _ablation_table(experiment, rows))]
    else:
        tables = [
            ("Means over all items", _method_table(experiment, rows)),
            ("PSNR by item (dB)", _item_table(experiment, rows)),
        ]
    return Section(experiment.name, experiment.title, words, figures, tables, galleries)


def _demands(records: Sequence[Record]) -> str:
    """Sizes of the tensors, and settings of the methods."""

    def said(values: Iterable[Any]) -> str:
        return " or ".join(map(str, sorted(set(values), key=str)))

    settings = [record["settings"] for record in records]
    shapes = said(" × ".join(map(str, record["shape"])) for record in records if "shape" in record)
    ranks = said(tuple(one["rank"]) for one in settings if one.get("rank"))
    sweeps = said(one.get("sweeps", "its own number of") for one in settings)
    words = f"Tensors of {shapes} entries. " if shapes else ""
    words += f"Rank {ranks}, for methods that have one. " if ranks else ""
    ours = {"ridge" in record["settings"] for record in records if METHODS[record["method"]].kind in (AWRTRD, SAWRTRD)}
    penalties = " or ".join("as printed, without a ridge" if printed else "with a ridge" for printed in sorted(ours))
    words += f"AWRTRD, SAWRTRD and its variants {penalties}. " if ours else ""
    return f"{words}At most {sweeps} sweeps a method."


def growth_section(rows: Sequence[GrowthRow], figures: Sequence[Path]) -> Section:
    """The section of the measured growth."""
    words = (
        "Slopes of log time and log memory over log size, with their 95 % confidence intervals: processor time of one "
        "sweep on one thread (TRSVD and TRSVD-R: of the whole method), memory beside the data. “Paper” is the leading "
        "exponent of its complexity table; “paper here” the slope of its formula over the sizes that were measured."
    )
    cells = [
        [
            _th(f"{row.method}, {row.axis}"),
            _td(row.formula, "words"),
            _td(row.paper),
            _td(f"{row.paper_slope:.2f}"),
            _td(str(row.time)),
            _td(str(row.memory)),
            _td(row.note, "words"),
        ]
        for row in rows
    ]
    heads = ("method, size", "paper's formula", "paper", "paper here", "time (95 %)", "memory (95 %)", "note")
    return Section(
        "complexity", "Measured growth of time and memory", words, figures, [("Slopes", _table(heads, cells))]
    )


def write_page(path: Path, sections: Sequence[Section], records: Sequence[Record]) -> None:
    """Write the page, which loads no external resources."""
    links = "".join(f'<li><a href="#{one.name}">{escape(one.title)}</a></li>' for one in sections)
    text = whole_page(
        "Ringlet: the paper’s experiments",
        "<header><h1>Robust tensor rings: the paper’s experiments, run with Ringlet</h1>"
        f'<p class="muted">{escape(_circumstances(records))}</p></header>'
        f'<nav aria-label="Experiments"><ul>{links}</ul></nav><main>{"".join(map(_section, sections))}</main>',
    )
    with atomic_output(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _circumstances(records: Sequence[Record]) -> str:
    """Machines, versions and number of trials."""
    machines = dict.fromkeys(f"{one['machine']['cpu']}, {one['machine']['cores']} cores" for one in records)
    versions = dict.fromkeys(
        f"Ringlet {one['versions']['ringlet']}, NumPy {one['versions']['numpy']}, Python {one['versions']['python']}"
        for one in records
    )
    clipped = {bool(one["clip"]) for one in latest(records) if "clip" in one}
    which = "some estimates are" if len(clipped) > 1 else f"estimates are{'' if True in clipped else ' not'}"
    scores = f"PSNR with peak 1; {which} clipped."
    return f"{len(records)} records. {'; '.join(machines)}. {'; '.join(versions)}. {scores}"


def _section(one: Section) -> str:
    tables = "".join(
        f'<h3>{escape(title)}</h3><div class="wide" tabindex="0" role="region" aria-label="{escape(title)}">'
        f"{table}</div>"
        for title, table in one.tables
    )
    figures = "".join(
        f'<div class="wide figure" tabindex="0" role="region" aria-label="Figure {number}">'
        f'<img alt="{escape(one.title)}" src="data:image/svg+xml;base64,{b64encode(path.read_bytes()).decode()}"></div>'
        for number, path in enumerate(one.figures, 1)
    )
    return (
        f'<section id="{one.name}"><h2>{escape(one.title)}</h2><p>{escape(one.words)}</p>{figures}'
        f"{_viewer(one.galleries) if one.galleries else ''}{tables}</section>"
    )


def _viewer(galleries: Sequence[Gallery]) -> str:
    items = [ViewerItem(gallery.name, tuple(map(_viewed, gallery.pictures))) for gallery in galleries]
    return f"<h3>Recovered pictures</h3>{viewer(items, 'Item', 'Damaged', 'SAWRTRD')}"


def _viewed(picture: Picture) -> Viewed:
    return Viewed(picture.label, picture.note, packed(import_pillow().open(picture.path)))


# Tables.


def _method_table(experiment: Experiment, rows: Sequence[Row]) -> str:
    cells = []
    for method in experiment.methods:
        mine = [row for row in rows if row.method == method]
        if not mine:
            continue
        cells.append(
            [
                _th(METHODS[method].label),
                _number([row.psnr for row in mine], "{:.2f}"),
                _number([row.ssim for row in mine], "{:.3f}"),
                _number([row.relative_error for row in mine], "{:.3f}"),
                *_costs(mine),
                _number([row.sweeps for row in mine], "{:.1f}"),
                _td(f"{sum(row.psnr is not None for row in mine)} of {len(mine)}"),
                _not_run(mine),
            ]
        )
    heads = ("method", "PSNR dB", "SSIM", "relative error", *_COSTS, "sweeps", "items", "not run")
    return _table(heads, cells)


def _item_table(experiment: Experiment, rows: Sequence[Row]) -> str:
    methods = [method for method in experiment.methods if any(row.method == method for row in rows)]
    found = {(row.item, row.method): row for row in rows}
    cells = []
    for item in dict.fromkeys(row.item for row in rows):
        values = [found[item, method].psnr if (item, method) in found else None for method in methods]
        best = max((value for value in values if value is not None), default=None)
        noise = next(row.noise for row in rows if row.item == item)
        line = [_th(item), _td(NOISES[noise], "words")]
        for value in values:
            if value is None:
                line.append(_td(_NOTHING, "none"))
            else:
                line.append(_td(f"{value:.2f}", "best" if value == best else ""))
        cells.append(line)
    return _table(("item", "noise", *(METHODS[method].label for method in methods)), cells)


def _ablation_table(experiment: Experiment, rows: Sequence[Row]) -> str:
    cells = []
    for samples in dict.fromkeys(row.samples for row in rows):
        for method in experiment.methods:
            mine = [row for row in rows if (row.samples, row.method) == (samples, method)]
            if mine:
                cells.append(
                    [
                        _th(METHODS[method].label),
                        _td(f"{samples:,}"),
                        _number([row.psnr for row in mine], "{:.2f}"),
                        _number([row.ssim for row in mine], "{:.3f}"),
                        *_costs(mine),
                        _not_run(mine),
                    ]
                )
    return _table(("strategy", "J", "PSNR dB", "SSIM", *_COSTS, "not run"), cells)


def _costs(rows: Sequence[Row]) -> list[str]:
    peaks = [row.peak_memory for row in rows if row.peak_memory is not None]
    return [
        _number([row.seconds for row in rows], "{:.3g}"),
        _number([row.processor_seconds for row in rows], "{:.3g}"),
        _td(format_bytes(max(peaks)) if peaks else _NOTHING),
    ]


def _not_run(rows: Sequence[Row]) -> str:
    """Reasons why some were not run."""
    return _td("; ".join(dict.fromkeys(row.status for row in rows if row.status != "ok")), "words")


def _number(values: Iterable[float | None], form: str) -> str:
    known = [value for value in values if value is not None]
    return _td(form.format(mean(known))) if known else _td(_NOTHING, "none")


def _table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col"{_WORDS if name in _TEXT else ""}>{escape(name)}</th>' for name in heads)
    body = "".join(f"<tr>{''.join(line)}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _th(text: str) -> str:
    return f'<th scope="row">{escape(text)}</th>'


def _td(text: str, kind: str = "") -> str:
    return f'<td class="{kind}">{escape(text)}</td>' if kind else f"<td>{escape(text)}</td>"
