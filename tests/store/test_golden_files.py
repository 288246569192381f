"""Files of every release are read by this one. `tools/golden_files.py` writes those of a version."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from ringlet import TensorRing, __version__
from ringlet.store.checkpoint import read_checkpoint

GOLDEN = Path(__file__).with_name("golden")
VERSIONS = sorted(path.name for path in GOLDEN.iterdir())
ERRORS = {"float64": 1e-14, "float32": 1e-6, "float16": 2e-3, "int8": 2e-2}


def test_this_version_has_golden_files():
    assert __version__ in VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("precision", ERRORS)
def test_rings_of_every_release_are_read(version, precision):
    ring = TensorRing.load(GOLDEN / version / f"{precision}.ring")
    dense = np.load(GOLDEN / version / "dense.npy")
    assert np.linalg.norm(np.asarray(ring) - dense) <= ERRORS[precision] * np.linalg.norm(dense)
    assert ring.names == ("time", "place", "höhe")
    assert ring.units == "°C"


@pytest.mark.parametrize("version", VERSIONS)
def test_checkpoints_of_every_release_are_read(version, tmp_path):
    folder = shutil.copytree(GOLDEN / version / "run.ckpt", tmp_path / "run.ckpt")
    slot = read_checkpoint(folder)
    assert slot.sequence == 4
    assert [record.sweep for record in slot.saved.history] == [1, 2, 3, 4]
    assert slot.fit["shape"] == [6, 5, 4]
    assert slot.saved.state
