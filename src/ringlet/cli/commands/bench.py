"""`ringlet bench`: how fast a sweep is, as ratios taken in one run."""

import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import click

from ringlet.amounts import format_bytes
from ringlet.bench.arrays import measure_arrays
from ringlet.bench.cases import CASES
from ringlet.bench.evaluation import measure_evaluation
from ringlet.bench.extension import measure_extension, moving_video, read_video
from ringlet.bench.gram import measure_gram
from ringlet.bench.measure import CaseResult, measure_case
from ringlet.bench.peers import import_tensorly, measure_peers
from ringlet.bench.picture import draw_parts
from ringlet.bench.startup import measure_startup
from ringlet.cli.options import force_option, json_option
from ringlet.cli.paths import GivenPath, suffixed
from ringlet.cli.screen import print_json, print_table
from ringlet.execution import Threads
from ringlet.report.style import import_matplotlib
from ringlet.store.atomic import atomic_output, check_outputs

__all__ = ["command"]

# Headers and rows for people, content for JSON.
Measured: TypeAlias = tuple[Sequence[str], Sequence[Sequence[str]], Any]


def _gram(_sweeps: int) -> Measured:
    growth = measure_gram()
    times = zip(growth.orders, growth.one, growth.sweep, strict=True)
    rows = [(str(order), f"{1e3 * one:.2f}", f"{1e3 * sweep:.2f}") for order, one, sweep in times]
    content = growth.as_dict()
    rows.append(("slope", f"{content['one_slope']:.2f}", f"{content['sweep_slope']:.2f}"))
    return ("order", "one Gram ms", "a sweep's ms"), rows, content


def _evaluation(_sweeps: int) -> Measured:
    found = measure_evaluation()
    rows = [
        (one.ring, f"{one.seconds:.3g}", f"{one.share_of_sgemm:.2f}", f"{one.entries_per_second:.2g}") for one in found
    ]
    return ("dense block", "seconds", "share of SGEMM", "single entries / s"), rows, [one.as_dict() for one in found]


def _startup(_sweeps: int) -> Measured:
    found = measure_startup()
    rows = [
        ("import numpy", f"{found.import_numpy:.2f}"),
        ("import ringlet", f"{found.import_ringlet:.2f}"),
        ("from ringlet import decompose", f"{found.import_decompose:.2f}"),
        ("ringlet --help", f"{found.help:.2f}"),
    ]
    return ("start-up", "seconds"), rows, found.as_dict()


def _arrays(sweeps: int) -> Measured:
    found = [result.as_dict() for result in measure_arrays(sweeps=sweeps)]
    columns = ("numpy", "there", "numpy_over_there", "difference")
    rows = [(result["device"], result["case"], *(f"{result[name]:.3g}" for name in columns)) for result in found]
    return ("device", "case", "NumPy s", "there s", "ratio", "difference"), rows, found


def _peers(sweeps: int) -> Measured:
    found = [result.as_dict() for result in measure_peers(sweeps)]
    columns = ("ours", "peer", "peer_over_ours", "our_error", "peer_error")
    rows = [(result["method"], result["case"], *(f"{result[name]:.3g}" for name in columns)) for result in found]
    return ("method", "case", "sweep s", "TensorLy s", "ratio", "error", "its error"), rows, found


def _extend(data: Path | None) -> Measured:
    video = moving_video() if data is None else read_video(data)
    found = [result.as_dict() for result in measure_extension(video)]
    columns = ("appended", "whole", "below_whole", "frame", "refit", "refit_over_frame", "late_over_early")
    rows = [(f"{result['observed']:.0%}", *(f"{result[name]:.3g}" for name in columns)) for result in found]
    headers = ("observed", "appended dB", "at once dB", "below", "a frame s", "refit s", "ratio", "late/early")
    return headers, rows, found


_MEASURES: dict[str, Callable[[int], Measured]] = {
    "gram": _gram,
    "evaluation": _evaluation,
    "start-up": _startup,
    "peers": _peers,
}
_OWN_COMMANDS = ("quality", "impute", "quality-time")


class _Bench(click.Command):
    """Timing by default; some names are commands of their own, with their own options."""

    def own_commands(self) -> dict[str, click.Command]:
        """These commands by name; they are imported only here."""
        from ringlet.cli.commands.bench_impute import command as impute
        from ringlet.cli.commands.bench_quality import command as quality
        from ringlet.cli.commands.bench_quality_time import command as quality_time

        return {"quality": quality, "impute": impute, "quality-time": quality_time}

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and args[0] in _OWN_COMMANDS:
            command = self.own_commands()[args[0]]
            return command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(name="bench", cls=_Bench)
@click.argument("names", metavar="[CASE]...", type=click.Choice([*CASES, *_MEASURES, "extend"]), nargs=-1)
@click.option(
    "--sweeps", type=click.IntRange(1), default=5, show_default=True, help="Number of sweeps; their median is reported."
)
@click.option("--arrays", is_flag=True, help="Also time torch tensors on the CPU.")
@click.option("--alone", is_flag=True, help="Skip the naive sweep and TensorLy, which are slow.")
@click.option(
    "--picture",
    type=GivenPath(),
    metavar="PARTS.png",
    callback=suffixed(".png"),
    help="Draw how the time of a sweep is spent.",
)
@click.option("--data", type=GivenPath(), metavar="VIDEO", help="Video for the case extend.  [default: generated]")
@force_option
@json_option
def command(
    names: tuple[str, ...],
    sweeps: int,
    arrays: bool,
    alone: bool,
    picture: Path | None,
    data: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Time sweeps of SAWRTRD on generated data, and some other operations. Without CASE, all are timed.

    CASE is a sweep (video, video-30, photo, cube, order-6, toy), or gram, evaluation, start-up, peers or extend (frames
    appended one by one, compared with fits of all frames). The limit of a sweep is the time of the bare matrix products
    and factorisations of the same plan. The machine should be idle otherwise.

    Three more commands measure quality: ringlet bench quality (fits without settings), ringlet bench impute (filling
    gaps) and ringlet bench quality-time (quality over seconds). Each has its own --help.
    """
    if picture is not None:
        check_outputs([picture], force=force)
        import_matplotlib()  # before the work, not after it
    chosen = names or (() if arrays else (*CASES, *_MEASURES, "extend"))
    if "peers" in chosen:
        import_tensorly()
    results, measured = [], {}
    for name in chosen:
        click.echo(f"measuring {name} ...", err=True)
        if name in CASES:
            results.append(measure_case(CASES[name], sweeps=sweeps, others=not alone))
        else:
            measured[name] = _extend(data) if name == "extend" else _MEASURES[name](sweeps)
    if arrays:
        click.echo("measuring arrays ...", err=True)
        measured["arrays"] = _arrays(sweeps)
    if picture is not None and results:
        with atomic_output(picture) as temporary:
            draw_parts(results, temporary)
    if as_json:
        content = {name: content for name, (_, _, content) in measured.items()}
        print_json({"machine": _machine(), "cases": [result.as_dict() for result in results]} | content)
        return
    click.echo(_machine())
    if results:
        print_table(
            ("case", "sweep s", "× limit", "worst", "naive", "TensorLy", "sampled", "peak", "data"),
            [_row(result) for result in results],
        )
    for headers, rows, _ in measured.values():
        print_table(headers, rows, text=(0, 1) if headers[1] == "case" else (0,))


def _row(result: CaseResult) -> tuple[str, ...]:
    ratios = result.as_dict()

    def ratio(name: str) -> str:
        return "" if ratios[name] is None else f"{ratios[name]:.3g}"

    return (
        result.name,
        f"{result.sweep:.3g}",
        ratio("over_limit"),
        f"{max(ratios['modes_over_limit']):.3g}",
        ratio("naive_over_ours"),
        ratio("peer_over_ours"),
        ratio("peer_sampled_over_ours"),
        format_bytes(result.peak),
        format_bytes(result.data),
    )


def _machine() -> str:
    return f"{platform.machine()}, {Threads().count} cores, Python {platform.python_version()}"
