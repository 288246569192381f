"""What the ideas of an automatic fit are worth, and how the two halves of the cases and the seeds compare."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import mean
from typing import Any

from ringlet.bench.quality.cases import HALVES, half_of
from ringlet.bench.quality.ideas import IDEAS, without
from ringlet.bench.quality.rivals import AUTO, GRID, PLAIN
from ringlet.experiments.journal import Record

__all__ = ["HalfSummary", "Worth", "halves_of", "worths_of"]

_RESCUED = 1.0  # dB lost without an idea, from which it has rescued a case

Scores = dict[str, dict[str, dict[int, float]]]  # PSNR by damage, rival and seed


@dataclass(frozen=True)
class HalfSummary:
    """One half of the cases; None where nothing was measured.

    Attributes
    ----------
    half : {"tuned", "other"}
    cases : int
        All seeds of one damage are one case.
    mean : float or None
        PSNR of `decompose(x)` in dB. Halves have other data: compare their gains and distances.
    gain : float or None
        Mean dB above the paper's method.
    behind_grid : float or None
        Mean dB below the best choice on the grid.
    mean_spread, largest_spread : float or None
        Worst seed below the best one, in dB, of cases with several.
    """

    half: str
    cases: int
    mean: float | None
    gain: float | None
    behind_grid: float | None
    mean_spread: float | None
    largest_spread: float | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Worth:
    """What an idea is worth: dB lost without it, means over the seeds of a case.

    Attributes
    ----------
    idea : str
    cases : int
    tuned, other : float or None
        Means over the two halves.
    mean, worst : float
        Over all cases; the worst is the least, negative where the idea does harm.
    rescued : int
        Cases that lose 1 dB or more without it.
    """

    idea: str
    cases: int
    tuned: float | None
    other: float | None
    mean: float
    worst: float
    rescued: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def halves_of(records: Sequence[Record]) -> list[HalfSummary]:
    """The half that settings were tuned on, and the one that was kept aside."""
    scores = _scores(records)
    return [_half(half, {case: found for case, found in scores.items() if half_of(case) == half}) for half in HALVES]


def worths_of(records: Sequence[Record]) -> list[Worth]:
    """Of every idea that some case was fitted without."""
    scores = _scores(records)
    found = []
    for idea in IDEAS:
        lost = {case: loss for case in scores if (loss := _ahead(scores[case], without(idea))) is not None}
        if lost:
            tuned, other = (_mean([loss for case, loss in lost.items() if half_of(case) == half]) for half in HALVES)
            losses = list(lost.values())
            rescued = sum(loss >= _RESCUED for loss in losses)
            found.append(Worth(idea, len(lost), tuned, other, mean(losses), min(losses), rescued))
    return found


def _scores(records: Sequence[Record]) -> Scores:
    found: Scores = {}
    for record in records:
        if record["psnr"] is not None and "damage" in record:
            found.setdefault(record["damage"], {}).setdefault(record["rival"], {})[record["seed"]] = record["psnr"]
    return {case: rivals for case, rivals in found.items() if AUTO in rivals}


def _half(half: str, scores: Scores) -> HalfSummary:
    every = [rivals[AUTO].values() for rivals in scores.values()]
    spreads = [max(seeds) - min(seeds) for seeds in every if len(seeds) > 1]
    behind = _mean([ahead for rivals in scores.values() if (ahead := _ahead(rivals, GRID)) is not None])
    return HalfSummary(
        half=half,
        cases=len(scores),
        mean=_mean([mean(seeds) for seeds in every]),
        gain=_mean([ahead for rivals in scores.values() if (ahead := _ahead(rivals, PLAIN)) is not None]),
        behind_grid=None if behind is None else -behind,
        mean_spread=_mean(spreads),
        largest_spread=max(spreads, default=None),
    )


def _ahead(rivals: dict[str, dict[int, float]], rival: str) -> float | None:
    """How many dB `decompose(x)` is above another one, over the seeds that both have."""
    auto, other = rivals[AUTO], rivals.get(rival, {})
    return _mean([auto[seed] - other[seed] for seed in auto if seed in other])


def _mean(values: Sequence[float]) -> float | None:
    return mean(values) if values else None
