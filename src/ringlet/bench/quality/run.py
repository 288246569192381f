"""Run the cases, until all are done or the time is used up."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from ringlet.bench.quality.cases import Damaged, QualityCase
from ringlet.bench.quality.ideas import without
from ringlet.bench.quality.rivals import AUTO, FINISHED, GRID, PEERS, PLAIN, RESTORE, RIVALS, SAME_RANK, measure
from ringlet.bench.rivals.catalogue import SIMPLE, SLOW
from ringlet.errors import RingletError
from ringlet.experiments.journal import Journal, Record
from ringlet.experiments.runner import run_facts

__all__ = ["IN_USE", "OPPONENTS", "records_in", "run_cases"]

# Names of the comparisons, and the methods that they include.
OPPONENTS: dict[str, tuple[str, ...]] = {
    "plain": (PLAIN,),
    "peers": PEERS,
    "grid": (GRID,),
    "finished-peers": FINISHED,
    "rivals": tuple(SIMPLE),
    "slow-rivals": tuple(SLOW),
}
IN_USE = ("rivals", "slow-rivals")  # methods that people use today; they have their own cases

_OURS = (AUTO, RESTORE)
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
    left_out: Sequence[str] = (),
    again: bool = False,
) -> None:
    """Measure cases without a record; no measurement starts after `minutes`.

    Parameters
    ----------
    cases : sequence of QualityCase
    against : sequence of str
        Names of `OPPONENTS`.
    records : list of dict
        As `records_in` gives them.
    append : callable
        Called with every new record, which has to be among `records` then.
    minutes : float
    left_out : sequence of str
        Ideas, each of which another fit of every case lacks.
    again : bool
        Only measure our own methods, and only where there are records of them: new ones take their place.
    """
    end = monotonic() + 60 * minutes
    facts = run_facts()
    for case in cases:
        damaged: Damaged | None = None
        for rival in _rivals(case, against, left_out):
            done = {record["rival"]: record for record in records if record["case"] == case.name}
            wanted = rival in done and rival in _OURS if again else rival not in done
            if not wanted or (rival in _AFTER_AUTO and done[AUTO]["psnr"] is None):
                continue
            if monotonic() > end:
                return
            damaged = damaged or case.damaged()
            record = {"case": case.name, "group": case.sample.group, "rival": rival, "missing": case.missing}
            record["holes"] = case.holes
            record |= {"ruined": case.ruined, "noise": case.noise, "shape": list(damaged.data.shape)}
            record |= {"like_the_papers": case.like_the_papers, "kind": case.sample.kind, "seed": case.seed}
            record["damage"] = case.kind_of_damage
            try:
                record |= measure(rival, case, damaged, done.get(AUTO))
            except RingletError as error:
                record |= {"psnr": None, "status": f"failed: {error}"}
            append(record | facts)


def _rivals(case: QualityCase, against: Sequence[str], left_out: Sequence[str]) -> list[str]:
    """Peers are completion methods, so they run only where entries are missing; others are for one kind of data."""
    wanted = {AUTO, *map(without, left_out)} | {
        name for one in against for name in OPPONENTS[one] if _is_for(name, case)
    }
    if any(one in IN_USE for one in against):
        wanted.add(RESTORE)
    if any(one not in IN_USE for one in against):
        wanted.add(SAME_RANK)
    return [name for name in RIVALS if name in wanted]


def _is_for(name: str, case: QualityCase) -> bool:
    if name in PEERS + FINISHED:
        return case.missing > 0
    entry = (SIMPLE | SLOW).get(name)
    return entry is None or (case.sample.kind in entry.kinds and entry.is_installed)
