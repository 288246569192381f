"""What does a device bring? Sweeps of SAWRTRD on torch tensors there, beside the same sweeps in NumPy.

    pip install torch 'ringlet[arrays]'
    python benchmarks/device.py --device cuda
    python benchmarks/device.py --device cuda --cases video photo --json

Printed are seconds of a sweep (medians), their ratio, the relative difference of the two rings after equal sweeps, and
what a sweep costs by the plan: operations, entries of the data that it looks at, and bytes that travel between host and
device. `host s` are the seconds of a NumPy sweep that stay on the host, the Gram matrices and solves: no device makes a
sweep faster than that.
"""

import argparse
import json
import platform

from ringlet.bench.arrays import measure_arrays
from ringlet.bench.cases import CASES

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
    given = parser.parse_args()
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
