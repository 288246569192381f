"""Sketches of stored data in memory: the next one is read while this one is used.

Samples depend on the seed, the sweep and the mode, never on the cores, so reading ahead changes no result.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ringlet.sources import ArraySource, Block, Source

__all__ = ["Ahead", "hold"]

Key = TypeVar("Key")
Result = TypeVar("Result")


def hold(source: Source, index: Sequence[slice | NDArray[np.intp]], order: tuple[int, ...]) -> ArraySource:
    """Read a block of a source into memory, laid out with the modes in the given order; its modes stay as they are.

    Examples
    --------
    >>> held = hold(ArraySource(np.arange(6.0).reshape(2, 3)), (slice(0, 2), np.array([0, 2])), (1, 0))
    >>> held.array.tolist(), held.array.flags.f_contiguous
    ([[0.0, 2.0], [3.0, 5.0]], True)
    """
    block: Block = tuple(
        slice(0, length) if not isinstance(chosen, slice) and len(chosen) == length else chosen
        for chosen, length in zip(index, source.shape, strict=True)
    )
    values, observed = source.read(block, order)
    back = tuple(np.argsort(order))
    values = np.ascontiguousarray(values).transpose(back)
    return ArraySource(values, None if observed is None else np.ascontiguousarray(observed).transpose(back))


class Ahead(Generic[Key, Result]):
    """A function that computes its next result in the background while this one is used.

    Parameters
    ----------
    function : callable of one argument
        Deterministic.
    wanted : bool
        Whether to compute ahead, which needs memory.

    Examples
    --------
    >>> squares = Ahead(lambda n: n * n)
    >>> squares(1, then=2), squares(2, then=3), squares(2), squares(3)
    (1, 4, 4, 9)
    >>> squares.close()
    """

    def __init__(self, function: Callable[[Key], Result], wanted: bool = True) -> None:
        self._function = function
        self._wanted = wanted
        self._now: tuple[Key, Result] | None = None
        self._next: tuple[Key, Future[Result]] | None = None
        self._thread: ThreadPoolExecutor | None = None

    def __call__(self, key: Key, then: Key | None = None) -> Result:
        """The result for this argument; the one for the following argument is begun, if one is given."""
        if self._now is not None and self._now[0] == key:
            return self._now[1]
        self._now = None  # at most one result is in memory while another is computed
        waiting, self._next = self._next, None
        result = waiting[1].result() if waiting is not None and waiting[0] == key else self._function(key)
        self._now = key, result
        if then is not None and self._wanted:
            self._thread = self._thread or ThreadPoolExecutor(1, thread_name_prefix="ringlet-read")
            self._next = then, self._thread.submit(self._function, then)
        return result

    def close(self) -> None:
        """End the background thread and drop what it reads. Another call starts it again."""
        self._now = self._next = None
        if self._thread is not None:
            self._thread.shutdown(wait=True, cancel_futures=True)
            self._thread = None
