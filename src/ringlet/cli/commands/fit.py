"""`ringlet fit`: from a data file to a .ring file."""

from contextlib import nullcontext
from pathlib import Path

import click

from ringlet.api import Rank
from ringlet.cli.fitting import fit_input, show
from ringlet.cli.options import (
    CheckpointOptions,
    SolverOptions,
    checkpoint_options,
    data_options,
    force_option,
    json_option,
    quiet_option,
    rank_option,
    seed_option,
    solver_options,
)
from ringlet.cli.paths import GivenPath, suffixed
from ringlet.execution import DaskExecutor
from ringlet.restoration.inputs import ReadOptions, open_input
from ringlet.store.atomic import check_outputs

__all__ = ["command"]


@click.command(name="fit")
@click.argument("source", metavar="IN", type=GivenPath())
@rank_option
@click.option(
    "-o",
    "--output",
    type=GivenPath(),
    required=True,
    metavar="OUT.ring",
    callback=suffixed(".ring"),
    help="Output file.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Run the passes over the data on the Dask cluster at this address, e.g. tcp://10.0.0.1:8786. Never changes "
    "the result.",
)
@data_options
@solver_options
@checkpoint_options
@seed_option
@force_option
@json_option
@quiet_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    source: Path,
    rank: Rank,
    output: Path,
    scheduler: str | None,
    data: ReadOptions,
    solver: SolverOptions,
    kept: CheckpointOptions,
    seed: int,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Fit a tensor ring to the file IN and save it.

    Missing entries are ignored, and outliers get small weights. Ctrl-C stops the fit and saves the best ring so far.
    """
    check_outputs([output], force=force)
    kept.check()
    given = open_input(source, data)
    chosen = solver.build(given.shape)
    with nullcontext() if scheduler is None else DaskExecutor.connect(scheduler) as executor:
        finished = fit_input(given, rank, chosen, kept=kept, seed=seed, progress=not quiet, executor=executor)
    finished.fit.ring.save(output, force=force)
    show(finished, source, [output], as_json=as_json, quiet=quiet)
    ctx.exit(finished.exit_code)
