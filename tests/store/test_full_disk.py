"""A disk that runs full: a named error, nothing temporary left, and what stood there before intact."""

import numpy as np
import pytest

from full_disks import KINDS, SIZES, can_mount, fill_disk


@pytest.mark.skipif(not can_mount(), reason="file systems may not be mounted here")
@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_is_an_error_that_leaves_everything_as_it_was(tmp_path, kind):
    done = fill_disk(tmp_path, kind, SIZES[1::3])  # the soak takes all
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[-1]) >= 1
    assert done.stderr == ""


def test_npy_files_are_written_part_by_part_as_they_would_be_whole(tmp_path):
    from ringlet.store.plain_files import write_npy

    x = np.arange(9_000_000, dtype=">i2").reshape(300, 100, 300)
    write_npy(tmp_path / "x.npy", x.__getitem__, x.shape, x.dtype)
    np.save(tmp_path / "y.npy", x)
    assert (tmp_path / "x.npy").read_bytes() == (tmp_path / "y.npy").read_bytes()
