"""Quality of automatic fits: the records of `ringlet bench quality`, and of the same with `--without`."""

from collections.abc import Iterable
from pathlib import Path
from statistics import mean, median

from evidence.markdown import days, decimal, percent, table
from ringlet.bench.quality.ideas import IDEAS, without
from ringlet.bench.quality.rivals import AUTO
from ringlet.bench.quality.summary import outcomes_of, summarise
from ringlet.bench.quality.worth import halves_of, worths_of
from ringlet.experiments.journal import Record, read_records

__all__ = ["cases", "damages", "halves", "ideas", "measure", "rescued", "sizes"]

_FOLDER = Path(__file__).parents[2] / "benchmarks"
_CASES, _IDEAS = _FOLDER / "quality.jsonl", _FOLDER / "quality-without.jsonl"
_HALVES = {"tuned": "tuned on", "other": "kept aside"}
_MEASURED_IDEAS = ("judgement", "hole-guides", "holds-out-together", "readmits")
_DAMAGES = {("entries", 0): "m0", ("entries", 70): "m70", ("pixels", 70): "p70", ("blocks", 20): "b20"}
_HOLES = {
    ("entries", 0): "nothing",
    ("entries", 70): "70 % of the entries",
    ("pixels", 70): "70 % of the pixels",
    ("blocks", 20): "a fifth, in blocks of 8 x 8 pixels",
}
_HARM = -0.3  # dB from which a loss is told


def measure(data: Path | None, minutes: float) -> list[list[str]]:
    """The commands: both records begin anew."""
    for record in (_CASES, _IDEAS):
        record.unlink(missing_ok=True)
    bench = ["bench", "quality", "--budget-minutes", f"{minutes:g}"]
    given = ["--data", str(data)] if data else []
    ideas = ["--short-side", "120", "--seeds", "3"]
    ideas += [word for damage in _DAMAGES.values() for word in ("--cases", f"*@120-{damage}-o20")]
    ideas += [word for idea in _MEASURED_IDEAS for word in ("--without", idea)]
    return [[*bench, *given, "--out", str(_CASES)], [*bench, *ideas, "--out", str(_IDEAS)]]


def _automatic(records: Iterable[Record]) -> list[Record]:
    return [record for record in records if record["rival"] == AUTO and record["psnr"] is not None]


def sizes() -> str:
    """How small automatic rings are, for a sentence."""
    found = [record["smaller"] for path in (_CASES, _IDEAS) for record in _automatic(read_records(path))]
    told = f"{min(found):.0f} to {max(found):.0f} times fewer numbers than the data have entries"
    return f"{told}; the median is {median(found):.1f}"


def cases() -> str:
    """All cases with their opponents, and a summary of each group."""
    records = read_records(_CASES)
    outcomes = outcomes_of(records)
    rows = [
        (
            one.case,
            decimal(one.auto),
            decimal(one.plain),
            "–" if one.best_peer is None else f"{one.best_peer[1]:.1f} {one.best_peer[0]}",
            decimal(one.grid),
            decimal(one.cost),
            decimal(one.smaller),
        )
        for one in outcomes
    ]
    heads = ("case", "`decompose(x)`", "plain", "best peer, same time", "grid", "cost", "smaller")
    total = summarise(outcomes)[-1]
    told = [
        f"- {percent(total.close_to_grid)} of the cases with a grid are at most 0.5 dB below its best point; the worst "
        f"is {decimal(total.worst_behind_grid)} dB below.",
        f"- `decompose(x)` is above all five peers in {percent(total.above_peers)} of the cases in which they ran.",
        f"- It is {decimal(total.mean_gain)} dB above the plain method on average; the least gain is "
        f"{decimal(total.worst_gain)} dB.",
        f"- It costs {decimal(total.median_cost)} plain fits of its final rank (median); the most is "
        f"{decimal(total.worst_cost)}.",
    ]
    return f"{table(heads, rows)}\n\n{_days(records)}\n\n" + "\n".join(told)


def damages() -> str:
    """Mean PSNR of `decompose(x)` by what is missing."""
    records = _automatic(read_records(_IDEAS))
    rows = []
    for key, words in _HOLES.items():
        for kind, name in (("photo", "colour photos"), ("tensor", "grey pictures")):
            found = [one for one in records if (one["holes"], one["missing"]) == key and one["kind"] == kind]
            scores, seconds = [one["psnr"] for one in found], [one["seconds"] for one in found]
            if found:
                pictures = len({one["damage"] for one in found})
                cells = (decimal(mean(scores)), decimal(min(scores)), decimal(max(scores)), decimal(median(seconds)))
                rows.append((words, name, str(pictures), *cells))
    heads = ("missing", "data", "pictures", "mean PSNR", "least", "largest", "median processor seconds")
    return f"{table(heads, rows)}\n\n{_days(records)}"


def ideas() -> str:
    """What is lost without each idea."""
    rows = [
        (
            f"`{one.idea}`",
            str(one.cases),
            *(decimal(value, 2) for value in (one.tuned, one.other, one.mean, one.worst)),
            str(one.rescued),
        )
        for one in sorted(worths_of(read_records(_IDEAS)), key=lambda one: -one.mean)
    ]
    return table(("without", "cases", *_HALVES.values(), "mean", "worst", "rescued"), rows)


def halves() -> str:
    """Both halves, and how far seeds are apart."""
    records = read_records(_IDEAS)
    rows = [
        (
            _HALVES[one.half],
            str(one.cases),
            decimal(one.mean),
            decimal(one.mean_spread, 2),
            decimal(one.largest_spread, 2),
        )
        for one in halves_of(records)
    ]
    by_case: dict[str, list[float]] = {}
    for record in _automatic(records):
        by_case.setdefault(record["damage"], []).append(record["psnr"])
    spreads = {case: max(scores) - min(scores) for case, scores in by_case.items() if len(scores) > 1}
    near = sum(spread <= 0.7 for spread in spreads.values())
    far = sorted(((spread, case) for case, spread in spreads.items() if spread > 1.5), reverse=True)
    told = f"Seeds are within 0.7 dB of each other in {near} of {len(spreads)} cases ({percent(near / len(spreads))})."
    if far:
        told += " More than 1.5 dB apart: " + ", ".join(f"`{case}` ({spread:.2f})" for spread, case in far) + "."
    heads = ("`decompose(x)`", "cases", "mean PSNR", "spread of the seeds: mean", "largest")
    return f"{table(heads, rows)}\n\n{told}"


def rescued() -> str:
    """By idea the cases that need it, and those that it harms."""
    scores: dict[str, dict[str, list[float]]] = {}
    for record in read_records(_IDEAS):
        if record["psnr"] is not None:
            scores.setdefault(record["damage"], {}).setdefault(record["rival"], []).append(record["psnr"])
    lines = []
    for idea in IDEAS:
        lost = {
            case: mean(found[AUTO]) - mean(found[without(idea)])
            for case, found in scores.items()
            if without(idea) in found
        }
        needed = sorted(((loss, case) for case, loss in lost.items() if loss >= 1), reverse=True)
        harmed = sorted((loss, case) for case, loss in lost.items() if loss <= _HARM)
        told = [_listed(f"{len(needed)} cases lose 1 dB or more", needed)] if needed else []
        told += [_listed("does harm", harmed)] if harmed else []
        if told:
            lines.append(f"- `{idea}`: " + ". ".join(told) + ".")
    return "\n".join(lines)


def _listed(words: str, found: list[tuple[float, str]]) -> str:
    """The first few cases with their loss in dB."""
    shown = ", ".join(f"`{case.replace('@120', '')}` {loss:.1f}" for loss, case in found[:5])
    return f"{words}: {shown}" + (", and others" if len(found) > 5 else "")


def _days(records: Iterable[Record]) -> str:
    return days(record.get("day") for record in records)
