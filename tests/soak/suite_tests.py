"""Tests of the suite, as cases of the soak."""

import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

_TESTS = Path(__file__).parent.parent
_LONGEST = 1800  # seconds for a test: of tests that hang, on a machine that others use


def run_tests(*paths, which="not long"):
    """Outcomes of test files or folders, and the names of tests that failed; `which` is a choice by marks."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        options = ["-q", "-m", which, "-p", "no:cacheprovider", f"--timeout={_LONGEST}", f"--junit-xml={report}"]
        command = [sys.executable, "-m", "pytest", *options, *(str(_TESTS / path) for path in paths)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=_TESTS.parent)
        if not report.exists():
            return Counter(violated=1), [f"{' '.join(paths)}: pytest ended early: {done.stderr[-1000:]}"]
        suite = ElementTree.parse(report).getroot()[0]  # noqa: S314 - pytest has just written it
    bad = [case.get("name") for case in suite.iter("testcase") if {part.tag for part in case} & {"failure", "error"}]
    skipped = int(suite.get("skipped"))
    passed = int(suite.get("tests")) - len(bad) - skipped
    return Counter({"passed": passed, "skipped": skipped, "violated": len(bad)}), [f"test {name}" for name in bad]
