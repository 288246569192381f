"""HDF5 files that crash or hang libhdf5 do so in another process, and are refused."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from ringlet.errors import FormatError
from ringlet.sources.files import load
from ringlet.sources.limits import ReadRules
from ringlet.sources.trial import try_reading

RULES = ReadRules()


@pytest.fixture
def path(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=np.ones((4, 3))).attrs["units"] = "kelvin"
    return tmp_path / "x.h5"


def children(process):
    """Processes that another has started and that try files."""
    found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(child) for child in found if "trial_child" in Path(f"/proc/{child}/cmdline").read_text()]


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are listed as on Linux")


def test_a_sound_file_is_tried_and_read(path):
    assert load(path).source.shape == (4, 3)


@on_linux
def test_a_file_that_crashes_the_library_is_refused_and_the_next_one_read(path):
    """The crash is that of the process: a signal ends it while it is busy."""
    try_reading(path, "hdf5", None, RULES)
    [child] = children(os.getpid())
    os.kill(child, signal.SIGSTOP)
    killer = threading.Timer(0.5, lambda: [os.kill(child, number) for number in (signal.SIGSEGV, signal.SIGCONT)])
    killer.start()
    with pytest.raises(FormatError, match="libhdf5 crashes at its groups or attributes: the file is damaged"):
        load(path)
    killer.join()
    assert load(path).source.shape == (4, 3)


def test_a_file_that_takes_too_long_is_refused_and_the_next_one_read(tmp_path, path):
    with h5py.File(tmp_path / "many.h5", "w") as file:
        for number in range(3000):
            file.create_group(str(number))
    with pytest.raises(FormatError, match=r"needs more than 0\.001 s for its groups and attributes, or hangs; if you"):
        try_reading(tmp_path / "many.h5", "hdf5", None, RULES, seconds=0.001)
    assert load(path).source.shape == (4, 3)


def test_other_errors_are_left_to_the_reader(tmp_path, path):
    with pytest.raises(Exception, match="has no array 'y'"):
        load(path, key="y")
    (tmp_path / "bad.h5").write_bytes(path.read_bytes()[:600])
    with pytest.raises(FormatError, match=r"bad\.h5: cannot be read"):
        load(tmp_path / "bad.h5")


@on_linux
def test_the_other_process_ends_with_this_one(path):
    code = f"""
import os, time
from pathlib import Path
from ringlet.sources.limits import ReadRules
from ringlet.sources.trial import try_reading
try_reading(Path({str(path)!r}), "hdf5", None, ReadRules())
print("tried", flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"tried\n"
        [number] = children(process.pid)
        process.kill()
    child = Path("/proc", str(number))
    deadline = time.monotonic() + 20
    while child.exists() and "zombie" not in (child / "status").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_forked_process_has_a_trial_of_its_own(path):
    try_reading(path, "hdf5", None, RULES)
    code = f"""
import os, sys
from pathlib import Path
from ringlet.sources.limits import ReadRules
from ringlet.sources.trial import try_reading
path = Path({str(path)!r})
try_reading(path, "hdf5", None, ReadRules())
pid = os.fork()
for _ in range(20):
    try_reading(path, "hdf5", None, ReadRules())
if pid:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
