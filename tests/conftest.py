"""What all tests share."""

import signal
import tempfile
from pathlib import Path

import pytest


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
