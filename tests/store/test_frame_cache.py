"""Videos and folders of frames as stores: decoded once, found again, made anew when the file changes, never half."""

import hashlib
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import zarr

from film_files import film, write_clip, write_frames
from ringlet.errors import ArgumentError, FormatError, OutputError
from ringlet.sources import ChunkedSource
from ringlet.sources.files import load
from ringlet.store import frame_cache
from ringlet.store.frame_cache import cached_frames
from ringlet.store.locking import one_at_a_time
from ringlet.store.outputs import write_array


@pytest.fixture
def clip(tmp_path):
    return write_clip(tmp_path)


@pytest.fixture
def frames(tmp_path):
    return write_frames(tmp_path)


def whole(source):
    return source.read(tuple(slice(0, length) for length in source.shape))[0]


def test_a_video_is_decoded_once_into_a_store_beside_it(clip, monkeypatch):
    in_memory = load(clip)
    cached = cached_frames(clip, "video")
    assert isinstance(cached.source, ChunkedSource)
    assert (cached.frame_rate, cached.source.names) == (24, in_memory.source.names)
    np.testing.assert_array_equal(whole(cached.source), in_memory.array)
    assert {path.name for path in clip.parent.iterdir()} == {"clip.mp4", "clip.mp4.zarr"}
    monkeypatch.setattr(frame_cache, "opened_frames", None)  # nothing is decoded any more
    np.testing.assert_array_equal(whole(cached_frames(clip, "video").source), in_memory.array)


MAKER = """
import hashlib, sys, time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from ringlet.store import frame_cache

clip, signs, role = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
opened_frames = frame_cache.opened_frames
frame_cache.import_zarr()

def wait_for(count, name, seconds=60):
    end = time.monotonic() + seconds
    while len(list(signs.glob(name))) < count and time.monotonic() < end:
        time.sleep(0.001)

def slowly(frames):
    for frame in frames:
        yield frame
        if not (signs / "begun").exists():
            (signs / "begun").touch()
            wait_for(2, "asks-*")
            wait_for(2, "decodes-*", seconds=0.5)  # the first does, and nobody else may

@contextmanager
def noted(path, kind):
    (signs / f"decodes-{role}").touch()
    with opened_frames(path, kind) as moving:
        yield replace(moving, frames=slowly(moving.frames))

frame_cache.opened_frames = noted
if role != "first":
    wait_for(1, "begun")
    (signs / f"asks-{role}").touch()
source = frame_cache.cached_frames(clip, "video").source
values = source.read(tuple(slice(0, length) for length in source.shape))[0]
print(hashlib.sha256(values.tobytes()).hexdigest())
"""


@pytest.mark.parametrize("stale", [False, True])
def test_processes_that_want_the_same_cache_at_once_all_get_a_whole_one(clip, tmp_path, stale):
    """Two ask while a third is in the middle of making it."""
    if stale:
        cached_frames(clip, "video")
        os.utime(clip, ns=(1, 1))
    signs = tmp_path / "signs"
    signs.mkdir()
    makers = [
        subprocess.Popen([sys.executable, "-c", MAKER, clip, signs, role], stdout=subprocess.PIPE, text=True)
        for role in ("first", "a", "b")
    ]
    digests = [maker.communicate(timeout=120)[0].strip() for maker in makers]
    assert [maker.returncode for maker in makers] == [0] * 3
    assert digests == [hashlib.sha256(np.ascontiguousarray(load(clip).array).tobytes()).hexdigest()] * 3
    assert [sign.name for sign in signs.glob("decodes-*")] == ["decodes-first"]
    assert {sign.name for sign in signs.glob("asks-*")} == {"asks-a", "asks-b"}
    assert {path.name for path in tmp_path.iterdir()} == {"clip.mp4", "clip.mp4.zarr", "signs"}


def test_a_cache_of_another_file_is_made_anew(clip):
    cached_frames(clip, "video")
    write_array(clip, film()[..., :9], force=True)
    assert cached_frames(clip, "video").source.shape == (30, 40, 3, 9)
    cached_frames(clip, "video")
    os.utime(clip, ns=(1, 1))  # the same size, another time
    assert cached_frames(clip, "video").source.shape == (30, 40, 3, 9)


def test_a_folder_of_frames_is_a_video(frames, tmp_path):
    loaded = load(frames)
    assert (loaded.kind, loaded.source.names) == ("frames", ("height", "width", "colour", "frame"))
    np.testing.assert_array_equal(loaded.array, film())
    np.testing.assert_array_equal(whole(cached_frames(frames, "frames", tmp_path).source), film())
    (frames / "003.png").unlink()
    assert cached_frames(frames, "frames", tmp_path).source.shape == (30, 40, 3, 19)


def test_frames_of_another_size_are_refused_and_leave_no_cache(frames, tmp_path):
    write_array(frames / "010.png", film()[:20, ..., 0], force=True)
    for read in (load, lambda path: cached_frames(path, "frames")):
        with pytest.raises(FormatError, match=r"010\.png is 20 x 40 x 3 uint8, but 000\.png is 30 x 40 x 3"):
            read(frames)
    assert [path.name for path in tmp_path.iterdir()] == ["frames"]


def test_a_damaged_frame_is_named(frames):
    (frames / "007.png").write_bytes(b"no picture")
    with pytest.raises(FormatError, match=r"frames: 007\.png cannot be read"):
        load(frames)


def test_truncated_videos_leave_no_cache(clip):
    clip.write_bytes(clip.read_bytes()[:-300])
    with pytest.raises(FormatError, match=r"clip\.mp4: the video is truncated"):
        cached_frames(clip, "video")
    assert [path.name for path in clip.parent.iterdir()] == ["clip.mp4"]


def test_two_videos_of_one_name_do_not_share_a_cache(clip, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "cache").mkdir()
    write_array(tmp_path / "other" / "clip.mp4", film()[..., :5])
    assert cached_frames(clip, "video", tmp_path / "cache").source.shape[-1] == 20
    assert cached_frames(tmp_path / "other" / "clip.mp4", "video", tmp_path / "cache").source.shape[-1] == 5
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_what_is_not_a_cache_is_never_replaced(clip):
    zarr.create_array(clip.with_name("clip.mp4.zarr"), shape=(2, 2), dtype="u1")
    with pytest.raises(ArgumentError, match="is in the place of the video's cache and is none"):
        cached_frames(clip, "video")


def test_a_cache_that_cannot_be_written_is_refused_before_decoding(clip, tmp_path, monkeypatch):
    with pytest.raises(ArgumentError, match="its directory does not exist"):
        cached_frames(clip, "video", tmp_path / "none")
    monkeypatch.setattr(os, "access", lambda *_: False)  # tests may run as root, who may write anywhere
    with pytest.raises(ArgumentError, match="not writable; give --cache DIR"):
        cached_frames(clip, "video")


# Caches that are damaged, forged or locked.


def test_a_cache_that_came_with_the_video_is_not_believed(clip, tmp_path):
    """Size and time of a file travel with it; what the system alone sets does not."""
    cached_frames(clip, "video")
    (tmp_path / "away").mkdir()
    copied = tmp_path / "away" / "clip.mp4"
    shutil.copy2(clip, copied)  # keeps the time
    shutil.copytree(clip.with_name("clip.mp4.zarr"), tmp_path / "away" / "clip.mp4.zarr")
    forged = zarr.open_array(tmp_path / "away" / "clip.mp4.zarr", mode="r+")
    forged[:] = 255 - forged[:]
    np.testing.assert_array_equal(whole(cached_frames(copied, "video").source), load(clip).array)


def test_a_lost_chunk_makes_the_cache_anew(clip):
    cached_frames(clip, "video")
    next((clip.with_name("clip.mp4.zarr") / "c").rglob("0")).rename(clip.with_name("lost"))
    np.testing.assert_array_equal(whole(cached_frames(clip, "video").source), load(clip).array)


def test_a_damaged_chunk_is_found_by_its_checksum(clip):
    cached_frames(clip, "video")
    chunk = next(file for file in (clip.with_name("clip.mp4.zarr") / "c").rglob("*") if file.is_file())
    content = bytearray(chunk.read_bytes())
    content[len(content) // 2] ^= 1
    chunk.write_bytes(content)
    with pytest.raises(FormatError, match="cannot be read"):
        whole(cached_frames(clip, "video").source)


@pytest.mark.parametrize("rate", ["1/0", "nan", "-3", "9" * 400, "1e999999999", [24], {}, "24fps"])
def test_a_bad_frame_rate_makes_the_cache_anew(clip, rate):
    cached_frames(clip, "video")
    array = zarr.open_array(clip.with_name("clip.mp4.zarr"), mode="r+")
    array.attrs["ringlet frame cache"] = {**array.attrs["ringlet frame cache"], "frame_rate": rate}
    assert cached_frames(clip, "video").frame_rate == 24


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_cache_of_somebody_else_is_not_read(clip):
    cached_frames(clip, "video")
    os.chown(clip.with_name("clip.mp4.zarr"), 65534, 65534)
    with pytest.raises(ArgumentError, match="is in the place of the video's cache"):
        cached_frames(clip, "video")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no locks")
def test_a_lock_that_somebody_else_holds_ends_in_an_error(clip):
    import fcntl

    with clip.open("rb") as foreign:
        fcntl.flock(foreign, fcntl.LOCK_EX)
        with pytest.raises(OutputError, match="locked by another process"), one_at_a_time(clip, seconds=0.1):
            pass
