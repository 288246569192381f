"""Control characters in names, units and messages are shown, never sent to the terminal."""

import subprocess
import sys

import h5py
import numpy as np
import pytest
import zarr

from ringlet import TensorRing
from ringlet.cli.wording import visible

ESCAPE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
SAFE = r"\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"


def ringlet(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "ringlet", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    text = done.stdout + done.stderr
    assert not [character for character in text if character != "\n" and not character.isprintable()], repr(text)
    return text


def test_names_and_units_of_rings_are_shown(tmp_path):
    cores = [np.ones((1, 2, 1))] * 2
    TensorRing(cores, names=(f"a{ESCAPE}", "b"), units=f"K{ESCAPE}").save(tmp_path / "x.ring")
    assert f"K{SAFE}" in ringlet("info", tmp_path / "x.ring")


def test_names_of_arrays_and_modes_are_shown(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file[f"a{ESCAPE}"] = np.ones((2, 3))
        file["b"] = np.ones((2, 3))
    assert r"a\x1b]0;owned" in ringlet("info", tmp_path / "x.h5")
    zarr.create_array(tmp_path / "x.zarr", data=np.ones((2, 3)), dimension_names=[f"m{ESCAPE}", "n"])
    assert r"m\x1b]0;owned" in ringlet("info", tmp_path / "x.zarr")


@pytest.mark.parametrize("command", [["info"], ["fit", "-o"], ["info", "--key", "x"]])
def test_paths_in_errors_are_shown(command):
    assert r"\x1b]0;owned\x07" in ringlet(*command, f"gone{ESCAPE}.npy")


def test_ordinary_text_stays_as_it_is():
    text = "300 × 451 × 3\nµm, Straße, 東京, emoji 🙂"
    assert visible(text) == text
