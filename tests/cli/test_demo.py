"""`ringlet demo`, end to end: it is its own best test."""

import json

import numpy as np
import pytest
from PIL import Image
from skimage import data

from ringlet import TensorRing
from ringlet.sources.files import load

NAMES = [
    "comparison.png",
    "damaged.png",
    "history.png",
    "index.html",
    "model.ring",
    "outliers.png",
    "restored.png",
    "sensors.png",
]


@pytest.fixture(scope="module")
def cat():
    """The middle of the photo, which takes half the time."""
    return data.chelsea()[60:210, 120:345].copy()


@pytest.fixture(scope="module")
def demo(tmp_path_factory, cat):
    from click.testing import CliRunner

    from ringlet.cli.group import group

    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "chelsea", lambda: cat)
        result = CliRunner().invoke(group, ["demo", "--out", str(folder), "--json"])
    assert result.exit_code == 0, result.output
    return folder, json.loads(result.stdout)


def test_the_restored_photo_beats_least_squares_by_far(demo):
    results = demo[1]["results"]
    assert results["restored"]["psnr"] > results["the ring"]["psnr"] + 3
    assert results["restored"]["psnr"] > results["least squares"]["psnr"] + 15
    assert results["restored"]["ssim"] > 0.9
    assert results["least squares"]["psnr"] > results["damaged"]["psnr"]
    assert results["the ring"]["stored_bytes"] < results["damaged"]["stored_bytes"]


def test_the_log_is_filled_far_better_than_by_interpolation(demo):
    sensors = demo[1]["sensors"]
    assert sensors["errors"]["Ringlet"] < sensors["errors"]["interpolation"] / 5
    assert sensors["found_share"] > 0.9


def test_the_page_holds_both_pictures_and_loads_nothing_else(demo):
    page = (demo[0] / "index.html").read_text(encoding="utf-8")
    assert page.count('src="data:image/webp;base64,') == 2
    assert "http" not in page


def test_about_the_share_that_was_ruined_is_judged_outliers(demo):
    assert 0.15 < demo[1]["outlier_share"] < 0.25


def test_all_files_are_there_and_can_be_opened(demo):
    folder, content = demo
    assert sorted(path.name for path in folder.iterdir()) == NAMES
    assert sorted(content["outputs"]) == [str(folder / name) for name in NAMES]
    for name in NAMES:
        if name.endswith(".png"):
            with Image.open(folder / name) as picture:
                picture.load()


def test_half_of_the_entries_of_the_damaged_picture_are_hidden(demo, cat):
    photo, damaged = cat, load(demo[0] / "damaged.png").array
    assert damaged.shape == photo.shape
    assert 0.38 < (damaged == photo).mean() < 0.43  # half of the entries, but for the ruined fifth
    assert 0.5 < (damaged == 0).mean() < 0.6


def test_the_restored_picture_is_as_good_as_the_table_says(demo, cat):
    folder, content = demo
    restored, damaged = (load(folder / name).array for name in ("restored.png", "damaged.png"))
    assert restored.shape == damaged.shape == tuple(content["shape"])
    assert TensorRing.load(folder / "model.ring").rank == tuple(content["rank"])
    mean_square = np.mean((restored.astype(float) - cat) ** 2)
    assert abs(10 * np.log10(255**2 / mean_square) - content["results"]["restored"]["psnr"]) < 0.01


def test_files_that_exist_are_kept_without_force(demo, run):
    folder, _ = demo
    before = (folder / "model.ring").stat().st_mtime_ns
    result = run("demo", "--out", folder)
    assert result.exit_code == 2
    assert "exists already" in result.stderr
    assert (folder / "model.ring").stat().st_mtime_ns == before


def test_a_directory_that_cannot_be_made_is_an_error_in_one_line(tmp_path, run):
    (tmp_path / "file").write_text("")
    result = run("demo", "--out", tmp_path / "file" / "folder")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: cannot make the directory")
