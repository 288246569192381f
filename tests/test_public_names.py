"""What `import ringlet` offers: the public names, all of them, and nothing else."""

import subprocess
import sys

import pytest

import ringlet


def test_dir_lists_exactly_the_public_names():
    assert dir(ringlet) == sorted(ringlet.__all__)


@pytest.mark.parametrize("name", ringlet.__all__)
def test_every_public_name_is_there(name):
    assert getattr(ringlet, name) is not None


@pytest.mark.parametrize("name", ["Fit", "Estimate", "SweepRecord", "Solver", "Plan", "restore"])
def test_results_and_verbs_come_from_the_package(name):
    assert getattr(ringlet, name).__name__ == name


def test_restore_stays_the_function_whatever_is_imported():
    code = "import ringlet, ringlet.restoration.restore, ringlet.cli.commands.restore; print(callable(ringlet.restore))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="has no attribute 'decomposed'"):
        _ = ringlet.decomposed
