"""The comparison with rivals from its records: every case, ours and theirs, and where we lose."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import mean
from typing import Any

from ringlet.bench.quality.rivals import AUTO, RESTORE
from ringlet.bench.rivals.catalogue import SIMPLE, SLOW
from ringlet.experiments.journal import Record
from ringlet.experiments.noise import NOISES

__all__ = ["Duel", "DuelSummary", "duels_of", "markdown", "summarise_duels"]

_LOST = -0.3  # dB below the best simple rival that count as lost
_TOGETHER = "together"  # in place of a noise, where pixels or blocks are missing
_DAMAGES = NOISES | {_TOGETHER: "pixels or blocks missing"}
_KINDS = {"photo": "Photos", "video": "Videos", "tensor": "Tensors"}


@dataclass(frozen=True)
class Score:
    """PSNR in dB and processor seconds, means over the seeds."""

    psnr: float
    seconds: float


@dataclass(frozen=True)
class Duel:
    """A case: `restore(x)`, the ring of `decompose(x)`, and all rivals that ran.

    Attributes
    ----------
    case, kind, noise : str
        The case's name without the seed. Cases with pixels or blocks missing are a group of their own: their noise is
        "together".
    missing, seeds : int
    restored, ring : Score or None
    rivals : dict
        Scores by name; methods that failed are left out.
    """

    case: str
    kind: str
    noise: str
    missing: int
    seeds: int
    restored: Score | None
    ring: Score | None
    rivals: dict[str, Score]

    @property
    def best_rival(self) -> str | None:
        """The best of the simple rivals."""
        simple = [name for name in self.rivals if name in SIMPLE]
        return max(simple, key=lambda name: self.rivals[name].psnr, default=None)

    @property
    def lead(self) -> float | None:
        """How many dB `restore(x)` is above the best simple rival."""
        if self.restored is None or self.best_rival is None:
            return None
        return self.restored.psnr - self.rivals[self.best_rival].psnr

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"best_rival": self.best_rival, "lead": self.lead}


@dataclass(frozen=True)
class DuelSummary:
    """Over the cases of one kind of data and noise.

    Attributes
    ----------
    kind, noise : str
    cases : int
        In which both sides have a score.
    ahead : float
        Share of them at or above the best simple rival.
    mean_lead, least_lead : float
        In dB.
    """

    kind: str
    noise: str
    cases: int
    ahead: float
    mean_lead: float
    least_lead: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def duels_of(records: Sequence[Record]) -> list[Duel]:
    """Cases by kind and name, seeds together; records without rivals are left out.

    Of two records of a method the later one counts.
    """
    latest = {(record["case"], record["rival"]): record for record in records if "damage" in record}
    by_case: dict[str, list[Record]] = {}
    for record in latest.values():
        by_case.setdefault(record["damage"], []).append(record)
    found = [_duel(case, lines) for case, lines in by_case.items()]
    order = list(_KINDS)
    return sorted((duel for duel in found if duel.rivals), key=lambda duel: (order.index(duel.kind), duel.case))


def summarise_duels(duels: Sequence[Duel]) -> list[DuelSummary]:
    """By kind of data and noise, and all together."""
    parts = [
        _summary(kind, noise, [duel for duel in duels if (duel.kind, duel.noise) == (kind, noise)])
        for kind in _KINDS
        for noise in _DAMAGES
    ]
    return [part for part in [*parts, _summary("all", "all", duels)] if part.cases]


def markdown(duels: Sequence[Duel], summaries: Sequence[DuelSummary]) -> str:
    """Tables for the documentation."""
    blocks = [_summary_table(summaries), _losses(duels)]
    blocks += [_case_table(title, [duel for duel in duels if duel.kind == kind]) for kind, title in _KINDS.items()]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _duel(case: str, lines: list[Record]) -> Duel:
    first = lines[0]
    scores = {name: _score([one for one in lines if one["rival"] == name]) for name in (AUTO, RESTORE, *SIMPLE, *SLOW)}
    return Duel(
        case=case,
        kind=first["kind"],
        noise=first["noise"] if first.get("holes", "entries") == "entries" else _TOGETHER,
        missing=first["missing"],
        seeds=len({one["seed"] for one in lines}),
        restored=scores.pop(RESTORE),
        ring=scores.pop(AUTO),
        rivals={name: score for name, score in scores.items() if score is not None},
    )


def _score(lines: list[Record]) -> Score | None:
    """The mean of all seeds; None if one of them failed."""
    if not lines or any(one["psnr"] is None for one in lines):
        return None
    return Score(mean(one["psnr"] for one in lines), mean(one["seconds"] for one in lines))


def _summary(kind: str, noise: str, duels: Sequence[Duel]) -> DuelSummary:
    leads = [duel.lead for duel in duels if duel.lead is not None]
    if not leads:
        return DuelSummary(kind, noise, 0, 0.0, 0.0, 0.0)
    return DuelSummary(kind, noise, len(leads), mean(lead >= 0 for lead in leads), mean(leads), min(leads))


def _summary_table(summaries: Sequence[DuelSummary]) -> str:
    rows = [
        (
            one.kind,
            _DAMAGES.get(one.noise, one.noise),
            str(one.cases),
            f"{100 * one.ahead:.0f} %",
            f"{one.mean_lead:+.1f}",
            f"{one.least_lead:+.1f}",
        )
        for one in summaries
    ]
    return _table(("data", "noise", "cases", "at or above", "mean lead, dB", "least lead, dB"), rows)


def _losses(duels: Sequence[Duel]) -> str:
    """The cases that are lost, worst first."""
    leads = [(duel.lead, duel) for duel in duels if duel.lead is not None]
    lost = sorted(((lead, duel) for lead, duel in leads if lead < _LOST), key=lambda one: one[0])
    heading = f"### Where `restore` loses by more than {-_LOST:g} dB"
    if not lost:
        return f"{heading}\n\nNowhere in these cases."
    rows = [
        (
            duel.case,
            f"{lead:+.1f}",
            _text(duel.restored),
            f"{duel.best_rival} {_text(duel.rivals[str(duel.best_rival)])}",
        )
        for lead, duel in lost
    ]
    return f"{heading}\n\n{_table(('case', 'lead, dB', 'ours', 'best simple rival'), rows)}"


def _case_table(title: str, duels: Sequence[Duel]) -> str:
    """Every case with every rival that ran in any; the best number of a row is bold."""
    names = [name for name in (*SIMPLE, *SLOW) if any(name in duel.rivals for duel in duels)]
    if not names:
        return ""
    rows = []
    for duel in duels:
        scores = [duel.restored, duel.ring, *(duel.rivals.get(name) for name in names)]
        best = max(score.psnr for score in scores if score is not None)
        rows.append((duel.case, *(_text(score, bold=score is not None and score.psnr == best) for score in scores)))
    return f"### {title}\n\n{_table(('case', '`restore(x)`', 'ring', *names), rows)}"


def _text(score: Score | None, *, bold: bool = False) -> str:
    if score is None:
        return "–"
    return f"{'**' if bold else ''}{score.psnr:.1f}{'**' if bold else ''} ({score.seconds:.3g} s)"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
