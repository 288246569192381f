"""Summarise lines of results.jsonl: means over runs, for every item and method."""

import csv
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from ringlet.errors import FormatError
from ringlet.experiments.catalogue import EXPERIMENTS
from ringlet.experiments.complexity import GROWTH_METHODS, GrowthRow
from ringlet.experiments.journal import Record, settled_key
from ringlet.experiments.methods import METHODS
from ringlet.experiments.noise import NOISES
from ringlet.store.atomic import atomic_output

__all__ = ["Row", "check_records", "latest", "summarise", "write_csv", "write_growth_csv"]

_RECORD = ("experiment", "item", "method", "run", "settings", "status")  # required fields of a record


@dataclass(frozen=True)
class Row:
    """A method on an item, over all runs.

    Attributes
    ----------
    experiment, item, noise, method : str
    samples : int or None
        J, for methods that sample.
    runs : int
        Number of successful runs.
    psnr, psnr_deviation, ssim, relative_error, seconds, processor_seconds, sweeps : float or None
        Means (and the standard deviation from two runs on); None without such a run. Processor seconds, summed over
        threads, hardly depend on other work of the machine.
    peak_memory : int or None
        The largest.
    status : str
        "ok", or how the others ended.
    """

    experiment: str
    item: str
    noise: str
    method: str
    samples: int | None
    runs: int
    psnr: float | None
    psnr_deviation: float | None
    ssim: float | None
    relative_error: float | None
    seconds: float | None
    processor_seconds: float | None
    peak_memory: int | None
    sweeps: float | None
    status: str


def check_records(records: Sequence[Record], path: Path) -> None:
    """Raise an error for lines of `path` that are no records of these experiments."""
    for number, record in enumerate(records, 1):
        missing = [name for name in _RECORD if name not in record]
        if missing:
            raise FormatError(f"{path}: line {number} has no {missing[0]!r}; delete it to go on")
        if record["method"] not in METHODS and record["method"] not in GROWTH_METHODS:
            raise FormatError(f"{path}: line {number} has an unknown method, {record['method']!r}; delete it to go on")


def latest(records: Iterable[Record], asked: Collection[str] = ()) -> list[Record]:
    """The last record of every item, method, sample size and run, in the order of the journal.

    Only comparable records are used: of an item those with the noise, content and clipping of its last one, and of a
    method on it those with the last settings.

    Parameters
    ----------
    records : iterable of dict
    asked : collection of str
        `settled_key` of the requested settings; such records count as the last ones.
    """
    ordered = list(enumerate(records))
    ordered.sort(key=lambda numbered: settled_key(numbered[1]) in asked)
    circumstances, settings = {}, {}
    for _, record in ordered:
        circumstances[_item(record)] = _circumstances(record)
        settings[_item(record), record["method"]] = _fixed_settings(record)
    last: dict[tuple[Any, ...], tuple[int, Record]] = {}
    for number, record in ordered:
        item, method = _item(record), record["method"]
        if _circumstances(record) == circumstances[item] and _fixed_settings(record) == settings[item, method]:
            last[item, method, _samples(record), record["run"]] = number, record
    return [record for _, record in sorted(last.values(), key=lambda numbered: numbered[0])]


def summarise(records: Iterable[Record]) -> list[Row]:
    """Rows of all experiments with photos and videos: items by noise, methods in the paper's order."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in latest(records):
        if record["experiment"] in EXPERIMENTS:
            key = record["experiment"], record["item"], _samples(record), record["method"]
            groups.setdefault(key, []).append(record)
    places = {name: place for place, name in enumerate(METHODS)}
    items = {item: place for place, (_, item, _, _) in reversed(list(enumerate(groups)))}
    order, noises = list(EXPERIMENTS), list(NOISES)

    def place(key: tuple[Any, ...]) -> tuple[int, ...]:
        experiment, item, samples, method = key
        noise = noises.index(groups[key][0]["noise"])
        return order.index(experiment), noise, items[item], samples if experiment == "ablation" else 0, places[method]

    return [_row(groups[key]) for key in sorted(groups, key=place)]


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Write rows as a table with a header."""
    _write(path, [one.name for one in fields(Row)], [asdict(row) for row in rows])


def write_growth_csv(rows: Sequence[GrowthRow], path: Path) -> None:
    """Write slopes as a table with a header."""
    table = []
    for row in rows:
        flat: dict[str, Any] = {
            name: getattr(row, name) for name in ("method", "axis", "formula", "paper", "paper_slope")
        }
        for name in ("time", "memory"):
            slope = getattr(row, name)
            flat |= {f"{name}_slope": slope.value, f"{name}_low": slope.low, f"{name}_high": slope.high}
        table.append(flat | {"note": row.note})
    _write(path, list(table[0]) if table else [], table)


def _write(path: Path, names: list[str], table: list[dict[str, Any]]) -> None:
    with atomic_output(path) as temporary, temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(table)


def _row(records: list[Record]) -> Row:
    first = records[0]
    good = [record for record in records if record["status"] == "ok"]
    bad = [record["status"] for record in records if record["status"] != "ok"]

    def average(name: str) -> float | None:
        return mean(record[name] for record in good) if good else None

    return Row(
        experiment=first["experiment"],
        item=first["item"],
        noise=first["noise"],
        method=first["method"],
        samples=_samples(first),
        runs=len(good),
        psnr=average("psnr"),
        psnr_deviation=stdev(record["psnr"] for record in good) if len(good) > 1 else None,
        ssim=average("ssim"),
        relative_error=average("relative_error"),
        seconds=average("seconds"),
        processor_seconds=average("processor_seconds"),
        peak_memory=max((record["peak_memory"] for record in good), default=None),
        sweeps=average("sweeps"),
        status=bad[0] if bad else "ok",
    )


def _item(record: Record) -> tuple[str, str]:
    return record["experiment"], record["item"]


def _circumstances(record: Record) -> tuple[Any, ...]:
    return tuple(record.get(name) for name in ("noise", "content", "clip"))


def _fixed_settings(record: Record) -> Record:
    """Settings that have to agree where records are compared; only the ablation varies the sample size."""
    varied = ("samples",) if record["experiment"] == "ablation" else ()
    return {name: value for name, value in record["settings"].items() if name not in varied}


def _samples(record: Record) -> int | None:
    samples: int | None = record["settings"].get("samples")
    return samples
