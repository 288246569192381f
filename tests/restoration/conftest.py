"""What the tests of restoring share: a small picture with known damage, and files of it."""

import h5py
import numpy as np
import pytest
import zarr
from scipy.io import savemat

from ringlet import AWRTRD
from ringlet.store.outputs import write_array

NAMES = ("height", "width", "colour")


@pytest.fixture
def photo():
    """A smooth picture, (24, 32, 3), that a ring of low rank can hold."""
    i, j = np.meshgrid(np.linspace(0, 3, 24), np.linspace(0, 4, 32), indexing="ij")
    channels = [np.sin(i + j), np.cos(i - j), np.sin(i) * np.cos(j)]
    return np.stack([120 + 90 * channel for channel in channels], axis=2).round().astype(np.uint8)


@pytest.fixture
def known(photo):
    """Which pixels are known: nine of ten."""
    pixels = np.random.default_rng(1).random(photo.shape[:2]) < 0.9
    return np.repeat(pixels[:, :, None], 3, axis=2)


@pytest.fixture
def damaged(photo, known):
    """The picture: 7 where nothing is known, and the opposite grey in some of the other entries."""
    wrong = np.random.default_rng(2).random(photo.shape) < 0.04
    ruined = np.where(wrong, np.where(photo > 127, np.uint8(0), np.uint8(255)), photo)
    return np.where(known, ruined, np.uint8(7))


@pytest.fixture
def quick():
    """A rank and a solver that need little time, as keyword arguments of `ringlet.restore`."""
    return {"rank": (5, 5, 3), "solver": AWRTRD(smooth=0.0, sweeps=12)}


@pytest.fixture
def same_options():
    """The same for the command line."""
    return ["--rank", "5,5,3", "--solver", "awrtrd", "--sweeps", "12", "--smooth", "0", "--quiet"]


@pytest.fixture
def save(tmp_path):
    """Write an array as a file of a kind: save(array, "h5") -> path."""

    def saved(array, kind, name="in"):
        path = tmp_path / f"{name}.{kind}"
        if kind == "npz":
            np.savez(path, scan=array)
        elif kind == "mat":
            savemat(path, {"scan": array})
        elif kind == "zarr":
            store = zarr.create_array(
                path, shape=array.shape, chunks=(8, 16, 3), dtype=array.dtype, dimension_names=NAMES
            )
            store[...] = array
        elif kind == "h5":
            with h5py.File(path, "w") as file:
                file.create_dataset("run/scan", data=array, chunks=(8, 16, 3)).attrs["units"] = "counts"
        else:
            write_array(path, array)
        return path

    return saved
