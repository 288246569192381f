"""`ringlet fit --scheduler` and `ringlet plan --workers`."""

import json
import socket
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from cluster_fits import tensor
from ringlet.execution.cluster import connected

pytest.importorskip("distributed")


@pytest.fixture
def array_file(tmp_path):
    np.save(tmp_path / "x.npy", tensor("uint8")[:40, :35, :, :24])
    return tmp_path / "x.npy"


@pytest.mark.usefixtures("small_pieces")
def test_a_fit_on_a_cluster_writes_the_same_file(cluster, client, array_file, tmp_path, run):
    settings = ("--rank", "4", "--sweeps", "2", "--tol", "0")
    address = cluster.scheduler_address
    spread = run("fit", array_file, *settings, "-o", tmp_path / "spread.ring", "--scheduler", address)
    assert spread.exit_code == 0, spread.output
    assert run("fit", array_file, *settings, "-o", tmp_path / "alone.ring").exit_code == 0
    assert (tmp_path / "spread.ring").read_bytes() == (tmp_path / "alone.ring").read_bytes()


def test_a_scheduler_that_is_not_there_is_refused(array_file, tmp_path, run, monkeypatch):
    impatient = partial(connected, seconds=0.5)
    monkeypatch.setattr("ringlet.execution.dask_executor.connected", impatient)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # nobody listens
        address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
        result = run("fit", array_file, "--rank", "4", "-o", tmp_path / "x.ring", "--scheduler", address)
    assert result.exit_code == 2
    assert f"error: no Dask scheduler answers at {address} within 0.5 s" in " ".join(result.stderr.split())
    assert not (tmp_path / "x.ring").exists()


@pytest.mark.parametrize("address", ["nonsense", "carrier-pigeon://roof:1", ""])
def test_an_address_that_is_none_is_refused(array_file, tmp_path, run, address):
    result = run("fit", array_file, "--rank", "4", "-o", tmp_path / "x.ring", "--scheduler", address)
    assert result.exit_code == 2
    assert f"error: --scheduler {address} is no address".replace("  ", " ") in result.stderr


def test_tls_without_certificates_is_one_line(array_file, tmp_path):
    """In a process of its own: a client that was made in vain complained for ten seconds at the end of Python."""
    command = [sys.executable, "-m", "ringlet", "fit", array_file, "--rank", "4", "-o", tmp_path / "x.ring"]
    command += ["--scheduler", "tls://127.0.0.1:1"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("error: --scheduler tls://127.0.0.1:1 needs certificates")
    assert result.stderr.count("\n") == 1


def test_plan_tells_traffic_and_speedup_of_workers(run):
    video = ("plan", "--shape", "1920,1080,3,50", "--rank", "80,80,3,20")
    found = [json.loads(run(*video, "--workers", count, "--json").stdout)["workers"] for count in (1, 4, 16)]
    assert [spread["workers"] for spread in found] == [1, 4, 16]
    speedups = [spread["speedup"] for spread in found]
    assert speedups == sorted(speedups)
    assert speedups[0] < 1
    # Rows of mode 0 (1920 slices of 80 x 80 numbers) come back once and go out three times.
    rows = 4 * 1920 * 80 * 80
    assert all(rows < spread["bytes_back"] < 2 * rows for spread in found)
    assert all(3 * rows < spread["bytes_out"] < 5 * rows for spread in found)
    assert "times as fast as one thread here" in " ".join(run(*video, "--workers", 4).stdout.split())
    assert run(*video, "--workers", 0).exit_code == 2


def test_plan_says_when_a_fit_is_too_small_to_share(run):
    told = run("plan", "--shape", "9,8,7", "--rank", "2", "--workers", "4")
    assert told.exit_code == 0
    assert "4 would not help: the fit is too small to be shared" in told.stdout
