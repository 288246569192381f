"""A disk that runs full: a named error, nothing temporary left, and what stood there before intact."""

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from full_disks import KINDS, SIZES, can_mount, fill_disk
from limited import without_age
from ringlet.store.plain_files import ForgivingFile, write_npy

ALIKE = ("jpg", "webp", "bmp", "mov", "mkv", "avi")  # written as png and mp4 are


@pytest.mark.skipif(not can_mount(), reason="file systems may not be mounted here")
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.long] if kind in ALIKE else []) for kind in KINDS]
)
def test_a_full_disk_is_an_error_that_leaves_everything_as_it_was(tmp_path, kind):
    done = fill_disk(tmp_path, kind, SIZES[1::3])  # the soak takes all
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[-1]) >= 1
    assert without_age(done.stderr) == ""


def test_npy_files_are_written_part_by_part_as_they_would_be_whole(tmp_path):
    x = np.arange(9_000_000, dtype=">i2").reshape(300, 100, 300)
    write_npy(tmp_path / "x.npy", x.__getitem__, x.shape, x.dtype)
    np.save(tmp_path / "y.npy", x)
    assert (tmp_path / "x.npy").read_bytes() == (tmp_path / "y.npy").read_bytes()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_kept_error_holds_no_buffer():
    """Python 3.13 complains of a buffer that is still in use when its owner ends."""
    content = BytesIO(b"abc")
    with ForgivingFile(Path("/dev/full")) as file:
        file.write(content.getbuffer())
        content.write(b"more than before")
        with pytest.raises(OSError, match="No space left"):
            file.check()
