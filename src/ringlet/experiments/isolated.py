"""Run work in a new interpreter: its peak memory is separate, and the experiment continues if it crashes.

A job is a module of this package with a function ``measure`` from one JSON object to another.
"""

import json
import os
import signal
import subprocess  # our own interpreter; no shell is involved
import sys
import tempfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any, Literal

__all__ = ["Job", "run_isolated"]

Job = Literal["trial", "complexity"]


def run_isolated(job: Job, argument: dict[str, Any]) -> dict[str, Any]:
    """Run a job in a fresh interpreter; what it returns, or a dict with a ``status`` that says how it failed."""
    command = [sys.executable, "-P", "-m", __name__, job]
    with (
        tempfile.TemporaryFile() as errors,
        # A separate session: Ctrl-C reaches only the parent, which handles the child.
        subprocess.Popen(  # noqa: S603 - our own interpreter, and a name from our own list
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
        ) as child,
    ):
        assert child.stdin is not None and child.stdout is not None  # noqa: S101, PT018 - they are pipes
        try:
            with suppress(BrokenPipeError):  # it died at once; its exit code says why
                child.stdin.write(json.dumps(argument).encode() + b"\n")
                child.stdin.flush()
            # The pipe to its stdin stays open: should we be killed, it closes, and the child ends.
            output = child.stdout.read()
            code = child.wait()
        except BaseException:
            child.kill()
            raise
        finally:
            with suppress(BrokenPipeError):
                child.stdin.close()
        if code == 0:
            result: dict[str, Any] = json.loads(output)
            return result
        errors.seek(0)
        return {"status": _failure(code, errors.read().decode(errors="replace"))}


def _failure(code: int, errors: str) -> str:
    if code == -signal.SIGKILL:
        return "failed: killed, most likely because the machine ran out of memory"
    if code < 0:
        return f"failed: ended by {signal.Signals(-code).name}"
    last = errors.strip().splitlines()[-1:] or [f"exit code {code}"]
    return f"failed: {last[0]}"


def _end_with_parent() -> None:
    """Exit when the pipe from the parent closes: the result would not be read."""
    while os.read(0, 1):
        pass
    os._exit(1)


def _main(job: str) -> None:
    argument = json.loads(sys.stdin.buffer.readline())
    Thread(target=_end_with_parent, daemon=True).start()
    with suppress(OSError):  # if the machine runs out of memory, the system should end this process first
        Path("/proc/self/oom_score_adj").write_text("1000")
    result = import_module(f"ringlet.experiments.{job}").measure(argument)
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    _main(sys.argv[1])
