"""What does a device bring? Sweeps of SAWRTRD on torch tensors there, beside the same sweeps in NumPy.

    pip install torch 'ringlet[arrays]'
    python benchmarks/device.py --device cuda
    python benchmarks/device.py --device cuda --cases video photo --json

Printed are seconds of a sweep (medians), their ratio, the relative difference of the two rings after equal sweeps, and
what a sweep costs by the plan: operations, entries of the data that it looks at, and bytes that travel between host and
device. `host s` are the seconds of a NumPy sweep that stay on the host, if the device has no float64 or is the
processor: those of Gram matrices and solves. No device makes a sweep faster than that.

    python benchmarks/device.py --model

measures nothing: it counts what a sweep costs on a GPU, and writes benchmarks/earlier/gpu-model.csv, which
`make tables` puts on the page docs/devices.md.
"""

import argparse
import csv
import json
import platform
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ringlet import SAWRTRD
from ringlet.bench.arrays import measure_arrays, traffic
from ringlet.bench.cases import CASES, Case
from ringlet.ring.gram import passes_unformed

COLUMNS = {
    "case": "case",
    "numpy": "NumPy s",
    "there": "there s",
    "numpy_over_there": "ratio",
    "host": "host s",
    "difference": "difference",
    "operations": "operations",
    "entries": "entries",
    "traffic": "bytes sent",
}


ROOT = Path(__file__).parents[1]
SINGLE, DOUBLE, MEMORY, LINK = 1e13, 5e12, 5e11, 12e9  # operations in float32 and float64, bytes on the card and to it
NUMBERS_AN_ENTRY = (
    24  # read and written by the element-wise operations of `block_arrays` for an entry of a robust update
)
LONGEST, PLANNED = 12, 4  # steps of conjugate gradients: all rows go as far as those that need most


def gram_operations(shape: Sequence[int], rank: Sequence[int]) -> int:
    """Of the Gram matrices of a sweep, in float64: each core is passed once forward and once in reverse."""
    bond = min(rank)
    pairs, total = bond * (bond + 1) // 2, 0
    for length, a, b in zip(shape, rank, (*rank[1:], rank[0]), strict=True):
        unformed = 2 * pairs * length * a * b * (a + b)
        formed = length * (a * b) ** 2 + 2 * pairs * (a * b) ** 2
        total += 2 * unformed if passes_unformed(a, length, b, pairs) and bond not in (a, b) else 2 * formed
    return total


def model(case: Case) -> list[str]:
    """What a sweep of a case costs on a GPU, by counting."""
    solver = SAWRTRD(samples=case.samples, loss="correntropy", smooth=0.0)
    plan = solver.plan(case.shape, case.rank, np.dtype("u1"))
    solves = [cost.solve for cost in plan.cores]
    single = sum(LONGEST / PLANNED * solve.operations for solve in solves if not solve.exact)
    double = gram_operations(case.shape, case.rank) + sum(solve.operations for solve in solves if solve.exact)
    products = plan.operations - sum(solve.operations for solve in solves)
    entries = sum(cost.plan.entries for cost in plan.cores)
    sent = traffic(plan, 4, solves=True)
    times = products / SINGLE, 4 * NUMBERS_AN_ENTRY * entries / MEMORY, single / SINGLE, double / DOUBLE, sent / LINK
    work = f"{products / 1e9:.3g} Gflop", f"{single / 1e9:.3g} Gflop", f"{double / 1e9:.3g} Gflop"
    name = f"{case.name} {' × '.join(map(str, case.shape))}"
    return [name, str(case.rank), *work, *(f"{1e3 * seconds:.2g} ms" for seconds in (*times, sum(times)))]


def write_model() -> None:
    """The table of the page."""
    heads = ["case", "rank", "products", "conjugate gradients", "in float64"]
    heads += [
        f"time of {part}" for part in ("products", "entry-wise work", "conjugate gradients", "float64", "transfers")
    ]
    with (ROOT / "benchmarks" / "earlier" / "gpu-model.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [[*heads, "sum"], *(model(CASES[name]) for name in ("photo", "cube", "video"))]
        )


def text(value: object) -> str:
    """A number with three digits."""
    return value if isinstance(value, str) else f"{value:.3g}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", help="as torch names it (default: cuda)")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=["photo", "cube", "video"])
    parser.add_argument("--sweeps", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--model", action="store_true", help="count instead of measuring, and write the record")
    given = parser.parse_args()
    if given.model:
        write_model()
        return
    found = [result.as_dict() for result in measure_arrays(given.cases, given.sweeps, given.device)]
    if given.json:
        print(json.dumps({"machine": platform.platform(), "results": found}, indent=1))
        return
    rows = [list(COLUMNS.values()), *([text(result[name]) for name in COLUMNS] for result in found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    print(f"{platform.machine()}, {found[0]['device']}")
    for row in rows:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


if __name__ == "__main__":
    main()
