"""Writes arrays to a disk of 1 MB that runs full; run as a program, it prints how many writes failed as they should.

    python full_disks.py FOLDER KIND SIZE ...

A real file system is mounted on the folder, in a namespace of a child process where that is allowed.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

from ringlet.errors import OutputError
from ringlet.store.outputs import write_array

KINDS = ["npy", "npz", "mat", "zarr", "h5", "tif", "nc", "csv", "parquet", "png", "jpg", "webp", "bmp"]
KINDS += ["mp4", "mov", "mkv", "avi", "frames"]
SIZES = (900_000, 990_000, 1_040_000, 1_049_000, 1_100_000, 1_300_000, 2_000_000, 9_000_000, 20_000_000)
_MOUNT = ("unshare", "--user", "--map-root-user", "--mount")


def can_mount():
    """Whether file systems may be mounted here."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    mount = [*_MOUNT, "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(mount, capture_output=True, check=False).returncode == 0


def fill_disk(folder, kind, sizes=SIZES):
    """What a process says that writes arrays of some sizes to a full disk."""
    command = [*_MOUNT, sys.executable, __file__, str(folder), kind, *map(str, sizes)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def sample(kind, size, rng):
    """An array for a file of about so many bytes."""
    if kind in ("png", "jpg", "webp", "bmp"):
        return rng.integers(0, 256, (1000, max(1, size // 3000), 3)).astype("u1")
    if kind in ("mp4", "mov", "mkv", "avi", "frames"):
        return rng.integers(0, 256, (64, 64, 3, max(1, size // 12288))).astype("u1")
    if kind in ("csv", "parquet"):
        return rng.random((max(1, size // (80 if kind == "parquet" else 190)), 10))
    return rng.random((max(1, size // 800), 10, 10))


def content(folder):
    return {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def main(folder, kind, sizes):
    subprocess.run([shutil.which("mount"), "-t", "tmpfs", "-o", "size=1m", "none", folder], check=True)
    rng, path = np.random.default_rng(0), folder / ("x" if kind == "frames" else f"x.{kind}")
    write_array(path, sample(kind, 20_000, rng))
    before, failures = content(folder), 0
    for size in sizes:
        try:
            write_array(path, sample(kind, size, rng), force=True)
        except OutputError as error:
            told = str(error)
            failures += 1
        else:
            told = ""
        if told:
            assert str(path) in told, told
            assert "No space left on device" in told, told
            assert content(folder) == before, list(content(folder))
        else:
            assert not [name for name in folder.iterdir() if name.name.startswith(".ringlet")]
            write_array(path, sample(kind, 20_000, rng), force=True)
            before = content(folder)
    sys.stdout.write(f"failures: {failures}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], [int(size) for size in sys.argv[3:]])
