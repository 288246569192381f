"""Speed: what `ringlet bench --json` and `ringlet bench quality-time --json` have printed."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evidence.markdown import decimal, table
from ringlet.amounts import format_bytes
from ringlet.bench.cases import CASES

__all__ = ["evaluation", "gram", "measure", "peers", "quality_time", "startup", "sweeps"]

_FOLDER = Path(__file__).parents[2] / "benchmarks"
_MACHINES = {"Xeon": "xeon-2-cores.json", "EPYC": "epyc-2-cores.json"}
_PEERS = "epyc-2-cores-slow-host.json"  # the one record that has them
_TIME = _FOLDER / "quality-time.json"
_WIDE_TIMES = [  # by hand: the old version, at 480p and in full HD with wide bonds, takes minutes
    _FOLDER / "quality-time-wide.json",
    _FOLDER / "quality-time-hd.json",
]


def measure(data: Path | None, _minutes: float) -> list[list[str]]:
    """The commands; what they print is a record, so `bench --json` of a machine is kept by hand under its name."""
    given = ["--data", str(data)] if data else []
    others = [word for name in ("exact", "AWRTRD", "L1TNN", "TensorLy") for word in ("--against", name)]
    sizes = ["--crop", "160,240", "--rank", "30,30,3,10", "--sweeps", "10"]
    return [["bench", "quality-time", *given, *sizes, *others, "--json", f"> {_TIME}"]]


def _records() -> dict[str, dict[str, Any]]:
    return {name: json.loads((_FOLDER / file).read_text(encoding="utf-8")) for name, file in _MACHINES.items()}


def sweeps() -> str:
    """One row a case and machine."""
    rows = []
    for machine, record in _records().items():
        for one in record["cases"]:
            case = CASES[one["name"]]
            sizes = f"{_product(case.shape)}, rank {_rank(case.rank)}"
            peer = "–" if one["peer_over_ours"] is None else f"{one['peer_over_ours']:.0f} times"
            if one["peer_sampled_over_ours"] is not None:
                peer += f"; sampled {one['peer_sampled_over_ours']:.1f}"
            memory = f"{format_bytes(one['peak'])}; {format_bytes(one['data'])}"
            cells = (f"{one['sweep']:.2g} s", decimal(one["over_limit"], 2), f"{one['naive_over_ours']:.1f} times")
            rows.append((f"{one['name']}: {sizes}", machine, *cells, peer, memory))
    heads = ("case", "machine", "a sweep", "over the limit", "naive sweep", "TensorLy", "peak memory; data")
    return table(heads, rows)


def quality_time() -> str:
    """Every solver of the records."""
    return "\n\n".join(_quality_time(json.loads(path.read_text(encoding="utf-8"))) for path in (_TIME, *_WIDE_TIMES))


def _quality_time(record: dict[str, Any]) -> str:
    rows = []
    for curve in record["curves"]:
        reached = curve["seconds_to_goal"]
        rows.append(
            (
                curve["name"],
                decimal(curve["psnr"][-1], 2),
                decimal(curve["processor"][-1]),
                decimal(None if reached is None else reached[0]),
                decimal(curve["processor_over_reference"], 2),
                format_bytes(curve["peak"]),
            )
        )
    heads = ("solver", "ends at, dB", "processor seconds", "to the goal", "ratio", "peak memory")
    sweeps_done = len(record["curves"][0]["psnr"])
    told = (
        f"{_product(record['shape'])}, rank {_rank(record['rank'])}, {sweeps_done} sweeps, {record['machine']['cpu']}."
    )
    return f"{told}\n\n{table(heads, rows)}"


def evaluation() -> str:
    """Dense blocks and single entries."""
    rows = [
        (
            one["ring"],
            machine,
            f"{1e3 * one['seconds']:.3g} ms",
            decimal(one["share_of_sgemm"], 2),
            f"{one['entries_per_second']:,.0f}",
        )
        for machine, record in _records().items()
        for one in record.get("evaluation", [])
    ]
    return table(("ring", "machine", "dense block", "share of SGEMM's speed", "single entries a second"), rows)


def gram() -> str:
    """The Gram matrix of rings of order 3 to 12."""
    shown = (3, 6, 9, 12)
    rows = []
    for machine, record in _records().items():
        times = dict(zip(record["gram"]["orders"], record["gram"]["one"], strict=True))
        rows.append((machine, *(f"{1e3 * times[order]:.2f} ms" for order in shown)))
    return table(("one Gram matrix, 64 slices, rank 8", *(f"order {order}" for order in shown)), rows)


def peers() -> str:
    """TRALS and SampledTRALS beside TensorLy's."""
    record = json.loads((_FOLDER / _PEERS).read_text(encoding="utf-8"))
    rows = [
        (
            f"`{one['method']}`",
            one["case"],
            f"{one['peer_over_ours']:.1f} times",
            decimal(one["our_error"], 3),
            decimal(one["peer_error"], 3),
        )
        for one in record["peers"]
    ]
    return table(("method", "case", "faster than TensorLy", "relative error", "TensorLy's"), rows)


def startup() -> str:
    """How long the first line of a program takes."""
    names = {
        "import_numpy": "`import numpy`",
        "import_ringlet": "`import ringlet`",
        "import_decompose": "`from ringlet import decompose`",
        "help": "`ringlet --help`",
    }
    records = {machine: record["start-up"] for machine, record in _records().items() if "start-up" in record}
    rows = [(machine, *(f"{found[name]:.2f} s" for name in names)) for machine, found in records.items()]
    return table(("machine", *names.values()), rows)


def _product(shape: Sequence[int]) -> str:
    return f"{shape[0]}^{len(shape)}" if len(set(shape)) == 1 else " x ".join(map(str, shape))


def _rank(rank: Sequence[int]) -> str:
    return str(rank[0]) if len(set(rank)) == 1 else f"({', '.join(map(str, rank))})"
