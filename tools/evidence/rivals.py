"""What people would use instead: the record of `ringlet bench quality --against rivals`."""

from pathlib import Path

from evidence.markdown import days, percent
from ringlet.bench.quality.rival_table import Duel, duels_of, markdown, summarise_duels
from ringlet.experiments.journal import read_records

__all__ = ["counts", "measure", "tables"]

_RECORD = Path(__file__).parents[2] / "benchmarks" / "rivals.jsonl"


def measure(data: Path | None, minutes: float) -> list[list[str]]:
    """The commands: our own methods anew, and then cases that are not in the record."""
    given = ["--data", str(data)] if data else []
    bench = ["bench", "quality", "--against", "rivals", *given, "--budget-minutes", f"{minutes:g}"]
    bench += ["--out", str(_RECORD)]
    return [[*bench, "--again"], bench]


def _duels() -> list[Duel]:
    return [duel for duel in duels_of(read_records(_RECORD)) if duel.lead is not None]


def counts() -> str:
    """How many cases are won, for a sentence."""
    total = summarise_duels(_duels())[-1]
    return (
        f"`restore(x)` is at or above the best of them in {percent(total.ahead)} of {total.cases} cases, by "
        f"{total.mean_lead:.1f} dB on average"
    )


def tables() -> str:
    """Summary, losses, and every case."""
    records = read_records(_RECORD)
    duels = _duels()
    told = days(record.get("day") for record in records)
    return f"{len(duels)} cases. {told}\n\n{markdown(duels, summarise_duels(duels))}".rstrip()
