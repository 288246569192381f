"""All generated parts of all pages, and how they are put between their marks."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from evidence import anomalies, imputation, paper, performance, quality, rivals, small, statuses
from evidence.earlier import earlier

__all__ = ["BLOCKS", "ROOT", "page_with", "stale", "write"]

ROOT = Path(__file__).parents[2]

Block = Callable[[], str]

# By page: the name of the marks, and what writes the text.
BLOCKS: dict[str, Mapping[str, Block]] = {
    "README.md": {
        "imputation-brief": imputation.brief,
        "imputation-counts": imputation.counts,
        "ring-sizes": quality.sizes,
    },
    "docs/index.md": {"imputation-counts": imputation.counts},
    "docs/evidence/index.md": {"imputation-counts": imputation.counts, "rival-counts": rivals.counts},
    "docs/start/results.md": {"statuses": statuses.statuses},
    "docs/imputation.md": {"imputation": imputation.table},
    "docs/quality.md": {
        "quality-cases": quality.cases,
        "quality-damages": quality.damages,
        "quality-ideas": quality.ideas,
        "quality-halves": quality.halves,
        "quality-rescued": quality.rescued,
        "folding": small.folding,
        "codecs": small.codecs,
        "still-camera": small.still_camera,
    },
    "docs/evidence/anomalies.md": {
        "anomalies": anomalies.tensors,
        "anomalies-halves": anomalies.halves,
        "anomalies-oracle": anomalies.oracle,
        "anomalies-photos": anomalies.photos,
        "anomalies-draws": anomalies.draws,
    },
    "docs/rivals.md": {"rivals": rivals.tables},
    "docs/performance.md": {
        "sweeps": performance.sweeps,
        "quality-time": performance.quality_time,
        "evaluation": performance.evaluation,
        "gram": performance.gram,
        "start-up": performance.startup,
    },
    "docs/evidence/speed-log.md": earlier("what-helped"),
    "docs/evidence/earlier-scale.md": earlier("chunk-sampling", "memory-budget", "extension", "cluster-traffic"),
    "docs/devices.md": earlier("gpu-model"),
    "docs/methods.md": {
        **earlier("methods-released", "methods-decomposition", "methods-defaults"),
        "peers": performance.peers,
    },
    "docs/evidence/earlier.md": earlier(
        "quality",
        "quality-large-photos",
        "quality-start",
        "quality-holes",
        "rivals",
        "rivals-photos",
        "rivals-tensors",
        "time-to-quality",
    ),
    "docs/results/README.md": {
        "image-decomposition": paper.image_decomposition,
        "image-completion": paper.image_completion,
        "video-decomposition": paper.video_decomposition,
        "video-completion": paper.video_completion,
        "ablation": paper.ablation,
        "complexity": paper.complexity,
    },
}


def page_with(page: str, name: str, text: str) -> str:
    """The content of a page with `text` between the marks: in the line if they stand in one, else in lines of its own.

    Examples
    --------
    >>> page_with("It won <!-- won: begin -->3<!-- won: end --> times.", "won", "4")
    'It won <!-- won: begin -->4<!-- won: end --> times.'
    """
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise ValueError(f"the page must have {begin} and {end} once each")
    inside = re.compile(f"{re.escape(begin)}(.*?){re.escape(end)}", re.DOTALL)
    found = inside.search(page)
    if found is None:
        raise ValueError(f"{end} stands before {begin}")
    space = "\n\n" if found[1].startswith("\n") else ""
    return page[: found.start()] + f"{begin}{space}{text}{space}{end}" + page[found.end() :]


def _written(path: str) -> tuple[str, str]:
    """A page as it is, and as the records say."""
    before = after = (ROOT / path).read_text(encoding="utf-8")
    for name, block in BLOCKS[path].items():
        after = page_with(after, name, block())
    return before, after


def stale() -> list[str]:
    """Pages that are not what the records say."""
    return [path for path in BLOCKS if len(set(_written(path))) > 1]


def write() -> list[str]:
    """Write all pages, and give those that have changed."""
    changed = stale()
    for path in changed:
        (ROOT / path).write_text(_written(path)[1], encoding="utf-8")
    return changed
