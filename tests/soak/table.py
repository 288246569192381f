"""The table of counts that docs/reliability.md shows, and the record that it is made of."""

import json

BEGIN, END = "<!-- soak: begin -->", "<!-- soak: end -->"


def as_table(rows):
    """Rows of the summary as a table in Markdown."""
    lines = ["| Promise | What | Cases | Outcomes | Violated |", "|---|---|---:|---|---:|"]
    for row in rows:
        outcomes = ", ".join(f"{count:,} {word}" for word, count in row["outcomes"].items() if count)
        lines.append(f"| {row['promise']} | {row['what']} | {row['cases']:,} | {outcomes} | {row['violated']} |")
    cases, violated = (sum(row[name] for row in rows) for name in ("cases", "violated"))
    return "\n".join([*lines, f"| | All | {cases:,} | | {violated} |"])


def write_table(page, rows):
    """Replace the table of a page, and write its numbers beside it."""
    page.with_suffix(".json").write_text(json.dumps({"rows": rows}, indent=1) + "\n")
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{as_table(rows)}\n\n{END}{after}")
