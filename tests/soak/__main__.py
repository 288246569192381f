"""The soak: damage, kills and odd data for a quarter of an hour. ``make soak`` runs it, and goes on where it was.

    python -m soak [--results FOLDER] [--only NAME ...] [--share PART] [--processes COUNT] [--table FILE] [--show]

Every batch is recorded with a digest of the code that its family is about (`soak.code`). A run goes on after the
batches that this code has behind it; families whose code has changed begin anew. With a small share of the cases, say
0.01, the last line still tells how long all of them would take.
"""

import argparse
import sys
from pathlib import Path

from soak.families import FAMILIES
from soak.journal import Journal
from soak.run import run_families
from soak.table import as_table, write_table


def main():
    parser = argparse.ArgumentParser(prog="soak", description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=Path("soak-results"))
    parser.add_argument("--only", nargs="+", choices=[family.name for family in FAMILIES])
    parser.add_argument("--share", type=float, default=1.0, help="part of the cases of every family")
    parser.add_argument("--processes", type=int, default=2, help="batches that run at a time")
    parser.add_argument("--table", type=Path, help="a page whose table is replaced; its numbers go beside it as JSON")
    parser.add_argument("--show", action="store_true", help="run nothing: tell what is left, and what is recorded")
    options = parser.parse_args()
    options.results.mkdir(exist_ok=True)
    journal = Journal(options.results / "journal.jsonl")
    families = [family for family in FAMILIES if not options.only or family.name in options.only]
    if options.show:
        for family in families:
            left = sum(count for _, count in journal.left(family, options.share))
            sys.stdout.write(f"{family.name}: {left:,} of {family.count(options.share):,} left\n")
    else:
        run_families(families, journal, options.share, options.processes)
    rows = journal.summary(families)
    sys.stdout.write(as_table(rows) + "\n")
    whole = sum(row["seconds"] / row["cases"] * row["total"] for row in rows if row["cases"])
    sys.stdout.write(f"All cases of these rows take {whole / 60 / options.processes:.0f} min.\n")
    if options.table is not None:
        write_table(options.table, rows)
    sys.exit(any(row["violated"] for row in rows))


if __name__ == "__main__":
    main()
