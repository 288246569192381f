"""The paper's experiments: docs/results/results.jsonl and complexity.csv, which `ringlet paper` writes."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean

from evidence.markdown import decimal, table
from ringlet.amounts import format_bytes
from ringlet.experiments.journal import Record, read_records

__all__ = [
    "ablation",
    "complexity",
    "image_completion",
    "image_decomposition",
    "video_completion",
    "video_decomposition",
]

_FOLDER = Path(__file__).parents[2] / "docs" / "results"
_DECOMPOSITIONS = ("TRSVD", "TRALS", "TRSVD-R", "rTRALS", "TRALS-S", "AWRTRD", "SAWRTRD")
_COMPLETIONS = ("l1-SNN", "l1-TNN", "l1-TRNN", "lp-TRC", "TNTV", "AWRTRD", "SAWRTRD")
_NOISES = {"gmm": "mixture", "salt-and-pepper": "salt and pepper"}
_LARGE = "1080p"  # in the name of a video in full HD
_ARMS = ("SAWRTRD", "gradient-descent", "local-scaling", "uniform-rows", "leverage-rows")


def _records(experiment: str) -> list[Record]:
    """Of every item, method, sample size and run, the last line."""
    last: dict[tuple[object, ...], Record] = {}
    for one in read_records(_FOLDER / "results.jsonl"):
        if one["experiment"] == experiment:
            last[one["item"], one["method"], one["settings"].get("samples"), one["run"]] = one
    return list(last.values())


def _of(records: Sequence[Record], **wanted: object) -> list[Record]:
    return [one for one in records if all(one[name] == value for name, value in wanted.items())]


def image_decomposition() -> str:
    """Means over photos and runs."""
    records = _records("image-decomposition")
    rows = []
    for method in _DECOMPOSITIONS:
        found = _of(records, method=method)
        score, seconds = (mean(one[name] for one in found) for name in ("psnr", "processor_seconds"))
        memory = max(one["peak_memory"] for one in found)
        rows.append((method, decimal(score, 2), decimal(seconds), format_bytes(memory)))
    return table(("method", "mean PSNR, dB", "mean processor seconds", "largest peak memory"), rows)


def _items(experiment: str, thing: str, methods: Sequence[str], rows_after: Callable[..., list[list[str]]]) -> str:
    """PSNR of every item by method, in the first run."""
    records = _of(_records(experiment), run=1)
    rows = []
    for item in sorted({one["item"] for one in records}):
        mine = {one["method"]: one for one in _of(records, item=item)}
        cells = [
            decimal(mine[name].get("psnr"), 2) if mine[name]["status"] == "ok" else "out of memory" for name in methods
        ]
        rows.append([item, _NOISES[next(iter(mine.values()))["noise"]], *cells])
    rows += rows_after(records, methods)
    return table((f"{thing} (PSNR, dB)", "noise", *methods), rows)


def _seconds(records: Sequence[Record], method: str) -> str:
    found = [one["processor_seconds"] for one in _of(records, method=method) if one["status"] == "ok"]
    return f"{mean(found):.0f}" if found else "–"


def _photo_times(records: Sequence[Record], methods: Sequence[str]) -> list[list[str]]:
    ours = {one["item"]: one["processor_seconds"] for one in _of(records, method="SAWRTRD")}
    ratios = []
    for method in methods:
        found = [one["processor_seconds"] / ours[one["item"]] for one in _of(records, method=method)]
        ratios.append("1" if method == "SAWRTRD" else f"{min(found):.2g} – {max(found):.2g}")
    times = [_seconds(records, method) for method in methods]
    return [
        ["**mean processor seconds**", "", *times],
        ["**times SAWRTRD's, on the same photo**", "", *ratios],
    ]


def _video_times(records: Sequence[Record], methods: Sequence[str]) -> list[list[str]]:
    small = [one for one in records if _LARGE not in one["item"]]
    large = [one for one in records if _LARGE in one["item"]]
    return [
        [f"**{words}**", "", *(_seconds(found, method) for method in methods)]
        for words, found in (("mean processor seconds, small videos", small), ("processor seconds, full HD", large))
    ]


def image_completion() -> str:
    """Every photo."""
    return _items("image-completion", "photo", _COMPLETIONS, _photo_times)


def video_decomposition() -> str:
    """Every video."""
    return _items("video-decomposition", "video", _DECOMPOSITIONS, _video_times)


def video_completion() -> str:
    """Every video, 30 % observed."""
    return _items("video-completion", "video", _COMPLETIONS, _video_times)


def ablation() -> str:
    """Every arm at every J."""
    records = _of(_records("ablation"), run=1)
    rows = [
        (
            one["method"],
            f"{one['settings']['samples']:,}",
            decimal(one["psnr"], 2),
            f"{one['processor_seconds']:.0f}",
            format_bytes(one["peak_memory"]),
            one["machine"]["cpu"],
        )
        for one in sorted(records, key=lambda one: (_ARMS.index(one["method"]), one["settings"]["samples"]))
    ]
    return table(("arm", "J", "PSNR, dB", "processor seconds", "peak memory", "machine"), rows)


def complexity() -> str:
    """Slopes of time and memory beside those of the paper's formulas."""
    with (_FOLDER / "complexity.csv").open(encoding="utf-8", newline="") as file:
        found = {(row["method"], row["axis"]): row for row in csv.DictReader(file)}
    axes = ("I", "r", "N", "J")
    rows = []
    for method in ("SAWRTRD", "AWRTRD", "FGMC"):
        for words, name in ((f"{method}, time", "time"), (f"{method}, memory", "memory")):
            rows.append((words, *(_slope(found.get((method, axis)), name) for axis in axes)))
        rows.append(("the paper's formula for the time", *(_formula(found.get((method, axis))) for axis in axes)))
    return table(("", *axes), rows)


def _slope(row: dict[str, str] | None, name: str) -> str:
    if row is None or not row[f"{name}_slope"]:
        return "–"
    if row["paper"] == "exp":
        return "exponential"
    slope, low, high = (float(row[f"{name}_{part}"]) for part in ("slope", "low", "high"))
    return f"{slope:.1f} ({low:.1f} to {high:.1f})"


def _formula(row: dict[str, str] | None) -> str:
    if row is None:
        return "–"
    return "exponential" if row["paper"] == "exp" else f"{float(row['paper_slope']):.1f}"
