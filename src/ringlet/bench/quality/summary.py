"""Summary of the records: distance from the best choice, gain over the others, cost and size."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import mean, median
from typing import Any

from ringlet.bench.quality.rivals import AUTO, FINISHED, GRID, PEERS, PLAIN, SAME_RANK
from ringlet.experiments.journal import Record

__all__ = ["Outcome", "Summary", "outcomes_of", "summarise"]

_CLOSE = 0.5  # dB below the best choice on the grid that count as equally good


@dataclass(frozen=True)
class Outcome:
    """All measurements of a case; None: not measured, or the method failed.

    Attributes
    ----------
    case, group : str
    like_the_papers : bool
    auto, grid, plain : float or None
        PSNR in dB.
    peers, finished : dict
        PSNR by method, of those that ran: in the time of `decompose(x)`, and with their own stop rule.
    cost : float or None
        Processor seconds of `decompose(x)` over those of one plain fit of the same rank.
    smaller, smaller_than_file : float or None
        Numbers of the data for each of the ring; bytes of the file's entries for each of the ring.
    """

    case: str
    group: str
    like_the_papers: bool
    auto: float | None
    grid: float | None
    plain: float | None
    peers: dict[str, float]
    finished: dict[str, float]
    cost: float | None
    smaller: float | None
    smaller_than_file: float | None

    @property
    def behind_grid(self) -> float | None:
        """Distance to the best choice on the grid in dB; negative if above it."""
        return _difference(self.grid, self.auto)

    @property
    def gain(self) -> float | None:
        """How many dB above the paper's method."""
        return _difference(self.auto, self.plain)

    @property
    def best_peer(self) -> tuple[str, float] | None:
        """The best of the peers in the same time, if all have run."""
        return _best(self.peers, len(PEERS))

    @property
    def best_finished(self) -> tuple[str, float] | None:
        """The best of the peers when they are done, if all have run."""
        return _best(self.finished, len(FINISHED))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"behind_grid": self.behind_grid, "gain": self.gain}


@dataclass(frozen=True)
class Summary:
    """Over the cases of a group; None where nothing was measured.

    Attributes
    ----------
    group : str
    cases : int
        With a result of `decompose(x)`.
    close_to_grid : float or None
        Share of cases at most 0.5 dB below the best choice on the grid.
    worst_behind_grid : float or None
        In dB.
    mean_gain, worst_gain : float or None
        In dB above the paper's method, over all cases.
    papers_mean_gain, papers_worst_gain : float or None
        The same at the paper's completion setting.
    above_peers, above_finished : float or None
        Share of the completion cases in which no peer is as good, in the same time, and when all are done.
    median_cost, worst_cost : float or None
        Times one plain fit of the final rank.
    median_smaller, least_smaller : float or None
        Numbers of the data for each of the ring.
    least_smaller_than_file : float or None
        The same in bytes, against the entries in the file.
    """

    group: str
    cases: int
    close_to_grid: float | None
    worst_behind_grid: float | None
    mean_gain: float | None
    worst_gain: float | None
    papers_mean_gain: float | None
    papers_worst_gain: float | None
    above_peers: float | None
    above_finished: float | None
    median_cost: float | None
    worst_cost: float | None
    median_smaller: float | None
    least_smaller: float | None
    least_smaller_than_file: float | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def outcomes_of(records: Sequence[Record]) -> list[Outcome]:
    """Cases in the order of the records."""
    by_case: dict[str, dict[str, Record]] = {}
    for record in records:
        by_case.setdefault(record["case"], {})[record["rival"]] = record
    return [_outcome(rivals) for rivals in by_case.values() if AUTO in rivals]


def summarise(outcomes: Sequence[Outcome]) -> list[Summary]:
    """Group by group, and all together if there is more than one."""
    groups = sorted({outcome.group for outcome in outcomes})
    parts = [_summary(group, [one for one in outcomes if one.group == group]) for group in groups]
    return parts if len(parts) == 1 else [*parts, _summary("all", outcomes)]


def _outcome(rivals: dict[str, Record]) -> Outcome:
    def number(rival: str, name: str) -> float | None:
        value: float | None = rivals.get(rival, {}).get(name)
        return value

    auto, seconds, plain_seconds = rivals[AUTO], number(AUTO, "seconds"), number(SAME_RANK, "seconds")
    return Outcome(
        case=auto["case"],
        group=auto["group"],
        like_the_papers=auto["like_the_papers"],
        auto=number(AUTO, "psnr"),
        grid=number(GRID, "psnr"),
        plain=number(PLAIN, "psnr"),
        peers={name: score for name in PEERS if (score := number(name, "psnr")) is not None},
        finished={name: score for name in FINISHED if (score := number(name, "psnr")) is not None},
        cost=seconds / plain_seconds if seconds and plain_seconds else None,
        smaller=number(AUTO, "smaller"),
        smaller_than_file=number(AUTO, "smaller_than_file"),
    )


def _summary(group: str, outcomes: Sequence[Outcome]) -> Summary:
    behind = _given(one.behind_grid for one in outcomes)
    gains = _given(one.gain for one in outcomes)
    papers = _given(one.gain for one in outcomes if one.like_the_papers)
    lead = _given(_difference(one.auto, one.best_peer[1]) for one in outcomes if one.best_peer)
    late_lead = _given(_difference(one.auto, one.best_finished[1]) for one in outcomes if one.best_finished)
    costs = _given(one.cost for one in outcomes)
    smaller = _given(one.smaller for one in outcomes)
    files = _given(one.smaller_than_file for one in outcomes)
    return Summary(
        group=group,
        cases=len(_given(one.auto for one in outcomes)),
        close_to_grid=mean(one <= _CLOSE for one in behind) if behind else None,
        worst_behind_grid=max(behind, default=None),
        mean_gain=mean(gains) if gains else None,
        worst_gain=min(gains, default=None),
        papers_mean_gain=mean(papers) if papers else None,
        papers_worst_gain=min(papers, default=None),
        above_peers=mean(one > 0 for one in lead) if lead else None,
        above_finished=mean(one > 0 for one in late_lead) if late_lead else None,
        median_cost=median(costs) if costs else None,
        worst_cost=max(costs, default=None),
        median_smaller=median(smaller) if smaller else None,
        least_smaller=min(smaller, default=None),
        least_smaller_than_file=min(files, default=None),
    )


def _best(scores: dict[str, float], all_of_them: int) -> tuple[str, float] | None:
    return max(scores.items(), key=lambda one: one[1]) if len(scores) == all_of_them else None


def _given(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _difference(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second
