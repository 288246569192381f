"""Outputs appear whole or not at all, and what stood there before survives every failure."""

import errno
import os
import resource
import stat
import subprocess
import sys

import pytest

from ringlet.errors import ArgumentError, OutputError, OutputExistsError, RingletError
from ringlet.store.atomic import atomic_output, check_outputs


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_complete_block_leaves_exactly_the_named_file(tmp_path):
    with atomic_output(tmp_path / "x.txt") as temporary:
        temporary.write_text("new")
        assert temporary.suffix == ".txt"
        assert temporary.parent == tmp_path
    assert files_in(tmp_path) == ["x.txt"]
    assert (tmp_path / "x.txt").read_text() == "new"


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
def test_any_exception_keeps_the_old_file_and_leaves_no_temporary_one(tmp_path, failure):
    target = tmp_path / "x.txt"
    target.write_text("old")

    def write_half():
        with atomic_output(target) as temporary:
            temporary.write_text("half")
            raise failure

    with pytest.raises(failure):
        write_half()
    assert files_in(tmp_path) == ["x.txt"]
    assert target.read_text() == "old"


def test_the_old_file_stands_until_the_block_ends(tmp_path):
    target = tmp_path / "x.txt"
    target.write_text("old")
    with atomic_output(target) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"


def test_two_writers_of_one_path_do_not_share_a_temporary_file(tmp_path):
    with atomic_output(tmp_path / "x") as first, atomic_output(tmp_path / "x") as second:
        assert first != second
    assert files_in(tmp_path) == ["x"]


def test_an_os_error_inside_the_block_becomes_an_output_error_with_path_and_reason(tmp_path):
    target = tmp_path / "x.txt"
    with (
        pytest.raises(OutputError, match=r"x\.txt: No space left on device") as caught,
        atomic_output(target),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert isinstance(caught.value, OSError)
    assert isinstance(caught.value, RingletError)
    assert caught.value.errno == errno.ENOSPC
    assert files_in(tmp_path) == []


def test_a_full_device_surfaces_as_an_output_error(tmp_path):
    with (
        pytest.raises(OutputError, match="No space left"),
        atomic_output(tmp_path / "x.txt"),
        open("/dev/full", "w") as full,  # noqa: PTH123
    ):
        full.write("x" * 100_000)
    assert files_in(tmp_path) == []


def test_a_write_that_the_system_cuts_off_leaves_nothing(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with (
            pytest.raises(OutputError, match="File too large"),
            atomic_output(tmp_path / "x.bin") as temporary,
        ):
            temporary.write_bytes(bytes(1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failure_while_making_the_file_durable_keeps_the_old_one(tmp_path, monkeypatch, call):
    def fail(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    target = tmp_path / "x.txt"
    target.write_text("old")
    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OutputError, match="Input/output error"), atomic_output(target) as temporary:
        temporary.write_text("new")
    assert files_in(tmp_path) == ["x.txt"]
    assert target.read_text() == "old"


def test_a_parent_that_is_a_file_gives_an_output_error(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(OutputError, match=r"x\.txt: Not a directory"),
        atomic_output(tmp_path / "file" / "x.txt"),
    ):
        pass


def test_the_data_are_on_disk_before_the_name_is(tmp_path):
    """The order of system calls is the promise; strace is not everywhere, so the calls are recorded."""
    code = f"""
import os, sys
from pathlib import Path
from ringlet.store.atomic import atomic_output
calls = []
def recorded(name):
    real = getattr(os, name)
    return lambda *a, **k: (calls.append(name), real(*a, **k))[1]
os.fsync, os.replace = recorded("fsync"), recorded("replace")
with atomic_output(Path({str(tmp_path)!r}, "x")) as temporary:
    temporary.write_text("new")
print(*calls)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["fsync", "replace", "fsync"]


def test_a_new_file_has_the_usual_permissions_and_a_replaced_one_keeps_its_own(tmp_path):
    (tmp_path / "plain").touch()
    with atomic_output(tmp_path / "new"):
        pass
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "secret").touch(mode=0o600)
    with atomic_output(tmp_path / "secret"):
        pass
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_a_symbolic_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with atomic_output(tmp_path / "link") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_name_as_long_as_the_file_system_allows_can_be_written(tmp_path):
    target = tmp_path / ("x" * 251 + ".npy")
    with atomic_output(target):
        pass
    assert target.exists()


def test_existing_outputs_are_refused_by_name_unless_forced(tmp_path):
    old, new = tmp_path / "old.npy", tmp_path / "new.npy"
    old.touch()
    check_outputs([new], force=False)
    with pytest.raises(OutputExistsError, match=r"old\.npy exists already; .*force") as caught:
        check_outputs([new, old], force=False)
    assert isinstance(caught.value, FileExistsError)
    check_outputs([new, old], force=True)


def test_a_missing_directory_is_refused_before_any_work(tmp_path):
    with pytest.raises(ArgumentError, match="directory does not exist"):
        check_outputs([tmp_path / "missing" / "x.npy"], force=True)
    (tmp_path / "file").touch()
    with pytest.raises(ArgumentError, match="its directory is a file"):
        check_outputs([tmp_path / "file" / "x.npy"], force=True)


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
def test_a_directory_that_takes_no_files_is_refused_before_any_work():
    assert os.access("/proc", os.W_OK | os.X_OK) == (os.geteuid() == 0)  # so permissions alone do not tell
    with pytest.raises(OutputError, match=r"cannot write /proc/x\.npy: "):
        check_outputs(["/proc/x.npy"], force=False)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_directory_is_refused_before_any_work(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="Permission denied"):
        check_outputs([tmp_path / "x.npy"], force=False)


def test_the_check_leaves_nothing_behind(tmp_path):
    (tmp_path / "old.npy").write_text("precious")
    check_outputs([tmp_path / "x.npy", tmp_path / "old.npy"], force=True)
    assert files_in(tmp_path) == ["old.npy"]
    assert (tmp_path / "old.npy").read_text() == "precious"


@pytest.mark.parametrize("path", ["/dev/null", "/dev", "."])
def test_devices_and_directories_are_never_replaced(path):
    with pytest.raises(ArgumentError, match="not a regular file"):
        check_outputs([path], force=True)


def impossible_paths(folder):
    (folder / "loop").symlink_to(folder / "pool")
    (folder / "pool").symlink_to(folder / "loop")
    return {
        "too long": folder / ("x" * 300 + ".npy"),
        "circle|symbolic": folder / "loop" / "x.npy",
        "null": folder / "x\0.npy",
    }


@pytest.mark.parametrize("said", ["too long", "circle|symbolic", "null"])
def test_paths_that_no_file_system_holds_are_refused_by_name(tmp_path, said):
    path = impossible_paths(tmp_path)[said]
    with pytest.raises(ArgumentError, match=f"(?s)cannot write .*({said})"):
        check_outputs([path], force=True)
    with pytest.raises(ArgumentError, match=said), atomic_output(path):
        pass
