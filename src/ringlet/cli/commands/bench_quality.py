"""`ringlet bench quality`: how good a first try is, on real data."""

from collections.abc import Sequence
from pathlib import Path

import click

from ringlet.bench.quality.cases import HALVES, QualityCase, cases_of, chosen_cases, half_of, rival_cases
from ringlet.bench.quality.rival_samples import rival_samples
from ringlet.bench.quality.rival_table import Duel, DuelSummary, duels_of, markdown, summarise_duels
from ringlet.bench.quality.run import IN_USE, OPPONENTS, records_in, run_cases
from ringlet.bench.quality.samples import builtin_samples, samples_in
from ringlet.bench.quality.summary import Outcome, Summary, outcomes_of, summarise
from ringlet.bench.rivals.catalogue import check_libraries
from ringlet.cli.options import json_option
from ringlet.cli.paths import GivenPath
from ringlet.cli.screen import percent, print_json, print_table
from ringlet.experiments.journal import Record
from ringlet.experiments.runner import machine
from ringlet.store.atomic import atomic_output

__all__ = ["command"]


@click.command(name="quality")
@click.option(
    "--data",
    type=GivenPath(file_okay=False),
    metavar="DIR",
    help="A folder of folders of photos, videos and arrays; without it, scikit-image's photos, scaled down.",
)
@click.option(
    "--cases",
    "--only",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    help="Only such cases, e.g. 'photos/*-m70-*'. May be given again.",
)
@click.option(
    "--against",
    type=click.Choice(list(OPPONENTS)),
    multiple=True,
    default=("plain", "peers", "grid"),
    show_default="plain, peers, grid",
    help="The paper's method, its peers in the same time, the best of a grid, its peers until they stop by themselves; "
    "rivals: what people use today, on cases of their own; slow-rivals: BM3D, if it is installed. May be given again.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="With rivals: draws of the damage of every case.",
)
@click.option(
    "--half",
    type=click.Choice(list(HALVES)),
    help="With rivals: the cases on which settings may be tuned, or the other ones; a hash of the name divides them.",
)
@click.option(
    "--table",
    type=GivenPath(dir_okay=False),
    metavar="FILE.md",
    help="With rivals: write tables of all that has been measured, in Markdown; an existing file is replaced.",
)
@click.option(
    "--budget-minutes",
    type=click.FloatRange(0),
    default=5.0,
    show_default=True,
    metavar="M",
    help="Begin nothing new after so long; 0 measures nothing. Cases come in an order by chance, so any part of "
    "them is a fair choice.",
)
@click.option(
    "--out",
    type=GivenPath(dir_okay=False),
    metavar="X.jsonl",
    help="Keep every measurement there as it is made; the same command continues with what is not there yet.",
)
@json_option
def command(
    data: Path | None,
    patterns: tuple[str, ...],
    against: tuple[str, ...],
    seeds: int,
    half: str | None,
    table: Path | None,
    budget_minutes: float,
    out: Path | None,
    as_json: bool,
) -> None:
    """Compare decompose(x), with no other argument, with choices that a beginner cannot make.

    Real data lose 0, 30, 70 or 90 % of their entries, and 0, 20 or 40 % of the others are ruined. The opponents: the
    best rank, ridge and kernel width on a grid, chosen with the truth in hand; SAWRTRD with the paper's settings; five
    robust completion methods, each given the same time. The cost is that of one plain fit of the rank it ended with.

    With --against rivals, restore(x) is compared with interpolation, median filters, inpainting, PCA and imputers, on
    photos in full size, videos and tensors: complete, 50, 30 and 10 % observed, with 20 % salt and pepper, 10 % random
    values, or the paper's mixture. This needs ringlet[rivals].
    """
    with_rivals = any(name in IN_USE for name in against)
    if not with_rivals and (seeds > 1 or half or table):
        raise click.UsageError("--seeds, --half and --table are for --against rivals")
    cases = _rival_cases(data, patterns, seeds, half) if with_rivals else _cases(data, patterns)
    names = {case.name for case in cases}
    with records_in(out) as (records, append):
        run_cases(cases, against, records, append, minutes=budget_minutes, report=_report)
        mine = [record for record in records if record["case"] in names]
    if with_rivals:
        _tell_duels(duels_of(mine), len(cases) // seeds, table, as_json=as_json)
        return
    outcomes = outcomes_of(mine)
    summaries = summarise(outcomes)
    if as_json:
        _print_json(outcomes, summaries)
        return
    _show(outcomes, summaries, len(cases))


def _cases(data: Path | None, patterns: tuple[str, ...]) -> list[QualityCase]:
    return chosen_cases(cases_of(builtin_samples() if data is None else samples_in(data)), patterns)


def _rival_cases(data: Path | None, patterns: tuple[str, ...], seeds: int, half: str | None) -> list[QualityCase]:
    check_libraries()
    cases = chosen_cases(rival_cases(rival_samples(data), seeds), patterns)
    return [case for case in cases if half in (None, half_of(case))]


def _tell_duels(duels: Sequence[Duel], wanted: int, table: Path | None, *, as_json: bool) -> None:
    summaries = summarise_duels(duels)
    if table is not None:
        with atomic_output(table) as temporary:
            temporary.write_text(markdown(duels, summaries), encoding="utf-8")
    if as_json:
        _print_json(duels, summaries)
        return
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


def _print_json(cases: Sequence[Duel | Outcome], summaries: Sequence[DuelSummary | Summary]) -> None:
    print_json(
        {
            "machine": machine(),
            "cases": [case.as_dict() for case in cases],
            "summary": [summary.as_dict() for summary in summaries],
        }
    )


def _report(record: Record) -> None:
    score = record["status"] if record["psnr"] is None else f"{record['psnr']:.2f} dB, {record['seconds']:.1f} s"
    click.echo(f"{record['case']}  {record['rival']}: {score}", err=True)


def _show(outcomes: Sequence[Outcome], summaries: Sequence[Summary], wanted: int) -> None:
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
