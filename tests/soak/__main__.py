"""The soak: about an hour of damage, kills and odd data. ``make soak`` runs it; it can be interrupted and run again.

    python -m soak [--results FOLDER] [--only NAME ...] [--share PART] [--table FILE]

Every batch is recorded with a digest of the code that its family is about (`soak.code`). A run goes on after the
batches that this code has behind it; families whose code has changed begin anew.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from soak.families import FAMILIES, in_memory
from soak.pool import Child
from soak.table import as_table, write_table


def recorded(journal, family):
    """Batches of a family that its code has behind it."""
    lines = journal.read_text().splitlines() if journal.exists() else []
    known = {"family": family.name, "code": family.code()}
    return [batch for batch in map(json.loads, lines) if known.items() <= batch.items()]


def summary(journal):
    """Cases, outcomes and violations of every family that has been run."""
    rows = []
    for family in FAMILIES:
        own = recorded(journal, family)
        if not own:
            continue
        outcomes = sum((Counter(batch["outcomes"]) for batch in own), Counter())
        violated = outcomes.pop("violated", 0)
        rows.append(
            {
                "promise": family.promise,
                "code": family.code(),
                "what": family.what,
                "cases": violated + outcomes.total(),
                "outcomes": dict(outcomes.most_common()),
                "violated": violated,
                "seconds": round(sum(batch["seconds"] for batch in own)),
            }
        )
    return rows


def main():
    parser = argparse.ArgumentParser(prog="soak", description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=Path("soak-results"))
    parser.add_argument("--only", nargs="+", choices=[family.name for family in FAMILIES])
    parser.add_argument("--share", type=float, default=1.0, help="part of the cases of every family")
    parser.add_argument("--table", type=Path, help="a page whose table is replaced; its numbers go beside it as JSON")
    options = parser.parse_args()
    options.results.mkdir(exist_ok=True)
    journal = options.results / "journal.jsonl"
    with (
        tempfile.TemporaryDirectory(dir=in_memory()) as folder,
        Child(folder) as child,
    ):
        for family in FAMILIES:
            if not options.only or family.name in options.only:
                _run(family, options.share, journal, child)
    rows = summary(journal)
    sys.stdout.write(as_table(rows) + "\n")
    if options.table is not None:
        write_table(options.table, rows)
    sys.exit(any(row["violated"] for row in rows))


def _run(family, share, journal, child):
    """What is left of a family, batch by batch."""
    total, code = max(1, round(family.total * share)), family.code()
    first = sum(batch["count"] for batch in recorded(journal, family))
    while first < total:
        count, start = min(family.batch, total - first), time.perf_counter()
        outcomes, violations = family.run_batch(first, count, child)
        batch = {"code": code, "family": family.name, "first": first, "count": count, "outcomes": dict(outcomes)}
        batch |= {"violations": violations, "seconds": time.perf_counter() - start}
        with journal.open("a") as file:
            file.write(json.dumps(batch) + "\n")
        first += count
        sys.stdout.write(f"{family.name}: {first} of {total}, {len(violations)} violated in the last {count}\n")
        sys.stdout.flush()
        for violation in violations[:3]:
            sys.stdout.write(f"    {violation}\n")


if __name__ == "__main__":
    main()
