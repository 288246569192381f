"""`ringlet bench impute`: how well outages of measured tensors are filled in."""

from pathlib import Path

import click

from ringlet.bench.impute.cases import cases_of
from ringlet.bench.impute.run import ALL_METHODS, run_cases
from ringlet.bench.impute.samples import builtin_tensors, tensors_in
from ringlet.bench.impute.table import HEADERS, Row, rows_of
from ringlet.bench.quality.cases import chosen_cases
from ringlet.bench.quality.run import records_in
from ringlet.cli.options import json_option
from ringlet.cli.paths import GivenPath
from ringlet.cli.screen import print_json, print_table
from ringlet.experiments.journal import Record
from ringlet.experiments.runner import machine

__all__ = ["command"]


@click.command(name="impute")
@click.option(
    "--data",
    type=GivenPath(file_okay=False),
    metavar="DIR",
    help="A folder of folders with arrays (npy, npz, mat).  [default: two generated tensors]",
)
@click.option(
    "--cases", "patterns", multiple=True, metavar="PATTERN", help="Run only matching cases, e.g. '*-fibre-*'."
)
@click.option(
    "--method",
    "methods",
    type=click.Choice(ALL_METHODS),
    multiple=True,
    help="Run only this method. May be repeated.  [default: all]",
)
@click.option(
    "--fibre-mode",
    "fibre_modes",
    type=(str, int),
    multiple=True,
    metavar="NAME K",
    help="For the tensor NAME, hide whole fibres of mode K instead of the last mode. May be repeated.",
)
@click.option(
    "--most-entries",
    type=click.IntRange(100),
    default=430_000,
    show_default=True,
    metavar="N",
    help="Reduce larger tensors to at most N entries, by taking every second slice of the longest mode.",
)
@click.option(
    "--out",
    type=GivenPath(dir_okay=False),
    metavar="X.jsonl",
    help="Save every measurement in this file; the same command continues where it stopped.",
)
@click.option("--again", is_flag=True, help="Measure again what is in --out; the last measurement counts.")
@json_option
def command(
    data: Path | None,
    patterns: tuple[str, ...],
    methods: tuple[str, ...],
    fibre_modes: tuple[tuple[str, int], ...],
    most_entries: int,
    out: Path | None,
    again: bool,
    as_json: bool,
) -> None:
    """Compare how well decompose(x), without settings, and methods in use today fill outages.

    30 % of every tensor is hidden: single entries (random), whole fibres (fibre), or boxes (block). Of the other
    entries none or 5 % are wrong. The other methods are linear interpolation, PCA-EM (DINEOF), CP with a mask
    (TensorLy), and scikit-learn's IterativeImputer and KNNImputer. Their settings are chosen with the truth, which no
    user has. The score is the NRMSE of the hidden entries: their root mean square error in standard deviations of the
    data.
    """
    tensors = builtin_tensors() if data is None else tensors_in(data, most_entries, dict(fibre_modes))
    cases = chosen_cases(cases_of(tensors), patterns)
    names = {case.name for case in cases}
    with records_in(out) as (records, append):
        run_cases(cases, methods or ALL_METHODS, records, append, again=again, report=_report)
        rows = rows_of([record for record in records if record["case"] in names])
    if as_json:
        print_json({"machine": machine(), "cases": [row.as_dict() for row in rows]})
        return
    _show(rows)


def _report(record: Record) -> None:
    score = record["setting"] if record["nrmse"] is None else f"{record['nrmse']:.3f}, {record['seconds']:.1f} s"
    click.echo(f"{record['case']}  {record['method']}: {score}", err=True)


def _show(rows: list[Row]) -> None:
    found = machine()
    click.echo(f"{found['cpu']}, {found['cores']} cores; NRMSE of hidden entries")
    print_table(HEADERS, [row.cells() for row in rows], text=(0, 1))
    decided = [row.won for row in rows if row.won is not None]
    if decided:
        click.echo(f"decompose(x) has the least error in {sum(decided)} of {len(decided)} cases")
