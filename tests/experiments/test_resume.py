"""Stopping at any time: killed, interrupted, torn; the next run does the rest, and nothing twice."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

METHODS = ("TRSVD", "SAWRTRD")
VARYING = ("seconds", "processor_seconds", "peak_memory", "trial_seconds")


def command(images, out):
    program = "import sys; from ringlet.cli.main import main; main(sys.argv[1:])"
    return [
        *(sys.executable, "-c", program, "paper", "image-decomposition", "--images", images, "--out", out),
        *("--methods", ",".join(METHODS), "--items", "first", "--runs", "1", "--sweeps", "4", "--no-pictures"),
    ]


def records(out):
    lines = [line for line in (out / "results.jsonl").read_text().splitlines(keepends=True) if line.endswith("\n")]
    return [json.loads(line) for line in lines]


def lasting(found):
    """What does not depend on how busy the machine is."""
    return [{name: value for name, value in record.items() if name not in VARYING} for record in found]


def running_trial(process):
    """The process of the trial that a run has under way."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not (found := children.read_text().split()):
        time.sleep(0.01)
    return int(found[0])


@pytest.fixture(scope="module")
def undisturbed(images, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed")
    subprocess.run(command(images, out), check=True, capture_output=True)
    return lasting(records(out))


@pytest.mark.skipif(not Path(f"/proc/self/task/{os.getpid()}/children").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_a_stopped_run_loses_the_running_trial_only(images, tmp_path, undisturbed, number):
    out = tmp_path / "out"
    with subprocess.Popen(command(images, out), stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if line.startswith("2/2"):  # one is done, the other has begun
                break
        child = running_trial(process)
        process.send_signal(number)
        rest = process.communicate(timeout=60)[1]
    assert process.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 130)
    if number == signal.SIGINT:
        assert rest.endswith("interrupted\n")
    deadline = time.monotonic() + 20
    while Path(f"/proc/{child}/cmdline").exists() and Path(f"/proc/{child}/cmdline").read_bytes():  # else a zombie
        assert time.monotonic() < deadline, "the trial lives on although nobody waits for it"
        time.sleep(0.01)
    before = (out / "results.jsonl").read_bytes()
    assert lasting(records(out)) == undisturbed[:1]
    if number == signal.SIGKILL:  # as if it had been writing at that moment
        with (out / "results.jsonl").open("ab") as file:
            file.write(b'{"experiment": "image-dec')
    again = subprocess.run(command(images, out), check=True, capture_output=True, text=True)
    assert "1/1" in again.stderr
    assert (out / "results.jsonl").read_bytes().startswith(before)
    assert lasting(records(out)) == undisturbed
    assert (out / "index.html").exists()
