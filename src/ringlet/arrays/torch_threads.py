"""PyTorch on the host's processor: one thread a call while a fit runs, whose pieces have threads of their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

__all__ = ["one_thread"]

_lock = Lock()
_held: list[int] = []  # numbers of threads to go back to, one for every fit that runs; they may overlap


@contextmanager
def one_thread(torch: Any) -> Iterator[None]:
    """Limit the library to one thread; the limit is per process and lifted with the last fit.

    Pieces of work in several threads, each of which wakes several threads, wait for each other most of the time.
    """
    with _lock:
        _held.append(torch.get_num_threads())
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            before = _held[0]
            _held.pop()
            if not _held:
                torch.set_num_threads(before)
