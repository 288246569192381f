"""Tables of `ringlet bench quality`."""

from collections.abc import Sequence

import click

from ringlet.bench.quality.rival_table import Duel, DuelSummary
from ringlet.bench.quality.summary import Outcome, Summary
from ringlet.bench.quality.worth import HalfSummary, Worth
from ringlet.cli.screen import percent, print_table
from ringlet.experiments.runner import machine

__all__ = ["show_duels", "show_halves", "show_outcomes"]

_HALVES = {"tuned": "tuned on", "other": "kept aside"}


def show_halves(halves: Sequence[HalfSummary], worths: Sequence[Worth]) -> None:
    """Both halves side by side, and what was lost without ideas."""
    print_table(
        ("half", "cases", "mean", "gain", "behind grid", "spread"),
        [
            (
                _HALVES[one.half],
                str(one.cases),
                _decimal(one.mean),
                _hundredths(one.gain),
                _hundredths(one.behind_grid),
                "" if one.mean_spread is None else f"{one.mean_spread:.2f}/{one.largest_spread:.2f}",
            )
            for one in halves
        ],
    )
    click.echo("spread   worst seed below the best one in dB: mean/largest")
    if not worths:
        return
    print_table(
        ("without", "cases", *_HALVES.values(), "mean", "worst", "rescued"),
        [
            (
                one.idea,
                str(one.cases),
                *map(_hundredths, (one.tuned, one.other, one.mean, one.worst)),
                str(one.rescued),
            )
            for one in worths
        ],
    )
    click.echo("Numbers are dB lost without the idea, means over seeds; rescued cases lose 1 dB or more.")


def show_duels(duels: Sequence[Duel], summaries: Sequence[DuelSummary], wanted: int) -> None:
    """`restore(x)` and its rivals."""
    found = machine()
    click.echo(
        f"{found['cpu']}, {found['cores']} cores; {len(duels)} of {wanted} cases; PSNR in dB, lead of restore(x)"
    )
    print_table(
        ("case", "restore", "ring", "best rival", "lead"),
        [
            (
                duel.case,
                _decimal(None if duel.restored is None else duel.restored.psnr),
                _decimal(None if duel.ring is None else duel.ring.psnr),
                f"{duel.rivals[duel.best_rival].psnr:.1f} {duel.best_rival}" if duel.best_rival else "",
                _decimal(duel.lead),
            )
            for duel in duels
        ],
    )
    print_table(
        ("data", "noise", "cases", "ahead", "mean lead", "least lead"),
        [
            (one.kind, one.noise, str(one.cases), percent(one.ahead), _decimal(one.mean_lead), _decimal(one.least_lead))
            for one in summaries
        ],
    )


def show_outcomes(outcomes: Sequence[Outcome], summaries: Sequence[Summary], wanted: int) -> None:
    """`decompose(x)` and others, by case and by group."""
    found = machine()
    click.echo(f"{found['cpu']}, {found['cores']} cores; {len(outcomes)} of {wanted} cases; PSNR in dB")
    print_table(
        ("case", "auto", "grid", "plain", "best peer", "cost", "smaller"),
        [
            (
                one.case,
                _decimal(one.auto),
                _decimal(one.grid),
                _decimal(one.plain),
                f"{one.best_peer[1]:.1f} {one.best_peer[0]}" if one.best_peer else "",
                _decimal(one.cost),
                _decimal(one.smaller),
            )
            for one in outcomes
        ],
    )
    print_table(
        ("group", "cases", "near", "gain", "peers", "done", "cost", "smaller"),
        [_row(summary) for summary in summaries],
    )
    click.echo(_LEGEND)


_LEGEND = """near     share of cases at most 0.5 dB below the best choice on the grid
gain     dB above the paper's method, at the paper's completion setting: mean/least
peers    share of completion cases in which every peer is below, in the same time
done     the same when the peers may finish
cost     times one plain fit of the final rank: median/largest
smaller  numbers of the data to each of the ring: median/least"""


def _row(summary: Summary) -> tuple[str, ...]:
    return (
        summary.group,
        str(summary.cases),
        _share(summary.close_to_grid),
        _pair(summary.papers_mean_gain, summary.papers_worst_gain),
        _share(summary.above_peers),
        _share(summary.above_finished),
        _pair(summary.median_cost, summary.worst_cost),
        _pair(summary.median_smaller, summary.least_smaller),
    )


def _share(value: float | None) -> str:
    return "" if value is None else percent(value)


def _pair(usual: float | None, extreme: float | None) -> str:
    return "" if usual is None else f"{_decimal(usual)}/{_decimal(extreme)}"


def _decimal(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _hundredths(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
