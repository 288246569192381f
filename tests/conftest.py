"""What all tests share."""

import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def heed_interrupts():
    """A job that a shell runs in the background ignores Ctrl-C, and so would every program the tests interrupt."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
