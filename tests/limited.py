"""Code in a child process that may take only so much more memory than it has after its imports, and so much time."""

import re
import subprocess
import sys

_LONGEST = 240  # seconds: something waits for ever
_PRELUDE = """
import resource, sys
import numpy as np
import PIL.Image, av, h5py, zarr, zarr.codecs
from ringlet.errors import RingletError
from ringlet.sources.files import load
from ringlet.sources.mask_files import load_mask
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + int(sys.argv[1]),) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[4]),) * 2)
path = sys.argv[2]
try:
    exec(sys.argv[3])
except RingletError as error:
    print(f"{type(error).__name__}: {error}")
"""


def run_limited(code, path, *, memory=400_000_000, seconds=60):
    """What the code, which finds the path as `path`, prints; an error of Ringlet's is printed, too.

    Memory is in bytes, time in seconds of the processor: others may be using the machine. Whatever else ends the
    process, a lack of memory or a signal, fails the test.
    """
    done = subprocess.run(
        [sys.executable, "-c", _PRELUDE, str(memory), str(path), code, str(seconds)],
        capture_output=True,
        text=True,
        timeout=_LONGEST,
        check=False,
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stderr[-2000:]}"
    return done.stdout


def without_age(stderr):
    """What a process says, without the warnings in which old versions of libraries tell their own age."""
    return re.sub(r"(.*DeprecationWarning: .*\n  .*|warning: .* deprecated .*)\n", "", stderr)
