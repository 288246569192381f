"""Runs cases in child processes; one that crashes, or takes too long, is a violation, and the next gets a new child."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

MEMORY = 600_000_000  # bytes more than a child has after its imports
_TESTS = Path(__file__).parent.parent
SECONDS = 60.0  # of the processor, for a case


def in_memory():
    """A folder whose files are never written to a disk, where there is one."""
    return Path("/dev/shm") if Path("/dev/shm").is_dir() else None  # noqa: S108 - folders in it are safe


class Child:
    """A process for cases, as a context.

    Parameters
    ----------
    memory : int
        Bytes that a case may take.
    seconds : float
        Of the processor, that a case may take.
    stop : threading.Event, optional
        No further case is begun once it is set.
    """

    def __init__(self, memory=MEMORY, seconds=SECONDS, stop=None):
        self._stop = stop
        self._folder = tempfile.TemporaryDirectory(dir=in_memory())
        self._command = [sys.executable, "-m", "soak.child", self._folder.name, str(memory), str(seconds)]
        self._seconds = seconds
        self._process = None

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        if self._process is not None:
            self._process.stdin.close()
            self._process.stdout.close()
            self._process.wait(self._seconds)
        self._folder.cleanup()

    def run(self, family, number):
        """What happened, and more about it if a promise was not kept."""
        if self._process is None:
            # Every thread would reserve much address space, of which nothing is used.
            environment = {**os.environ, "MALLOC_ARENA_MAX": "2", "OMP_NUM_THREADS": "1"}
            environment["PYTHONPATH"] = os.pathsep.join([str(_TESTS), *sys.path])
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
            )
            if self._process.stdout.readline() != "ready\n":
                raise RuntimeError(f"the child did not start; exit code {self._process.wait()}")
        self._process.stdin.write(f"{family} {number}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if line:
            return tuple(json.loads(line))
        self._process.stdin.close()
        self._process.stdout.close()
        code, self._process = self._process.wait(), None
        return (
            "violated",
            f"more than {self._seconds:g} s"
            if code in (-signal.SIGPROF, -signal.SIGALRM)
            else f"the process ended with exit code {code}",
        )

    def run_batch(self, family, first, count):
        """Outcomes of several cases by word, and a text for every violation."""
        outcomes, violations = Counter(), []
        for number in range(first, first + count):
            if self._stop is not None and self._stop.is_set():
                break
            word, told = self.run(family, number)
            outcomes[word] += 1
            if word == "violated":
                violations.append(f"{family} {number}: {told}")
        return outcomes, violations
