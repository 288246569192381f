"""Files that hold what cannot be fitted: `ringlet info` tells of them, or says what is wrong."""

import json

import h5py
import numpy as np
import pytest
import xarray
from click.testing import CliRunner

from ringlet.cli.group import group


def info(path, *options):
    return CliRunner().invoke(group, ["info", str(path), *options])


def test_a_dataset_with_an_empty_mode_is_told(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", shape=(0, 3), dtype="f4")
    assert "0 × 3" in info(tmp_path / "x.h5").stdout
    assert json.loads(info(tmp_path / "x.h5", "--json").stdout)["shape"] == [0, 3]


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_texts_in_a_netcdf_file_are_refused(tmp_path, options):
    xarray.Dataset({"v": (("a", "b"), np.array([["x", "y"]]))}).to_netcdf(tmp_path / "x.nc", engine="h5netcdf")
    done = info(tmp_path / "x.nc", *options)
    assert done.exit_code == 2
    assert "x.nc" in done.stderr


def test_long_doubles_are_told_in_json(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6, dtype=np.longdouble).reshape(2, 3))
    assert json.loads(info(tmp_path / "x.npy", "--json").stdout)["maximum"] == 5.0


def test_whole_numbers_are_told_exactly(tmp_path):
    np.save(tmp_path / "x.npy", np.full((2, 3), 2**64 - 1, np.uint64))
    assert json.loads(info(tmp_path / "x.npy", "--json").stdout)["maximum"] == 2**64 - 1


def test_a_path_with_a_null_character_is_refused(tmp_path):
    done = info(f"{tmp_path}/x.h5::\0")
    assert done.exit_code == 2
    assert "null character" in done.stderr
