"""`ringlet fit`: from a data file to a .ring file."""

from pathlib import Path

import click

from ringlet.api import Rank
from ringlet.cli.fitting import fit_input, show
from ringlet.cli.inputs import open_input
from ringlet.cli.options import (
    RANK_HELP,
    RANK_OR_AUTO,
    CheckpointOptions,
    DataOptions,
    SolverOptions,
    checkpoint_options,
    data_options,
    force_option,
    json_option,
    quiet_option,
    seed_option,
    solver_options,
    suffixed,
)
from ringlet.cli.restoring import check_paths

__all__ = ["command"]


@click.command(name="fit")
@click.argument("source", metavar="IN", type=click.Path(path_type=Path))
@click.option(
    "--rank",
    type=RANK_OR_AUTO,
    default="auto",
    show_default=True,
    metavar="auto|R|R,R,..|SIZE|PSNR",
    help=RANK_HELP,
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="OUT.ring",
    callback=suffixed(".ring"),
    help="Where the ring goes.",
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
    data: DataOptions,
    solver: SolverOptions,
    kept: CheckpointOptions,
    seed: int,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Fit a tensor ring to the file IN and save it.

    Missing entries are left out and wrong ones lose their say. Ctrl-C saves the best ring so far.
    """
    check_paths([output], force=force)
    kept.check()
    given = open_input(source, data)
    finished = fit_input(given, rank, solver.build(given.shape), kept=kept, seed=seed, progress=not quiet)
    finished.fit.ring.save(output, force=force)
    show(finished, [output], as_json=as_json, quiet=quiet)
    ctx.exit(finished.exit_code)
