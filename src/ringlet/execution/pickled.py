"""Objects sent to another process: pickled once, with a known size, and unpickled where they are needed."""

from typing import Any

import numpy as np

__all__ = ["Parcel"]


class Parcel:
    """A pickled object, which its receiver unpickles once.

    Large arrays inside are not copied. Unpickling happens in the task that needs the object, not while Dask transfers
    it. Data that a worker cannot open therefore raise an error that names them.

    Attributes
    ----------
    size : int
        Bytes.

    Examples
    --------
    >>> parcel = Parcel([1, 2, 3])
    >>> parcel.unpack(), parcel.size < 100
    ([1, 2, 3], True)
    """

    def __init__(self, thing: object) -> None:
        from distributed.protocol.pickle import dumps  # pickles functions of the user's own, too

        buffers: list[Any] = []
        self._head: bytes = dumps(thing, buffer_callback=buffers.append)
        self._buffers = [np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers]

    @property
    def size(self) -> int:
        """Bytes to send."""
        return len(self._head) + sum(buffer.nbytes for buffer in self._buffers)

    def unpack(self) -> Any:
        """The object; the same one every time."""
        if not hasattr(self, "_thing"):
            from distributed.protocol.pickle import loads

            self._thing = loads(self._head, buffers=self._buffers)
        return self._thing

    def __getstate__(self) -> tuple[bytes, list[Any]]:
        return self._head, self._buffers

    def __setstate__(self, state: tuple[bytes, list[Any]]) -> None:
        self._head, self._buffers = state
