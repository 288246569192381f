"""Run a list of tasks, each in its own process, with a journal, so that it can be stopped at any time."""

import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from statistics import mean
from time import perf_counter
from typing import Any, Protocol

from ringlet.execution import Threads
from ringlet.experiments.isolated import Job, run_isolated
from ringlet.experiments.journal import Journal, Record, settled_key
from ringlet.experiments.trial import OUT_OF_MEMORY

__all__ = ["Progress", "Task", "left_to_do", "machine", "run_facts", "run_tasks", "seconds_left"]


class Task(Protocol):
    """Something to measure."""

    @property
    def job(self) -> Job:
        """Which module measures it."""
        ...

    @property
    def identity(self) -> Record:
        """Identity of the task: experiment, item, method, run, and settings."""
        ...

    def argument(self, out: Path, budget: int) -> dict[str, Any]:
        """What the job needs, for JSON."""
        ...


@dataclass(frozen=True)
class Progress:
    """Progress, before a task (`record` is None) and after it.

    Attributes
    ----------
    number, total : int
        Of the task, counted from 1, and of all that were left to do.
    task : dict
        Its identity.
    seconds_left : float or None
        Estimated from tasks that are done; None before there is any.
    record : dict or None
    """

    number: int
    total: int
    task: Record
    seconds_left: float | None
    record: Record | None = None


def run_tasks(
    tasks: Sequence[Task],
    journal: Journal,
    out: Path,
    budget: int,
    *,
    retry: bool = False,
    report: Callable[[Progress], None],
) -> None:
    """Run tasks that are not in the journal yet.

    Parameters
    ----------
    tasks : sequence of Task
    journal : Journal
        Every result is appended to it at once.
    out : Path
        Folder for pictures.
    budget : int
        Bytes that a task may take.
    retry : bool
        Also repeat tasks that failed.
    report : callable
        Called with a `Progress` before and after every task.
    """
    todo = left_to_do(tasks, journal.records, budget, retry=retry)
    facts = {"budget": budget, "versions": _versions(), "machine": machine()}
    for number, task in enumerate(todo, 1):
        identity = task.identity
        left = seconds_left([one.identity for one in todo[number - 1 :]], journal.records)
        report(Progress(number, len(todo), identity, left))
        start = perf_counter()
        found = run_isolated(task.job, task.argument(out, budget))
        record = identity | found | {"trial_seconds": perf_counter() - start} | facts
        journal.append(record)
        report(Progress(number, len(todo), identity, left, record))


def left_to_do(tasks: Sequence[Task], records: Iterable[Record], budget: int, *, retry: bool = False) -> list[Task]:
    """Tasks without a record, those out of memory if the budget is larger, and on request failed ones."""
    settled = set()
    for record in records:
        again = record["status"].startswith(OUT_OF_MEMORY) and budget > record["budget"]
        if not again and not (retry and record["status"].startswith("failed")):
            settled.add(settled_key(record))
    return [task for task in tasks if settled_key(task.identity) not in settled]


def seconds_left(tasks: Sequence[Record], records: Sequence[Record]) -> float | None:
    """Estimate from similar tasks: of the same experiment and method, else of the same experiment, else of any.

    Examples
    --------
    >>> done = [{"experiment": "a", "method": "x", "trial_seconds": 2.0}]
    >>> seconds_left([{"experiment": "a", "method": "x"}, {"experiment": "a", "method": "y"}], done)
    4.0
    """
    if not records:
        return None
    total = 0.0
    for task in tasks:
        for names in (("experiment", "method"), ("experiment",), ()):
            alike = [one["trial_seconds"] for one in records if all(one[name] == task[name] for name in names)]
            if alike:
                total += mean(alike)
                break
    return total


def machine() -> dict[str, Any]:
    """The processor, how many cores of it we may use, and the operating system."""
    name = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        models = [line for line in information.read_text().splitlines() if line.startswith("model name")]
        name = models[0].partition(":")[2].strip() if models else name
    return {"cpu": name, "cores": Threads().count, "system": platform.system()}


def run_facts() -> dict[str, Any]:
    """Where and on which day, in UTC, a benchmark is measured."""
    return {"machine": machine(), "day": datetime.now(UTC).date().isoformat()}


def _versions() -> dict[str, str]:
    return {
        "ringlet": metadata.version("ringlet"),
        "numpy": metadata.version("numpy"),
        "python": platform.python_version(),
    }
