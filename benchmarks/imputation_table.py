"""Put the table of imputation into docs/imputation.md, from the record of `ringlet bench impute --out`.

    python benchmarks/imputation_table.py benchmarks/imputation.jsonl docs/imputation.md

What stands between the two marks of the page is replaced.
"""

import sys
from pathlib import Path

from ringlet.bench.impute.table import markdown, rows_of
from ringlet.experiments.journal import read_records

_BEGIN, _END = "<!-- table: begin -->", "<!-- table: end -->"


def main() -> None:
    """Replace the table of the page."""
    record, page = map(Path, sys.argv[1:])
    rows = rows_of(read_records(record))
    decided = [row for row in rows if row.won is not None]
    lost = [f"{row.tensor}, {row.outage}, {row.wrong} % wrong" for row in decided if not row.won]
    told = f"`decompose(x)` has the least error in {len(decided) - len(lost)} of {len(decided)} cases."
    if lost:
        told += " Not in: " + "; ".join(lost) + "."
    before, rest = page.read_text(encoding="utf-8").split(_BEGIN)
    after = rest.split(_END)[1]
    page.write_text(f"{before}{_BEGIN}\n\n{markdown(rows)}\n\n{told}\n\n{_END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
