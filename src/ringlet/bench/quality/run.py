"""Run the cases, until all are done or the time is used up."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from ringlet.bench.quality.cases import Damaged, QualityCase
from ringlet.bench.quality.rivals import AUTO, FINISHED, GRID, PEERS, PLAIN, RIVALS, SAME_RANK, measure
from ringlet.errors import RingletError
from ringlet.experiments.journal import Journal, Record
from ringlet.experiments.runner import machine

__all__ = ["OPPONENTS", "records_in", "run_cases"]

# Names of the comparisons, and the methods that they include.
OPPONENTS = {"plain": (PLAIN,), "peers": PEERS, "grid": (GRID,), "finished-peers": FINISHED}

_AFTER_AUTO = (SAME_RANK, *PEERS)  # they get its rank, or its time


@contextmanager
def records_in(path: Path | None) -> Iterator[tuple[list[Record], Callable[[Record], None]]]:
    """Give the records of a journal, and how to add one; without a path they are only kept in memory."""
    if path is None:
        records: list[Record] = []
        yield records, records.append
        return
    with Journal.open(path) as journal:
        yield journal.records, journal.append


def run_cases(
    cases: Sequence[QualityCase],
    against: Sequence[str],
    records: list[Record],
    append: Callable[[Record], None],
    *,
    minutes: float,
    report: Callable[[Record], None],
) -> None:
    """Measure cases without a record; no measurement starts after `minutes`.

    Parameters
    ----------
    cases : sequence of QualityCase
    against : sequence of str
        Names of `OPPONENTS`.
    records, append
        As `records_in` gives them.
    minutes : float
    report : callable
        Called with every new record.
    """
    end = monotonic() + 60 * minutes
    facts = {"machine": machine()}
    for case in cases:
        damaged: Damaged | None = None
        for rival in _rivals(case, against):
            done = {record["rival"]: record for record in records if record["case"] == case.name}
            if rival in done or (rival in _AFTER_AUTO and done[AUTO]["psnr"] is None):
                continue
            if monotonic() > end:
                return
            damaged = damaged or case.damaged()
            record = {"case": case.name, "group": case.sample.group, "rival": rival, "missing": case.missing}
            record |= {"ruined": case.ruined, "noise": case.noise, "shape": list(damaged.data.shape)}
            record["like_the_papers"] = case.like_the_papers
            try:
                record |= measure(rival, case, damaged, done.get(AUTO))
            except RingletError as error:
                record |= {"psnr": None, "status": f"failed: {error}"}
            append(record | facts)
            report(record)


def _rivals(case: QualityCase, against: Sequence[str]) -> list[str]:
    """Peers are completion methods, so they run only where entries are missing."""
    wanted = {AUTO, SAME_RANK} | {name for one in against for name in OPPONENTS[one]}
    return [name for name in RIVALS if name in wanted and (case.missing or name not in PEERS + FINISHED)]
