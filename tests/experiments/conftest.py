"""What the tests of the experiments share: small folders of photos and videos, and a way to run the command."""

import numpy as np
import pytest
from click.testing import CliRunner

from ringlet.cli.group import group
from ringlet.store.outputs import write_array


def picture(height, width, phase=0.0):
    """Smooth and in colour, so that a ring of low rank can hold it."""
    i, j = np.meshgrid(np.linspace(0, 3, height), np.linspace(0, 4, width), indexing="ij")
    channels = [np.sin(i + j + phase), np.cos(i - 2 * j), np.sin(2 * i + phase) * np.cos(j)]
    return np.stack([120 + 90 * channel for channel in channels], axis=2).round().astype(np.uint8)


@pytest.fixture(scope="session")
def images(tmp_path_factory):
    """Two photos; the first gets the mixture, the second salt and pepper."""
    folder = tmp_path_factory.mktemp("photos")
    write_array(folder / "first.png", picture(40, 48))
    write_array(folder / "second.jpg", picture(44, 36, phase=1.0))
    (folder / "notes.txt").write_text("not a photo")
    return folder


@pytest.fixture(scope="session")
def videos(tmp_path_factory):
    """A folder of frames and a video file."""
    folder = tmp_path_factory.mktemp("videos")
    (folder / "frames").mkdir()
    for number in range(5):
        write_array(folder / "frames" / f"{number:05d}.jpg", picture(32, 40, phase=number / 5))
    frames = np.stack([picture(32, 48, phase=number / 4) for number in range(6)], axis=3)
    write_array(folder / "moving.mp4", frames)
    return folder


@pytest.fixture(scope="session")
def paper():
    """Run the command in this process: paper("ablation", "--out", folder) -> result with exit_code, stdout, stderr."""

    def invoke(*arguments):
        return CliRunner().invoke(group, ["paper", *map(str, arguments)])

    return invoke
