"""`ringlet restore`: from a damaged file to a clean one."""

from dataclasses import dataclass, replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Literal, get_args

import click

from ringlet.api import Rank
from ringlet.cli.fitting import Finished, fit_input, show
from ringlet.cli.options import (
    CheckpointOptions,
    SolverOptions,
    checkpoint_options,
    data_options,
    force_option,
    gathered,
    json_option,
    quiet_option,
    rank_option,
    seed_option,
    solver_options,
)
from ringlet.cli.paths import GivenPath, suffixed
from ringlet.local.answer import Choice
from ringlet.report.outlier_files import OUTLIER_SUFFIXES, check_outlier_file, write_outliers
from ringlet.report.restoration_page import Restoration, check_page, write_restoration_page
from ringlet.restoration.clean_entries import Cleaning, clean_entries
from ringlet.restoration.clean_file import CleanFile
from ringlet.restoration.inputs import ReadOptions, open_input
from ringlet.restoration.preview import Preview, fit_seconds
from ringlet.results.records import State
from ringlet.store.atomic import check_outputs

__all__ = ["command"]

_CHOICES = get_args(Choice)


@dataclass(frozen=True)
class OutputOptions:
    """What is written, and where."""

    output: Path
    detail: Choice
    keep: Choice
    refine: Literal["patches"] | None
    trust_known: bool
    save: Path | None
    outliers: Path | None
    legend: bool
    report: Path | None

    @property
    def paths(self) -> list[Path]:
        """All files that are written."""
        return [path for path in (self.output, self.save, self.outliers, self.report) if path is not None]

    @property
    def cleaning(self) -> Cleaning:
        """How restored data follow from the fit."""
        return Cleaning(self.detail, self.keep, self.trust_known, self.refine)

    def check(self, *, force: bool) -> None:
        """Refuse files that could not be written, before any work."""
        check_outputs(self.paths, force=force)
        if self.outliers is not None:
            check_outlier_file(self.outliers, legend=self.legend)
        elif self.legend:
            raise click.UsageError("--legend needs --outliers MAP.png")
        if self.report is not None:
            check_page()


output_options = gathered(
    "outputs",
    OutputOptions,
    [
        click.option(
            "-o",
            "--output",
            type=GivenPath(),
            required=True,
            metavar="OUT",
            help="Output file: a picture, a video, .npy, .npz, .mat, .zarr, .h5, .tif, .nc, .csv or .parquet; for a "
            "video or frames also a folder of frames.",
        ),
        click.option(
            "--detail",
            type=click.Choice(_CHOICES),
            default="auto",
            show_default=True,
            help="Add detail that the ring lacks, predicted from trusted entries nearby. auto adds it if this reduces "
            "the error at known entries that were hidden.",
        ),
        click.option(
            "--keep",
            type=click.Choice(_CHOICES),
            default="auto",
            show_default=True,
            help="Known and trusted entries: always keeps them unchanged, never replaces them by the ring, auto keeps "
            "them and reduces their noise.",
        ),
        click.option(
            "--refine",
            type=click.Choice(["patches"]),
            help="Improve filled entries further, by groups of similar patches; takes several times as long.",
        ),
        click.option(
            "--trust-known",
            is_flag=True,
            help="Change only missing entries, e.g. those of --mask; all known entries stay as they are.",
        ),
        click.option(
            "--save",
            type=GivenPath(),
            metavar="X.ring",
            callback=suffixed(".ring"),
            help="Also save the ring.",
        ),
        click.option(
            "--outliers",
            type=GivenPath(),
            metavar="FILE",
            callback=suffixed(*OUTLIER_SUFFIXES),
            help="Write a map of the outliers: .npy or .zarr, booleans of the data's shape; or a .png of height and "
            "width, white = outlier.",
        ),
        click.option("--legend", is_flag=True, help="Draw the .png of --outliers in colour, with a legend."),
        click.option(
            "--report",
            type=GivenPath(),
            metavar="PAGE.html",
            callback=suffixed(".html"),
            help="Write a page about the result: before and after, a map of the outliers, the settings chosen.",
        ),
    ],
)


@click.command(name="restore")
@click.argument("source", metavar="IN", type=GivenPath())
@output_options
@rank_option
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
    outputs: OutputOptions,
    rank: Rank,
    data: ReadOptions,
    solver: SolverOptions,
    kept: CheckpointOptions,
    seed: int,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Restore the damaged file IN: fill missing entries and replace wrong ones.

    The clean file has the shape and the dtype of IN; a video keeps its frame rate, its sound and its
    rotation, and a netCDF file or a table its labels. Ctrl-C stops the fit and writes the best result so far.
    With --time, a preview is written to a new OUT after a tenth of the time; the final result replaces it.
    """
    outputs.check(force=force)
    kept.check()
    given = open_input(source, data)
    clean = CleanFile(outputs.output, given, outputs.cleaning, force)
    tell = None if quiet else partial(_tell_of_preview, outputs.output)
    preview = None if kept.time is None else Preview(clean, kept.time, tell)
    finished = fit_input(
        given,
        rank,
        solver.build(given.shape),
        kept=replace(kept, time=fit_seconds(kept.time, prod(given.shape))),
        seed=seed,
        progress=not quiet,
        callback=preview,
    )
    if outputs.outliers is not None:  # first, as the output may replace the input
        write_outliers(finished.fit, outputs.outliers, legend=outputs.legend, force=force)
    if outputs.report is not None:
        write_restoration_page(outputs.report, _restoration(source, finished, outputs, rank_given=rank != "auto"))
    (clean if preview is None else preview.final).write(finished.fit)
    if outputs.save is not None:
        finished.fit.ring.save(outputs.save, force=force)
    show(finished, source, outputs.paths, as_json=as_json, quiet=quiet)
    ctx.exit(finished.exit_code)


def _tell_of_preview(path: Path, state: State, seconds: float) -> None:
    click.echo(
        f"preview after {seconds:.0f} s and {state.sweep} sweeps: {path}; the final result replaces it", err=True
    )


def _restoration(source: Path, finished: Finished, outputs: OutputOptions, *, rank_given: bool) -> Restoration:
    """The content of the page."""
    given, fit = finished.given, finished.fit
    return Restoration(
        source.name,
        given.source,
        clean_entries(fit, given.source, outputs.cleaning),
        fit,
        finished.seconds,
        rank_given,
        "All known entries stay as they are." if outputs.trust_known else _KEPT[outputs.keep],
        moving=given.kind in ("video", "frames"),
    )


_KEPT = {
    "auto": "Trusted entries stay as they are, less their noise; all others are the ring with the detail around them.",
    "always": "Entries that are known and trusted stay as they are; all others are the ring with detail.",
    "never": "Every entry of the clean file is the model's.",
}
