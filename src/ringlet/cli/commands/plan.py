"""`ringlet plan`: what a fit would cost, before anything runs."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ringlet.amounts import format_bytes
from ringlet.api import Rank, plan
from ringlet.cli.options import (
    SolverOptions,
    data_options,
    json_option,
    solver_options,
)
from ringlet.cli.paths import GivenPath
from ringlet.cli.screen import print_facts, print_json, print_table, times
from ringlet.cli.values import RANK_OR_AUTO, SHAPE
from ringlet.restoration.inputs import ReadOptions, open_input
from ringlet.solvers.engine.cluster_plan import Distribution, distribute
from ringlet.solvers.engine.fit_plan import FitPlan
from ringlet.solvers.sawrtrd.robust_ring import RobustRing
from ringlet.solvers.sawrtrd.settings import SAWRTRD

__all__ = ["command"]

_DTYPES = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64")


@click.command(name="plan")
@click.argument("source", metavar="[IN]", type=GivenPath(), required=False)
@click.option(
    "--rank",
    type=RANK_OR_AUTO,
    default="auto",
    show_default=True,
    metavar="auto|R|R,R,..|SIZE|PSNR",
    help="As in fit. If the fit chooses the rank, the plan is that of the largest possible ring: an upper bound.",
)
@click.option("--shape", type=SHAPE, metavar="I,J,...", help="Plan for a tensor of this shape instead of a file.")
@click.option("--dtype", type=click.Choice(_DTYPES), help="With --shape: dtype of the data.  [default: uint8]")
@click.option("--chunks", type=SHAPE, metavar="I,J,...", help="With --shape: chunk sizes, if the data are in a store.")
@click.option(
    "--workers", type=int, metavar="N", help="Also report traffic and speed-up with N workers of a Dask cluster."
)
@data_options
@solver_options
@json_option
def command(
    source: Path | None,
    rank: Rank,
    shape: tuple[int, ...] | None,
    dtype: str | None,
    chunks: tuple[int, ...] | None,
    workers: int | None,
    data: ReadOptions,
    solver: SolverOptions,
    as_json: bool,
) -> None:
    """Report the cost of a fit of the file IN, or of a tensor of a given shape, without running it."""
    if (source is None) == (shape is None):
        raise click.UsageError("give either a file or --shape")
    given_options = asdict(data) if source is None else {"dtype": dtype, "chunks": chunks}
    for name, value in given_options.items():
        if value != getattr(ReadOptions(), name, None):
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{option} is for {'a file' if source is None else '--shape'}")
    dtype = dtype or "uint8"
    if source is not None:
        given = open_input(source, data).source
        shape, dtype = given.shape, str(given.dtype)
        chunks = None if given.chunks is None else tuple(max(lengths) for lengths in given.chunks)
    assert shape is not None  # noqa: S101 - one of the two was given
    chosen = solver.build(shape)
    planned = plan(shape, rank, solver=chosen, dtype=dtype, chunks=chunks)
    assert isinstance(planned, FitPlan)  # noqa: S101 - the command offers solvers that stream over the data
    spread = None if workers is None else distribute(planned, workers)
    if as_json:
        print_json(_content(planned, chosen, dtype, spread))
    else:
        _show(planned, chosen, dtype, spread)


def _show(planned: FitPlan, solver: RobustRing, dtype: str, spread: Distribution | None) -> None:
    samples = f", {solver.samples:,} samples" if isinstance(solver, SAWRTRD) else ", all entries"
    print_facts(
        [
            ("data", f"{times(planned.shape)}, {dtype}, {format_bytes(planned.data_bytes)}"),
            ("ring", f"rank {', '.join(map(str, planned.rank))}, {format_bytes(planned.ring_bytes)}"),
            ("solver", f"{type(solver).__name__}{samples}, at most {solver.sweeps} sweeps"),
        ]
    )
    heading, *rows = planned.table()
    print_table(heading, rows, text=(0, 1, 2))
    if spread is not None:
        print_facts([("workers", str(spread))])
    print_facts(("note", note) for note in planned.notes)


def _content(planned: FitPlan, solver: RobustRing, dtype: str, spread: Distribution | None) -> dict[str, Any]:
    return {
        "shape": planned.shape,
        "dtype": dtype,
        "rank": planned.rank,
        "solver": type(solver).__name__,
        "data_bytes": planned.data_bytes,
        "ring_bytes": planned.ring_bytes,
        "sweep": {
            "operations": planned.operations,
            "bytes_read": planned.bytes_read,
            "peak_memory": planned.memory,
        },
        "cores": [
            {
                "mode": core.plan.mode,
                "sizes": core.plan.sizes,
                "split": core.plan.split,
                "operations": core.operations,
                "bytes_read": core.bytes_read,
                "memory": core.memory,
                "keeps_weights": core.keeps_weights,
            }
            for core in planned.cores
        ],
        "workers": None if spread is None else asdict(spread) | {"speedup": spread.speedup},
        "notes": planned.notes,
    }
