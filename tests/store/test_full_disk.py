"""A disk that runs full: a named error, nothing temporary left, and what stood there before intact.

Real file systems of 1 MB are mounted for this, in a namespace of a child process where that is allowed.
"""

import shutil
import subprocess
import sys

import numpy as np
import pytest

KINDS = ["npy", "npz", "mat", "zarr", "h5", "png", "jpg", "webp", "bmp", "mp4", "mov", "mkv", "avi"]
_MOUNT = ("unshare", "--user", "--map-root-user", "--mount")
_CHILD = """
import subprocess, sys
from pathlib import Path
import numpy as np
from ringlet.errors import OutputError
from ringlet.store.outputs import write_array

folder, kind = Path(sys.argv[1]), sys.argv[2]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], check=True)
rng, path = np.random.default_rng(0), folder / f"x.{kind}"

def sample(size):
    if kind in ("png", "jpg", "webp", "bmp"):
        return rng.integers(0, 256, (1000, max(1, size // 3000), 3)).astype("u1")
    if kind in ("mp4", "mov", "mkv", "avi"):
        return rng.integers(0, 256, (64, 64, 3, max(1, size // 12288))).astype("u1")
    return rng.random((max(1, size // 800), 10, 10))

def content():
    return {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}

write_array(path, sample(20_000))
before, failures = content(), 0
for size in (900_000, 990_000, 1_040_000, 1_049_000, 1_100_000, 1_300_000, 2_000_000, 9_000_000, 20_000_000):
    try:
        write_array(path, sample(size), force=True)
    except OutputError as error:
        assert str(path) in str(error) and "No space left on device" in str(error), error
        assert content() == before, list(content())
        failures += 1
    else:
        assert not [name for name in folder.iterdir() if name.name.startswith(".ringlet")]
        write_array(path, sample(20_000), force=True)
        before = content()
print(f"failures: {failures}")
"""


def _can_mount():
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    mount = [*_MOUNT, "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(mount, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not _can_mount(), reason="file systems may not be mounted here")
@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_is_an_error_that_leaves_everything_as_it_was(tmp_path, kind):
    done = subprocess.run(
        [*_MOUNT, sys.executable, "-c", _CHILD, tmp_path, kind], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[-1]) >= 1
    assert done.stderr == ""


def test_npy_files_are_written_part_by_part_as_they_would_be_whole(tmp_path):
    from ringlet.store.plain_files import write_npy

    x = np.arange(9_000_000, dtype=">i2").reshape(300, 100, 300)
    write_npy(tmp_path / "x.npy", x.__getitem__, x.shape, x.dtype)
    np.save(tmp_path / "y.npy", x)
    assert (tmp_path / "x.npy").read_bytes() == (tmp_path / "y.npy").read_bytes()
