"""`ringlet bench quality`: how good a first try is, on real data."""

from collections.abc import Sequence
from pathlib import Path

import click

from ringlet.bench.quality.cases import HALVES, QualityCase, cases_of, chosen_cases, half_of, rival_cases, with_seeds
from ringlet.bench.quality.ideas import IDEAS, check_ideas
from ringlet.bench.quality.rival_samples import rival_samples
from ringlet.bench.quality.rival_table import Duel, DuelSummary, duels_of, markdown, summarise_duels
from ringlet.bench.quality.run import IN_USE, OPPONENTS, records_in, run_cases
from ringlet.bench.quality.samples import SHORT_SIDE, builtin_samples, samples_in
from ringlet.bench.quality.summary import Outcome, Summary, outcomes_of, summarise
from ringlet.bench.quality.worth import HalfSummary, Worth, halves_of, worths_of
from ringlet.bench.rivals.catalogue import check_libraries
from ringlet.cli.options import json_option
from ringlet.cli.paths import GivenPath
from ringlet.cli.quality_tables import show_duels, show_halves, show_outcomes
from ringlet.cli.screen import print_json
from ringlet.experiments.journal import Record
from ringlet.experiments.runner import machine
from ringlet.store.atomic import atomic_output

__all__ = ["command"]

_USUAL = ("plain", "peers", "grid")


@click.command(name="quality")
@click.option(
    "--data",
    type=GivenPath(file_okay=False),
    metavar="DIR",
    help="A folder of folders of photos, videos and arrays.  [default: pictures of scikit-image and scikit-learn, "
    "scaled down, and generated videos]",
)
@click.option(
    "--cases",
    "--only",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    help="Run only matching cases, e.g. 'photos/*-m70-*'. May be repeated.",
)
@click.option(
    "--against",
    type=click.Choice(list(OPPONENTS)),
    multiple=True,
    show_default="plain, peers, grid; none with --without",
    help="Compare with the paper's method (plain), its peers in the same time (peers) or with all their sweeps "
    "(finished-peers), the best of a grid (grid), or methods in use today, on other cases (rivals; slow-rivals: "
    "BM3D). May be repeated.",
)
@click.option(
    "--without",
    "left_out",
    multiple=True,
    metavar="NAME",
    help=f"Repeat every case with one idea of the automatic fit switched off: {', '.join(IDEAS)}. May be repeated.",
)
@click.option(
    "--short-side",
    type=click.IntRange(16),
    default=SHORT_SIDE,
    show_default=True,
    metavar="PX",
    help="Short side of built-in pictures. Names of cases include other sizes than 240 (skimage/coffee@120).",
)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of repetitions of every case, with other damage and another seed of the fit.",
)
@click.option(
    "--half",
    type=click.Choice(list(HALVES)),
    help="Run only the cases on which settings may be tuned, or only the others; a hash of the name decides.",
)
@click.option(
    "--table",
    type=GivenPath(dir_okay=False),
    metavar="FILE.md",
    help="With rivals: write Markdown tables of all measured cases; an existing file is replaced.",
)
@click.option(
    "--budget-minutes",
    type=click.FloatRange(0),
    default=5.0,
    show_default=True,
    metavar="M",
    help="Start no new measurement after M minutes; 0 measures nothing. Cases run in a random order, so any part "
    "of them is a fair sample.",
)
@click.option(
    "--out",
    type=GivenPath(dir_okay=False),
    metavar="X.jsonl",
    help="Save every measurement in this file; the same command continues where it stopped.",
)
@click.option(
    "--again",
    is_flag=True,
    help="Measure decompose(x) and restore(x) again for the cases in the file of --out, and nothing else. With "
    "--against rivals.",
)
@json_option
def command(
    data: Path | None,
    patterns: tuple[str, ...],
    against: tuple[str, ...],
    left_out: tuple[str, ...],
    short_side: int,
    seeds: int,
    half: str | None,
    table: Path | None,
    budget_minutes: float,
    out: Path | None,
    again: bool,
    as_json: bool,
) -> None:
    """Measure the quality of decompose(x) with no other argument, and compare it with other methods.

    0, 30, 70 or 90 % of the entries of real data are hidden, and 0, 20 or 40 % of the others are corrupted. The results
    are compared with the best rank, ridge and kernel width on a grid, chosen with the truth; with SAWRTRD as the paper
    prints it; and with five robust completion methods in the same time. The cost is relative to one plain fit of the
    final rank.

    Cases are divided into two halves: settings may be tuned on one, the other is kept aside. The table shows both. With
    --without NAME every case is also fitted without one idea, and the table shows what the idea is worth.

    With --against rivals, restore(x) is compared with interpolation, median filters, inpainting, PCA and imputers, on
    photos in full size, videos and tensors: complete, 50, 30 and 10 % observed, with 20 % salt and pepper, 10 % random
    values, or the paper's mixture. This needs ringlet[rivals].
    """
    check_ideas(left_out)
    against = against or (() if left_out else _USUAL)
    with_rivals = any(name in IN_USE for name in against)
    if with_rivals and left_out:
        raise click.UsageError("--without is not for --against rivals")
    if again and not with_rivals:
        raise click.UsageError("--again is for --against rivals")
    if table and not with_rivals:
        raise click.UsageError("--table is for --against rivals")
    if short_side != SHORT_SIDE and (data is not None or with_rivals):
        raise click.UsageError("--short-side is for built-in pictures; not for --data, nor for --against rivals")
    found = _rival_cases(data) if with_rivals else _cases(data, short_side)
    chosen = [case for case in chosen_cases(found, patterns) if half in (None, half_of(case.kind_of_damage))]
    cases = with_seeds(chosen, seeds)
    names = {case.name for case in cases}
    with records_in(out) as (records, append):

        def keep(record: Record) -> None:
            append(record)
            _report(record)

        run_cases(cases, against, records, keep, minutes=budget_minutes, left_out=left_out, again=again)
        mine = [record for record in records if record["case"] in names]
    if with_rivals:
        _tell_duels(duels_of(mine), len(chosen), table, as_json=as_json)
        return
    outcomes, halves, worths = outcomes_of(mine), halves_of(mine), worths_of(mine)
    summaries = summarise(outcomes)
    if as_json:
        _print_json(outcomes, summaries, halves=halves, without=worths)
        return
    show_outcomes(outcomes, summaries, len(cases))
    show_halves(halves, worths)


def _cases(data: Path | None, short_side: int) -> list[QualityCase]:
    return cases_of(builtin_samples(short_side) if data is None else samples_in(data))


def _rival_cases(data: Path | None) -> list[QualityCase]:
    check_libraries()
    return rival_cases(rival_samples(data))


def _tell_duels(duels: Sequence[Duel], wanted: int, table: Path | None, *, as_json: bool) -> None:
    summaries = summarise_duels(duels)
    if table is not None:
        with atomic_output(table) as temporary:
            temporary.write_text(markdown(duels, summaries), encoding="utf-8")
    if as_json:
        _print_json(duels, summaries)
        return
    show_duels(duels, summaries, wanted)


def _print_json(
    cases: Sequence[Duel | Outcome],
    summaries: Sequence[DuelSummary | Summary],
    **more: Sequence[HalfSummary | Worth],
) -> None:
    parts = {"cases": cases, "summary": summaries, **more}
    print_json({"machine": machine(), **{name: [one.as_dict() for one in part] for name, part in parts.items()}})


def _report(record: Record) -> None:
    score = record["status"] if record["psnr"] is None else f"{record['psnr']:.2f} dB, {record['seconds']:.1f} s"
    click.echo(f"{record['case']}  {record['rival']}: {score}", err=True)
