"""A fit killed with SIGKILL, whenever that happens, goes on from its checkpoint to the same bits."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

KILLING = Path(__file__).parent.parent / "killing.py"


def outcomes(*arguments):
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(KILLING), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def assert_nothing_is_lost(found):
    assert all(outcome["same"] for outcome in found)
    # Of the sweeps that the callback saw, all but the last were saved: it is called before that one is.
    assert all(outcome["saved"] >= outcome["seen"] - 1 for outcome in found)
    # What a killed process has left half written is gone.
    assert all(outcome["left"] == ["lock", "slot-0.safetensors", "slot-1.safetensors"] for outcome in found)


def test_a_fit_killed_at_random_instants_ends_in_the_same_bits(quick_path):
    found = outcomes("moments", str(quick_path), "12", "0")
    assert len(found) == 12
    assert_nothing_is_lost(found)
    assert len({outcome["saved"] for outcome in found}) > 2  # kills came early and late


def test_a_fit_killed_before_any_file_operation_ends_in_the_same_bits(quick_path):
    found = outcomes("operations", str(quick_path))
    assert_nothing_is_lost(found)
    operations = Counter(outcome["operation"] for outcome in found)
    assert operations["replace"] == 3  # sweeps
    assert operations["fsync"] == 1 + 2 * 3  # the folder's name, then every file and the folder
    assert operations["writelines"] == 3


def test_a_fit_interrupted_at_random_instants_ends_in_the_same_bits(quick_path):
    found = outcomes("interrupts", str(quick_path), "12", "0")
    assert len(found) == 12
    assert_nothing_is_lost(found)
