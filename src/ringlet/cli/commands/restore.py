"""`ringlet restore`: from a damaged file to a clean one."""

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
from ringlet.report.outliers import outlier_map
from ringlet.report.pictures import draw_outliers
from ringlet.restoration.clean_file import CleanFile
from ringlet.restoration.inputs import ReadOptions, open_input
from ringlet.sources.media import import_pillow
from ringlet.store.atomic import atomic_output, check_outputs

__all__ = ["command"]


@click.command(name="restore")
@click.argument("source", metavar="IN", type=GivenPath())
@click.option(
    "-o",
    "--output",
    type=GivenPath(),
    required=True,
    metavar="OUT",
    help="The clean file: a picture, a video, .npy, .npz, .mat, .zarr or .h5.",
)
@click.option(
    "--keep",
    is_flag=True,
    help="Leave entries that are known and trusted as they are. Without it all entries are the ring's, which has "
    "neither the noise nor the finest detail.",
)
@rank_option
@click.option(
    "--save",
    type=GivenPath(),
    metavar="X.ring",
    callback=suffixed(".ring"),
    help="Save the ring, too.",
)
@click.option(
    "--outliers",
    type=GivenPath(),
    metavar="MAP.png",
    callback=suffixed(".png"),
    help="Draw a map of the entries judged outliers, over the first two modes.",
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
    output: Path,
    keep: bool,
    rank: Rank,
    save: Path | None,
    outliers: Path | None,
    data: ReadOptions,
    solver: SolverOptions,
    kept: CheckpointOptions,
    seed: int,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Restore the damaged file IN: fill what is missing, replace what is wrong.

    The clean file has the shape and the dtype of IN; a video keeps its frame rate, but its sound and
    rotation metadata are not carried over. Ctrl-C ends the fit early and writes the best result so far.
    """
    paths = [path for path in (output, save, outliers) if path is not None]
    check_outputs(paths, force=force)
    if outliers is not None:
        import_pillow()  # before the work, not after it
    kept.check()
    given = open_input(source, data)
    clean = CleanFile(output, given, keep, force)
    finished = fit_input(
        given,
        rank,
        solver.build(given.shape),
        kept=kept,
        seed=seed,
        progress=not quiet,
    )
    if outliers is not None:  # first, as the output may replace the input
        with atomic_output(outliers) as temporary:
            draw_outliers(outlier_map(finished.fit)).save(temporary)
    clean.write(finished.fit)
    if save is not None:
        finished.fit.ring.save(save, force=force)
    show(finished, source, paths, as_json=as_json, quiet=quiet)
    ctx.exit(finished.exit_code)
