"""`ringlet bench`: how fast a sweep is, as ratios taken in one run."""

import platform
from pathlib import Path

import click

from ringlet.amounts import format_bytes
from ringlet.bench.cases import CASES
from ringlet.bench.measure import CaseResult, measure_case
from ringlet.bench.peers import measure_peers
from ringlet.bench.picture import draw_parts
from ringlet.cli.options import force_option, json_option, suffixed
from ringlet.cli.screen import print_json, print_table
from ringlet.execution import Threads
from ringlet.store.atomic import atomic_output, check_outputs

__all__ = ["command"]


@click.command(name="bench")
@click.argument("names", metavar="[CASE]...", type=click.Choice([*CASES, "peers"]), nargs=-1)
@click.option("--sweeps", type=click.IntRange(1), default=5, show_default=True, help="Sweeps to take the median of.")
@click.option("--alone", is_flag=True, help="Leave out the naive sweep and TensorLy, which take long.")
@click.option(
    "--picture",
    type=click.Path(path_type=Path),
    metavar="PARTS.png",
    callback=suffixed(".png"),
    help="Draw where the time goes.",
)
@force_option
@json_option
def command(names: tuple[str, ...], sweeps: int, alone: bool, picture: Path | None, force: bool, as_json: bool) -> None:
    """Time sweeps of SAWRTRD on made-up data; without CASE, on all cases.

    The limit is the time of the bare matrix products and factorisations of the same plan. Benchmarks report; they
    fail nothing. Nothing else should run on the machine meanwhile. `peers` times TRALS and SampledTRALS against
    TensorLy instead.
    """
    if "peers" in names:
        _peers(sweeps, as_json)
        return
    if picture is not None:
        check_outputs([picture], force=force)
    results = []
    for name in names or CASES:
        click.echo(f"measuring {name} ...", err=True)
        results.append(measure_case(CASES[name], sweeps=sweeps, others=not alone))
    if picture is not None:
        with atomic_output(picture) as temporary:
            draw_parts(results, temporary)
    if as_json:
        print_json({"machine": _machine(), "cases": [result.as_dict() for result in results]})
    else:
        click.echo(_machine())
        print_table(
            ("case", "sweep s", "× limit", "worst mode", "naive ×", "TensorLy ×", "sampled ×", "peak", "data"),
            [_row(result) for result in results],
        )


def _peers(sweeps: int, as_json: bool) -> None:
    results = [result.as_dict() for result in measure_peers(sweeps)]
    if as_json:
        print_json({"machine": _machine(), "peers": results})
        return
    click.echo(_machine())
    columns = ("ours", "peer", "peer_over_ours", "our_error", "peer_error")
    print_table(
        ("method", "case", "sweep s", "TensorLy s", "TensorLy ×", "error", "its error"),
        [(result["method"], result["case"], *(f"{result[name]:.3g}" for name in columns)) for result in results],
    )


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
