"""Command line of `evidence`: measures for a page if one is named, and writes all tables from the records."""

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from evidence import imputation, performance, quality, rivals
from evidence.blocks import ROOT, write

Commands = Callable[[Path | None, float], list[list[str]]]

_PAGES: dict[str, Commands] = {
    "imputation": imputation.measure,
    "quality": quality.measure,
    "rivals": rivals.measure,
    "performance": performance.measure,
}


def main() -> None:
    """Measure, then write."""
    parser = argparse.ArgumentParser(prog="python -m evidence", description=__doc__)
    parser.add_argument("page", nargs="?", choices=_PAGES, help="measure for this page; without it, only write")
    parser.add_argument("--data", type=Path, help="what `ringlet bench` takes; without it, built-in data")
    parser.add_argument("--minutes", type=float, default=30.0, help="begin nothing new after these (default: 30)")
    given = parser.parse_args()
    if given.page is not None:
        for command in _PAGES[given.page](given.data, given.minutes):
            _run(command)
    changed = write()
    print("\n".join(f"written: {(ROOT / path)}" for path in changed) or "all pages are what the records say")


def _run(command: list[str]) -> None:
    """Run `ringlet`; a last word `> FILE` names where its output goes."""
    words = [word for word in command if not word.startswith("> ")]
    files = [Path(word[2:]) for word in command if word.startswith("> ")]
    print("ringlet", *command, flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "ringlet", *words], check=True, stdout=subprocess.PIPE if files else None
    )
    for file in files:
        file.write_bytes(done.stdout)


if __name__ == "__main__":
    main()
