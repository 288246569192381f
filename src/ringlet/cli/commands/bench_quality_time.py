"""`ringlet bench quality-time`: how long solvers take until their answer is good."""

from collections.abc import Sequence
from pathlib import Path

import click

from ringlet.amounts import format_bytes
from ringlet.bench.extension import moving_video
from ringlet.bench.picture import draw_quality_time
from ringlet.bench.quality_time import NEAR_DB, Curve, competitors, measure_quality_time, read_truth
from ringlet.cli.options import force_option, json_option
from ringlet.cli.paths import GivenPath, suffixed
from ringlet.cli.screen import print_json, print_table
from ringlet.experiments.runner import machine
from ringlet.report.style import import_matplotlib
from ringlet.store.atomic import atomic_output, check_outputs

__all__ = ["command"]


def _numbers(_context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[int, ...]:
    """Whole numbers with commas between them."""
    try:
        return () if text is None else tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise click.BadParameter(
            f"{text!r} is not a list of whole numbers, as in 80,80,3,20", param=parameter
        ) from error


@click.command(name="quality-time")
@click.option("--data", type=GivenPath(), metavar="FILE", help="A photo or a video.  [default: a generated video]")
@click.option("--crop", callback=_numbers, metavar="H,W", help="Use only the middle of the picture.")
@click.option("--rank", callback=_numbers, default="40,40,3,12", show_default=True, help="The bond before every mode.")
@click.option(
    "--samples",
    type=click.IntRange(1),
    default=30_000,
    show_default=True,
    help="Columns that SAWRTRD samples for a core update.",
)
@click.option(
    "--sweeps", type=click.IntRange(1), default=30, show_default=True, help="Number of sweeps of every solver."
)
@click.option(
    "--observed",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.3,
    show_default=True,
    help="Share of the entries that are observed.",
)
@click.option(
    "--against",
    type=click.Choice(["exact", "AWRTRD", "L1TNN", "TensorLy"]),
    multiple=True,
    help="Compare with SAWRTRD with exact solves, or with another solver. May be repeated.  [default: exact]",
)
@click.option(
    "--tree",
    "trees",
    type=GivenPath(file_okay=False),
    multiple=True,
    metavar="DIR",
    help="Also run SAWRTRD of another checkout of Ringlet. May be repeated; the first is the reference.",
)
@click.option(
    "--picture", type=GivenPath(), metavar="X.png", callback=suffixed(".png"), help="Draw PSNR over processor seconds."
)
@force_option
@json_option
def command(
    data: Path | None,
    crop: tuple[int, ...],
    rank: tuple[int, ...],
    samples: int,
    sweeps: int,
    observed: float,
    against: tuple[str, ...],
    trees: tuple[Path, ...],
    picture: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Fit the same damaged picture with several solvers in turns, and report PSNR over seconds.

    A fifth of the observed entries is salt and pepper. The goal is the PSNR at which the reference ends, less 0.2 dB.
    The reference is the first --tree, or else the exact solve, or else the first solver.
    """
    if picture is not None:
        check_outputs([picture], force=force)
        import_matplotlib()  # before the work, not after it
    truth = moving_video((240, 320, 3, 30)) if data is None else read_truth(data, crop)
    others = against or (() if trees else ("exact",))
    chosen = competitors(others, trees, samples=samples, sweeps=sweeps)
    curves = measure_quality_time(truth, rank, chosen, observed=observed, report=_report)
    exact = [curve for curve in curves if "exact" in curve.name]
    reference = exact[0] if exact and not trees else curves[0]
    if picture is not None:
        with atomic_output(picture) as temporary:
            draw_quality_time(curves, temporary)
    found = [curve.as_dict(reference) for curve in curves]
    if as_json:
        print_json({"machine": machine(), "shape": truth.shape, "rank": rank, "curves": found})
        return
    _show(curves, reference)


def _report(curve: Curve) -> None:
    sweep, seconds, psnr = len(curve.psnr), curve.processor[-1], curve.psnr[-1]
    click.echo(f"{curve.name}  sweep {sweep}: {seconds:.1f} s, {psnr:.2f} dB", err=True)


def _show(curves: Sequence[Curve], reference: Curve) -> None:
    about, rows = machine(), []
    for curve in curves:
        content = curve.as_dict(reference)
        reached, ratio = content["seconds_to_goal"], content["processor_over_reference"]
        times = ("", "") if reached is None else tuple(f"{seconds:.1f}" for seconds in reached)
        psnr, share = f"{curve.psnr[-1]:.2f}", "" if ratio is None else f"{ratio:.2f}"
        rows.append((curve.name, psnr, f"{curve.processor[-1]:.1f}", *times, share, format_bytes(curve.peak)))
    click.echo(f"{about['cpu']}, {about['cores']} cores; the goal is {reference.psnr[-1] - NEAR_DB:.2f} dB")
    print_table(("solver", "ends at dB", "processor s", "to the goal", "wall", "ratio", "peak"), rows)
