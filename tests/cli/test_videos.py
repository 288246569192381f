"""Videos and folders of frames on the command line: through a cache where they are large, and back to any kind."""

import shutil

import pytest

from film_files import film, write_clip, write_frames
from ringlet import AWRTRD, decompose
from ringlet.restoration.clean_file import CleanFile
from ringlet.restoration.inputs import open_input
from ringlet.sources import ChunkedSource
from ringlet.sources.files import load


@pytest.fixture
def clip(tmp_path):
    return write_clip(tmp_path)


@pytest.fixture
def frames(tmp_path):
    return write_frames(tmp_path)


def test_large_videos_and_those_asked_for_go_through_a_cache(run, clip, tmp_path):
    command = ["fit", clip, "--rank", "2", "--sweeps", "1", "--quiet", "--force", "-o", tmp_path / "x.ring"]
    assert run(*command).exit_code == 0
    assert not clip.with_name("clip.mp4.zarr").exists()
    (tmp_path / "cache").mkdir()
    assert run(*command, "--cache", tmp_path / "cache").exit_code == 0
    assert len(list((tmp_path / "cache").iterdir())) == 1
    given = open_input(clip, largest_decoded=1000)
    assert isinstance(given.source, ChunkedSource)
    assert clip.with_name("clip.mp4.zarr").exists()
    CleanFile(tmp_path / "clean.mp4", given).write(decompose(given.source, 3, solver=AWRTRD(smooth=0.0, sweeps=2)))
    assert load(tmp_path / "clean.mp4").array.shape == (30, 40, 3, 20)


def test_a_folder_of_frames_can_be_restored_to_a_video_or_a_store(run, frames, tmp_path):
    for name in ("clean.mp4", "clean.zarr", "clean.npy"):
        result = run(
            "restore", frames, "-o", tmp_path / name, "--rank", "3", "--sweeps", "2", "--smooth", "0", "--quiet"
        )
        assert result.exit_code == 0, result.stderr
        assert load(tmp_path / name).source.shape == film().shape
    shutil.rmtree(frames)


def test_frames_keep_their_names(run, frames, tmp_path):
    result = run("restore", frames, "-o", tmp_path / "clean", "--rank", "3", "--sweeps", "1", "--quiet")
    assert result.exit_code == 0, result.output
    assert sorted(file.name for file in (tmp_path / "clean").iterdir()) == sorted(f.name for f in frames.glob("*.png"))
