"""Code in child processes that may take only so much more memory than they have after their imports, and so much time.

One server, this file run as a program, imports the libraries once. Every piece of code runs in a fork of it.
"""

import json
import os
import re
import select
import subprocess
import sys
import tempfile
from pathlib import Path

_LONGEST = 240  # seconds: something waits for ever


class LimitedProcesses:
    """Runs code in limited processes, as a context."""

    def __enter__(self):
        self._server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *_exception):
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait()

    def run(self, code, path, *, memory=400_000_000, seconds=60):
        """What the code, which finds the path as `path`, prints; an error of Ringlet's is printed, too.

        Memory is in bytes, time in seconds of the processor: others may be using the machine. Whatever else ends the
        process, a lack of memory or a signal, fails the test.
        """
        with tempfile.TemporaryDirectory() as folder:
            stdout, stderr = Path(folder, "stdout"), Path(folder, "stderr")
            request = {"code": code, "path": str(path), "memory": memory, "seconds": seconds}
            self._server.stdin.write(json.dumps(request | {"stdout": str(stdout), "stderr": str(stderr)}) + "\n")
            self._server.stdin.flush()
            if not select.select([self._server.stdout], [], [], _LONGEST)[0]:
                self._server.kill()
                raise AssertionError(f"no end after {_LONGEST} seconds")
            exit_code = json.loads(self._server.stdout.readline())
            assert exit_code == 0, f"exit code {exit_code}\n{stderr.read_text()[-2000:]}"
            return stdout.read_text()


def without_age(stderr):
    """What a process says, without the warnings in which old versions of libraries tell their own age."""
    return re.sub(r"(.*DeprecationWarning: .*\n  .*|warning: .* deprecated .*)\n", "", stderr)


def serve():
    """Answer every request, a line of JSON, with the exit code of the fork that has run its code."""
    import av  # noqa: F401 - these are imported before memory is counted
    import h5netcdf  # noqa: F401
    import h5py  # noqa: F401
    import numpy as np
    import PIL.Image  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import tifffile  # noqa: F401
    import xarray  # noqa: F401
    import zarr.codecs  # noqa: F401

    from ringlet.errors import RingletError
    from ringlet.sources.files import load
    from ringlet.sources.mask_files import load_mask

    for line in sys.stdin:
        request, child = json.loads(line), os.fork()
        if not child:
            _limit(request)
            names = {"np": np, "load": load, "load_mask": load_mask, "path": request["path"]}
            try:
                exec(request["code"], names)  # noqa: S102 - code of the tests
            except RingletError as error:
                print(f"{type(error).__name__}: {error}")  # noqa: T201
            return  # to the usual end of a program, which may go wrong, too
        answer = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


def _limit(request):
    """Set the limits of this process, and give it outputs of its own."""
    import resource

    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT), number)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + request["memory"],) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (request["seconds"],) * 2)


if __name__ == "__main__":
    serve()
