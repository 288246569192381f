"""`ringlet bench quality`: how good a first try is, on real data."""

from collections.abc import Sequence
from pathlib import Path

import click

from ringlet.bench.quality.cases import cases_of, chosen_cases
from ringlet.bench.quality.run import OPPONENTS, records_in, run_cases
from ringlet.bench.quality.samples import builtin_samples, samples_in
from ringlet.bench.quality.summary import Outcome, Summary, outcomes_of, summarise
from ringlet.cli.options import json_option
from ringlet.cli.paths import GivenPath
from ringlet.cli.screen import percent, print_json, print_table
from ringlet.experiments.journal import Record
from ringlet.experiments.runner import machine

__all__ = ["command"]


@click.command(name="quality")
@click.option(
    "--data",
    type=GivenPath(file_okay=False),
    metavar="DIR",
    help="A folder of folders of photos, videos and arrays; without it, scikit-image's photos, scaled down.",
)
@click.option("--cases", "patterns", multiple=True, metavar="PATTERN", help="Only such cases, e.g. 'photos/*-m70-*'.")
@click.option(
    "--against",
    type=click.Choice(list(OPPONENTS)),
    multiple=True,
    default=("plain", "peers", "grid"),
    show_default="plain, peers, grid",
    help="The paper's method, its peers in the same time, the best of a grid, its peers until they stop by themselves. "
    "May be given again.",
)
@click.option(
    "--budget-minutes",
    type=click.FloatRange(0, min_open=True),
    default=5.0,
    show_default=True,
    metavar="M",
    help="Begin nothing new after so long; cases come in an order by chance, so any part of them is a fair choice.",
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
    budget_minutes: float,
    out: Path | None,
    as_json: bool,
) -> None:
    """Compare decompose(x), with no other argument, with choices that a beginner cannot make.

    Real data lose 0, 30, 70 or 90 % of their entries, and 0, 20 or 40 % of the others are ruined. The opponents: the
    best rank, ridge and kernel width on a grid, chosen with the truth in hand; SAWRTRD with the paper's settings; five
    robust completion methods, each given the same time. The cost is that of one plain fit of the rank it ended with.
    """
    cases = chosen_cases(cases_of(builtin_samples() if data is None else samples_in(data)), patterns)
    names = {case.name for case in cases}
    with records_in(out) as (records, append):
        run_cases(cases, against, records, append, minutes=budget_minutes, report=_report)
        outcomes = outcomes_of([record for record in records if record["case"] in names])
    summaries = summarise(outcomes)
    if as_json:
        print_json(
            {
                "machine": machine(),
                "cases": [outcome.as_dict() for outcome in outcomes],
                "summary": [summary.as_dict() for summary in summaries],
            }
        )
        return
    _show(outcomes, summaries, len(cases))


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
