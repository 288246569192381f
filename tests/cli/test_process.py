"""The real `ringlet` process: exit codes, streams, signals."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ringlet import TensorRing

RINGLET = Path(sys.executable).with_name("ringlet")


def ringlet(*arguments, **options):
    return subprocess.run([RINGLET, *map(str, arguments)], capture_output=True, text=True, check=False, **options)


def test_success_exits_0_with_nothing_but_json_on_stdout(tmp_path):
    np.save(tmp_path / "in.npy", np.add.outer(np.arange(12.0), np.arange(9.0)))
    done = ringlet("fit", tmp_path / "in.npy", "--rank", "2", "-o", tmp_path / "x.ring", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outputs"] == [str(tmp_path / "x.ring")]


def test_the_package_can_be_run_as_a_module(tmp_path):
    command = [sys.executable, "-m", "ringlet", "info", str(tmp_path / "nowhere.npy")]
    failed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (failed.returncode, failed.stderr) == (2, f"error: {tmp_path / 'nowhere.npy'} does not exist\n")


def test_wrong_input_exits_2_with_one_line_on_stderr(tmp_path):
    failed = ringlet("info", tmp_path / "nowhere.npy")
    assert failed.returncode == 2
    assert failed.stdout == ""
    assert failed.stderr == f"error: {tmp_path / 'nowhere.npy'} does not exist\n"


def test_interrupting_a_fit_exits_130_and_still_writes_what_there_is(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "in.npy", rng.standard_normal((60, 50, 40)))
    command = [
        *(RINGLET, "restore", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--save", tmp_path / "x.ring"),
        *("--rank", "5", "--sweeps", "1000000", "--tol", "0", "--json"),
    ]
    # A terminal's progress line shows every sweep at once, so we know when the fit is under way.
    environment = {**os.environ, "TTY_COMPATIBLE": "1", "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        seen = b""
        while not re.search(rb"sweep (?!1 )\d+ of", seen):  # the first one is in the checkpoint
            byte = process.stderr.read(1)
            assert byte, seen
            seen += byte
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    content = json.loads(stdout)
    assert content["status"] == "INTERRUPTED"
    assert content["sweeps"] >= 1
    assert np.isfinite(np.load(tmp_path / "out.npy")).all()
    assert TensorRing.load(tmp_path / "x.ring").shape == (60, 50, 40)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.npy", "out.npy", "x.ring"]


def ring_file(folder):
    path = folder / "x.ring"
    cores = [np.ones((2, 30, 3), np.float32), np.ones((3, 20, 4), np.float32), np.ones((4, 5, 2), np.float32)]
    TensorRing(cores).save(path)
    return path


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_output_fits_any_encoding(tmp_path, encoding):
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run([RINGLET, "info", ring_file(tmp_path)], capture_output=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    drawing = done.stdout.decode(encoding).splitlines()[1:3]
    expected = ["ring   ╭─ 30 ── 3 ── 20 ── 4 ── 5 ─╮", "       ╰──────────── 2 ────────────╯"]
    if encoding != "utf-8":
        expected = [line.translate(str.maketrans("╭╮╰╯─", "++++-")) for line in expected]
    assert drawing == expected


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere file names are text")
@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_file_names_that_are_no_text_come_out_as_they_went_in(tmp_path, encoding):
    strange = tmp_path / os.fsdecode(b"\xff.npy")
    np.save(strange, np.eye(3))
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run([RINGLET, "info", strange], capture_output=True, env=environment, check=True)
    assert bytes(strange) in done.stdout


@pytest.mark.parametrize("command", [[RINGLET], [sys.executable, "-m", "ringlet"]])
@pytest.mark.parametrize("library", ["click", "rich"])
def test_ctrl_c_while_libraries_load(tmp_path, command, library):
    slow = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\nwhile True: time.sleep(0.01)\n"
    (tmp_path / f"{library}.py").write_text(slow)
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(
        [*command, "plan", "--shape", "3,4", "--rank", "2"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "interrupted")


@pytest.fixture
def unread():
    """A pipe that nobody reads from."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.mark.parametrize("arguments", [["--help"], ["info", "--help"], ["info"], ["info", "--json"]])
def test_a_reader_who_goes_away_ends_the_command_as_sigpipe_would(tmp_path, unread, arguments):
    command = [RINGLET, *arguments, ring_file(tmp_path)]
    done = subprocess.run(command, stdout=unread, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_outputs_are_written_also_when_nobody_reads_the_results(tmp_path, unread, options):
    np.save(tmp_path / "in.npy", np.add.outer(np.arange(12.0), np.arange(9.0)))
    command = [RINGLET, "fit", tmp_path / "in.npy", "--rank", "2", "-o", tmp_path / "x.ring", *options]
    done = subprocess.run(command, stdout=unread, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 141
    assert b"Traceback" not in done.stderr
    assert TensorRing.load(tmp_path / "x.ring").shape == (12, 9)


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["--help"], ["info"], ["info", "--json"]])
def test_a_full_disk_is_one_line_on_stderr(tmp_path, arguments, unbuffered):
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:  # noqa: PTH123
        command = [RINGLET, *arguments, ring_file(tmp_path)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (2, "error: cannot print: No space left on device\n")


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /dev/full")
def test_an_error_that_cannot_be_written_still_ends_with_2(tmp_path):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        command = [RINGLET, "info", tmp_path / "nowhere"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, check=False)
    assert (done.returncode, done.stdout) == (2, b"")


def test_an_error_that_nobody_reads(tmp_path, unread):
    done = subprocess.run([RINGLET, "info", tmp_path / "nowhere"], stdout=subprocess.PIPE, stderr=unread, check=False)
    assert (done.returncode, done.stdout) == (141, b"")


def test_help_tells_the_commands_and_the_exit_codes():
    done = ringlet("--help")
    assert done.returncode == 0
    for word in ("demo", "fit", "restore", "info", "plan", "Exit codes", "130", "141"):
        assert word in done.stdout


def test_help_loads_no_heavy_library():
    program = (
        "import sys\n"
        "from ringlet.cli.group import group\n"
        "group(['--help'], standalone_mode=False)\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert not loaded & {"matplotlib", "PIL", "av", "skimage", "rich.table", "ringlet.cli.options"}


@pytest.mark.parametrize("command", ["demo", "fit", "restore", "info", "plan"])
def test_every_command_has_help_and_a_docstring(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: ringlet {command}")
    assert run(command, "--no-such-option").exit_code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="no descriptors to close")
def test_errors_have_their_exit_code_where_stderr_is_closed(tmp_path):
    done = subprocess.run(
        [RINGLET, "info", tmp_path / "nowhere.npy"], stdout=subprocess.PIPE, preexec_fn=lambda: os.close(2), check=False
    )
    assert (done.returncode, done.stdout) == (2, b"")
