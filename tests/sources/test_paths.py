"""Paths that cannot be opened: one error that says whether it was reading or writing; never a traceback or a wait."""

import os
import sys

import numpy as np
import PIL.Image
import pytest
import zarr
from click.testing import CliRunner

from ringlet import TensorRing, decompose
from ringlet.cli.group import group
from ringlet.errors import ArgumentError, ArgumentTypeError, FormatError, MissingFileError, OutputError, RingletError
from ringlet.sources.files import load
from ringlet.sources.mask_files import load_mask
from ringlet.store.checkpoint import holds_checkpoint, in_use
from ringlet.store.outputs import write_array

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="pipes and such names"), pytest.mark.timeout(60)]

LONG = "n" * 300


@pytest.fixture
def place(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((5, 4, 3)))
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe.npy")
    os.mkfifo(tmp_path / "pipe.ring")
    (tmp_path / "frames").mkdir()
    os.mkfifo(tmp_path / "frames" / "f1.png")
    zarr.create_array(tmp_path / "x.zarr", data=np.ones((3, 4)), compressors=None)
    (tmp_path / "x.zarr/c/0/0").unlink()
    os.mkfifo(tmp_path / "x.zarr/c/0/0")
    return tmp_path


UNREADABLE = {
    f"{LONG}.npy": "cannot be read: File name too long",
    f"{LONG}/x.npy": "cannot be read: File name too long",
    "file/x.npy": "cannot be read: Not a directory",
    "pipe.npy": "not a regular file",
    "frames": r"f1\.png: not a regular file",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_a_format_error_that_names_it(place, name):
    for read in (load, lambda path: load_mask(path, (5, 4, 3)) if name != "frames" else load(path)):
        with pytest.raises(FormatError, match=f"^.*{name[:9]}.*{UNREADABLE[name]}"):
            read(place / name)


def test_devices_and_names_with_a_null_are_refused(tmp_path):
    for name in ("/dev/zero", "/dev/null"):
        with pytest.raises(FormatError, match="not a regular file"):
            load(name)
    with pytest.raises(FormatError, match="cannot be read"):
        load("a\0b.npy")


def test_a_pipe_as_a_chunk_is_refused(place):
    with pytest.raises(FormatError, match="c/0/0 in the store is not a regular file"):
        load(place / "x.zarr").source.read((slice(0, 3), slice(0, 4)))


def test_rings_that_cannot_be_read_are_format_errors(place):
    for name in ("pipe.ring", f"{LONG}.ring", "file/x.ring", "frames"):
        with pytest.raises(FormatError, match=r"not a regular file|cannot be read"):
            TensorRing.load(place / name)


@pytest.mark.parametrize("name", [f"{LONG}.npy", "file/x.npy", f"{LONG}/x.npy", "pipe.npy", "a\0.npy"])
def test_what_cannot_be_written_says_so(place, name):
    with pytest.raises((ArgumentError, OutputError), match="cannot write"):
        write_array(place / name, np.zeros((2, 2)), force=True)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read and write everything")
def test_files_without_permission_are_named(place):
    (place / "x.npy").chmod(0)
    with pytest.raises(FormatError, match=r"x\.npy: cannot be read: Permission denied"):
        load(place / "x.npy")
    (place / "frames").chmod(0)
    with pytest.raises(FormatError, match="cannot be read: Permission denied"):
        load(place / "frames")
    with pytest.raises(OutputError, match=r"cannot write .*Permission denied"):
        write_array(place / "frames" / "y.npy", np.zeros((2, 2)))


@pytest.mark.parametrize("given", [5, None, 2.5, [1], b"x"])
def test_what_is_no_path_is_a_type_error_that_names_the_argument(given):
    ring = TensorRing([np.ones((1, 2, 1))] * 2)
    for use in (load, TensorRing.load, ring.save):
        with pytest.raises(ArgumentTypeError, match="path="):
            use(given)


@pytest.mark.parametrize("command", ["info", "fit", "restore", "plan"])
@pytest.mark.parametrize("name", [*UNREADABLE, "gone.npy", "/dev/zero"])
def test_commands_tell_in_one_line_that_it_was_reading(place, command, name):
    output = {"fit": ["-o", f"{place}/y.ring"], "restore": ["-o", f"{place}/y.npy"], "plan": ["--rank", "2"]}
    result = CliRunner().invoke(group, [command, str(place / name), *output.get(command, [])])
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert "write" not in result.stderr
    assert not (place / "y.ring").exists()


def test_looking_for_a_checkpoint_never_fails(place):
    for name in (LONG, f"{LONG}/x", "file/x", "pipe.npy", "gone", "a\0b"):
        assert not holds_checkpoint(place / name)
        assert not in_use(place / name)


def test_a_lock_that_is_a_link_is_not_followed(place):
    (place / "ckpt").mkdir()
    (place / "ckpt" / "lock").symlink_to(place / "made-by-the-lock")
    with pytest.raises(ArgumentError, match="its lock is a symbolic link"):
        decompose(np.ones((3, 4, 2)), 1, checkpoint=place / "ckpt")
    assert not (place / "made-by-the-lock").exists()
    assert (place / "ckpt" / "lock").is_symlink()


def test_a_lock_that_is_a_pipe_does_not_block(place):
    (place / "ckpt").mkdir()
    os.mkfifo(place / "ckpt" / "lock")
    assert not in_use(place / "ckpt")
    decompose(np.random.default_rng(0).random((3, 4, 2)), 1, checkpoint=place / "ckpt")


def test_missing_files_stay_missing_file_errors(place):
    for name in ("gone.npy", "gone/x.npy", "gone.ring"):
        with pytest.raises(MissingFileError, match="does not exist"):
            load(place / name)
    assert issubclass(MissingFileError, RingletError)


def test_a_frame_that_is_a_pipe_is_named_among_good_ones(place):
    PIL.Image.new("RGB", (4, 4)).save(place / "frames" / "f0.png")
    with pytest.raises(FormatError, match=r"f1\.png: not a regular file"):
        load(place / "frames")
