"""Tables, figures and the page from results.jsonl. Nothing is run, so this can be repeated at any time."""

from collections.abc import Sequence
from pathlib import Path

from ringlet.experiments.catalogue import EXPERIMENTS
from ringlet.experiments.complexity import growth
from ringlet.experiments.figures import draw_ablation, draw_comparison, draw_gallery, draw_growth, remove_gallery
from ringlet.experiments.gallery import find_galleries, two_of
from ringlet.experiments.journal import Record
from ringlet.experiments.page import growth_section, section, write_page
from ringlet.experiments.summary import latest, summarise, write_csv, write_growth_csv

__all__ = ["draw_outcome"]


def draw_outcome(records: Sequence[Record], out: Path, *, pictures: bool = True) -> list[Path]:
    """Write summary.csv, complexity.csv, the figures and index.html.

    Parameters
    ----------
    records : sequence of dict
        Lines of results.jsonl.
    out : Path
        Folder; the pictures that trials kept are there, too.
    pictures : bool
        Show recovered pictures; False allows publication of results for data that may not be published.

    Returns
    -------
    list of Path
        All files that were written.
    """
    written, sections = [], []
    rows = summarise(records)
    if rows:
        written.append(out / "summary.csv")
        write_csv(rows, written[0])
    for name, experiment in EXPERIMENTS.items():
        mine = [row for row in rows if row.experiment == name]
        if not mine:
            continue
        figures = (draw_ablation if name == "ablation" else draw_comparison)(mine, out)
        written += figures
        galleries = find_galleries(records, name, out) if pictures else []
        if galleries:
            written += draw_gallery(two_of(galleries, name), name, out)
        else:
            remove_gallery(name, out)
        own = [record for record in latest(records) if record["experiment"] == name]
        sections.append(section(experiment, mine, _svg(figures), galleries, own))
    measured = [one for one in latest(records) if one["experiment"] == "complexity" and one["status"] == "ok"]
    if measured:
        slopes = growth(measured)
        figures = draw_growth(measured, out)
        write_growth_csv(slopes, out / "complexity.csv")
        written += [out / "complexity.csv", *figures]
        sections.append(growth_section(slopes, _svg(figures)))
    write_page(out / "index.html", sections, list(records))
    return [*written, out / "index.html"]


def _svg(figures: Sequence[Path]) -> list[Path]:
    return [path for path in figures if path.suffix == ".svg"]
