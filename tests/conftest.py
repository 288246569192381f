"""What all tests share."""

import logging
import signal
import tempfile
from functools import partialmethod
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("ringlet", deadline=None)  # tests assert no timings: machines are busy
settings.load_profile("ringlet")


@pytest.fixture(scope="session", autouse=True)
def heed_interrupts():
    """A job that a shell runs in the background ignores Ctrl-C, and so would every program the tests interrupt."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def quick_path():
    """An empty folder in memory, where there is such a place: for tests that sync files by the hundred."""
    memory = Path("/dev/shm")  # noqa: S108 - the folder in it is safe
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="session")
def cluster():
    """A Dask cluster of two processes, with one thread each."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=logging.CRITICAL
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    """A client of the cluster, all of whose workers are there; it is not the active one."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2)
        yield client


@pytest.fixture
def small_pieces(monkeypatch):
    """Every executor sends work however small it is, also one that a test cannot make itself."""
    from ringlet import DaskExecutor

    monkeypatch.setattr(DaskExecutor, "__init__", partialmethod(DaskExecutor.__init__, least_seconds=1e-9))
