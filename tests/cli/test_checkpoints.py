"""`--checkpoint` and `--resume`: what is refused, what is told, and real processes that are interrupted and killed."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

RINGLET = Path(sys.executable).with_name("ringlet")


@pytest.fixture
def data(quick_path):
    file = quick_path / "in.npy"
    np.save(file, np.random.default_rng(0).standard_normal((20, 15, 10)))
    return file


@pytest.fixture
def fit(run, data):
    """`ringlet fit` of the data with some more arguments."""

    def fitted(*arguments, output="x.ring", sweeps=6):
        fixed = ("--rank", "3", "--tol", "0", "--sweeps", sweeps, "-o", data.with_name(output))
        return run("fit", data, *fixed, *arguments)

    return fitted


def test_an_existing_checkpoint_is_not_taken_up_unless_asked(fit, data):
    folder = data.with_name("run.ckpt")
    assert fit("--checkpoint", folder).exit_code == 0
    refused = fit("--checkpoint", folder, output="y.ring")
    assert refused.exit_code == 2
    assert refused.stderr == (
        f"error: {folder} holds a fit that was begun; continue it with --resume, or delete it, or choose another path\n"
    )
    assert not data.with_name("y.ring").exists()


def test_resuming_with_more_sweeps_gives_the_ring_of_one_longer_fit(fit, data):
    folder = data.with_name("run.ckpt")
    assert fit("--checkpoint", folder, sweeps=4, output="short.ring").exit_code == 0
    resumed = fit("--checkpoint", folder, "--resume", "--every", "2", "--json", sweeps=9, output="resumed.ring")
    assert resumed.exit_code == 0, resumed.stderr
    assert [record["sweep"] for record in json.loads(resumed.stdout)["history"]] == list(range(1, 10))
    assert fit(sweeps=9, output="whole.ring").exit_code == 0
    assert data.with_name("resumed.ring").read_bytes() == data.with_name("whole.ring").read_bytes()


def test_resume_may_stand_in_the_first_command_too(fit, data):
    folder = data.with_name("run.ckpt")
    begun = fit("--checkpoint", folder, "--resume")
    assert begun.exit_code == 0
    assert begun.stderr.startswith(f"note: {folder} holds no fit yet; starting from the first sweep\n")


def test_the_checkpoint_of_another_fit_is_refused_by_what_differs(fit, data):
    folder = data.with_name("run.ckpt")
    fit("--checkpoint", folder)
    refused = fit("--checkpoint", folder, "--resume", "--seed", "7", output="y.ring")
    assert refused.exit_code == 2
    assert "is of another fit: seed is 0 there and 7 here; give the arguments of that fit" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--resume"], "--resume needs --checkpoint PATH"),
        (["--every", "2"], "--every needs --checkpoint PATH"),
        (["--checkpoint", "x.ckpt", "--every", "0"], "--every 0 is not allowed; it must be at least 1"),
        (["--checkpoint", "no/such/x.ckpt"], "its directory does not exist; create it first"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(fit, arguments, words):
    refused = fit(*arguments)
    assert refused.exit_code == 2
    assert words in refused.stderr


def test_info_tells_what_is_in_a_checkpoint(fit, run, data):
    folder = data.with_name("run.ckpt")
    fit("--checkpoint", folder, "--seed", "5")
    told = run("info", folder)
    assert told.exit_code == 0, told.stderr
    for words in ("(checkpoint)", "shape: [20, 15, 10]", "seed: 5", "solver: AWRTRD", "after sweep 6", "--resume"):
        assert words in told.stdout
    assert "None" not in told.stdout
    content = json.loads(run("info", folder, "--json").stdout)
    assert (content["kind"], content["status"], len(content["history"])) == ("checkpoint", None, 6)
    for slot in folder.glob("slot-*"):
        slot.write_bytes(b"")
    assert run("info", folder).exit_code == 2


def test_info_says_that_a_fit_without_sweeps_left_needs_more(fit, run, data):
    folder = data.with_name("run.ckpt")
    fit("--checkpoint", folder, "--sweeps", "3")
    told = " ".join(run("info", folder).stdout.split())
    assert "with --resume and more than 3 --sweeps, which are used up." in told
    assert json.loads(run("info", folder, "--json").stdout)["sweeps"] == 3
    fit("--checkpoint", folder, "--sweeps", "7", "--resume", output="y.ring")  # as it says
    assert "after sweep 7" in run("info", folder).stdout


def test_a_file_in_the_place_of_the_checkpoint_is_all_that_is_said(fit, data):
    refused = fit("--checkpoint", data, "--resume")
    assert refused.exit_code == 2
    assert refused.stderr.splitlines() == [
        f"error: --checkpoint {data} is a file, not the folder of a checkpoint; give another path"
    ]


def test_restore_takes_checkpoints_too(run, data):
    folder, out = data.with_name("run.ckpt"), data.with_name("out.npy")
    arguments = ("restore", data, "-o", out, "--rank", "3", "--sweeps", "3", "--checkpoint", folder)
    assert run(*arguments).exit_code == 0
    first = out.read_bytes()
    assert run(*arguments, "--force").exit_code == 2
    assert run(*arguments, "--force", "--resume").exit_code == 0
    assert out.read_bytes() == first


def stopped(command, how, meanwhile=lambda: None):
    """Run a fit until it shows that it is under way, and send it a signal: exit code and stdout."""
    # A terminal's progress line shows every sweep at once.
    environment = {**os.environ, "TTY_COMPATIBLE": "1", "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        seen = b""
        while not re.search(rb"sweep (?!1 )\d+ of", seen):  # the first one is in the checkpoint
            byte = process.stderr.read(1)
            assert byte, seen
            seen += byte
        meanwhile()
        process.send_signal(how)
        stdout, _ = process.communicate(timeout=60)
    return process.returncode, stdout


def test_a_real_process_that_is_interrupted_and_killed_goes_on_to_the_same_file(data, run):
    folder = data.with_name("run.ckpt")

    def command(output, *more):
        fixed = ("--rank", "3", "--tol", "0", "--sweeps", "100", "--threads", "1", "--json")
        return [RINGLET, "fit", data, *fixed, "-o", data.with_name(output), *more]

    code, stdout = stopped(command("x.ring", "--checkpoint", folder), signal.SIGINT)
    assert code == 130
    assert json.loads(stdout)["advice"].endswith("To continue, give the same command with --resume --force.")
    again = command("x.ring", "--checkpoint", folder, "--resume", "--force")
    assert stopped(again, signal.SIGKILL) == (-signal.SIGKILL, b"")
    resumed = subprocess.run(again, capture_output=True, text=True, check=True)
    whole = run(*command("y.ring")[1:])
    assert json.loads(resumed.stdout)["sweeps"] == json.loads(whole.stdout)["sweeps"] == 100
    assert data.with_name("x.ring").read_bytes() == data.with_name("y.ring").read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no locks")
def test_info_knows_whether_a_fit_is_running(run, data):
    folder = data.with_name("run.ckpt")
    fixed = ("--rank", "3", "--tol", "0", "--sweeps", "1000000", "--threads", "1")
    told = []

    def look():
        told.append(run("info", folder).stdout)
        told.append(json.loads(run("info", folder, "--json").stdout)["running"])

    stopped(
        [RINGLET, "fit", data, *fixed, "-o", data.with_name("x.ring"), "--checkpoint", folder], signal.SIGKILL, look
    )
    look()
    assert "A fit that is running is using it." in told[0]
    assert "--resume" not in told[0]
    assert "It can be continued: give the same command with --resume." in told[2]
    assert (told[1], told[3]) == (True, False)
