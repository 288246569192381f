"""Where work runs on one machine: independent pieces over threads, results always in the order of the pieces.

The pieces never depend on the number of threads and every BLAS call inside a piece uses one thread, so neither the
values nor the bits of a result depend on how many threads worked on it.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from itertools import chain, islice
from threading import Lock
from types import TracebackType
from typing import Any, Generic, TypeVar

from ringlet.errors import ArgumentError

__all__ = ["Threads"]

_MOST = 4096  # every thread has its own memory: a larger count is an error, before memory runs out

Item = TypeVar("Item")
Result = TypeVar("Result")


class Threads(AbstractContextManager["Threads"]):
    """A pool of threads, with BLAS limited to one thread while it is open.

    Parameters
    ----------
    count : int or None
        None uses every core this process may run on; at most 4096.

    Examples
    --------
    >>> with Threads(2) as threads:
    ...     list(threads.run(abs, [-1, 2, -3]))
    [1, 2, 3]
    """

    def __init__(self, count: int | None = None) -> None:
        if count is not None and count > _MOST:
            raise ArgumentError(f"threads={count} is not allowed; it must be at most {_MOST}, best the number of cores")
        if not count:
            count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.count = count
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> "Threads":
        _blas.hold()
        if self.count > 1:
            self._pool = ThreadPoolExecutor(self.count - 1, thread_name_prefix="ringlet")  # and the calling thread
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if self._pool is not None:
                self._pool.shutdown(wait=True, cancel_futures=True)
                self._pool = None
        finally:
            _blas.release()

    def run(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Like `map`, over the threads including the calling one; at most a few results wait at a time."""
        remaining = iter(items)
        first = list(islice(remaining, 2))
        if self._pool is None or len(first) < 2:
            yield from map(function, chain(first, remaining))
            return
        waiting: deque[_Piece[Item, Result]] = deque()
        try:
            for item in chain(first, remaining):
                waiting.append(_Piece(function, item, self._pool))
                if len(waiting) >= 2 * self.count:
                    yield _first_result(waiting)
            while waiting:
                yield _first_result(waiting)
        finally:
            for piece in waiting:
                piece.future.cancel()


class _Piece(Generic[Item, Result]):
    """A piece of work in the pool, which the calling thread may take back while no other has started it."""

    def __init__(self, function: Callable[[Item], Result], item: Item, pool: ThreadPoolExecutor) -> None:
        self._function = function
        self._item = item
        self.future: Future[Result] = pool.submit(function, item)

    def done_here(self) -> bool:
        """Run it in this thread, if it still waits."""
        if self.future.done() or not self.future.cancel():
            return False
        self.future = Future()
        self.future.set_result(self._function(self._item))
        return True


def _first_result(waiting: deque[_Piece[Item, Result]]) -> Result:
    """The result of the first piece; while others compute it, this thread takes pieces from the far end."""
    first = waiting[0]
    while not first.future.done() and any(piece.done_here() for piece in reversed(waiting)):
        pass
    return waiting.popleft().future.result()


class _BlasLimit:
    """Limit BLAS to one thread while any caller holds the limit, which is per process; fits may overlap."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._holders = 0
        self._libraries: Any = None
        self._limits: Any = None

    def hold(self) -> None:
        import scipy.linalg.lapack  # noqa: F401 - SciPy has a BLAS of its own: only what is loaded can be held
        from threadpoolctl import ThreadpoolController

        with self._lock:
            if self._libraries is None:
                self._libraries = ThreadpoolController()  # looking for them takes milliseconds
            if self._holders == 0:
                self._limits = self._libraries.limit(limits=1, user_api="blas")
            self._holders += 1

    def release(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._limits.restore_original_limits()


_blas = _BlasLimit()
