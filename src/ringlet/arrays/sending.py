"""Blocks of data that are sent to a device one after the other."""

from collections import deque
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.arrays.place import Place

__all__ = ["Sender"]

_BUFFERS = 2  # blocks in pinned memory: one that travels, and one that is being read


class Sender:
    """Sends blocks to a device; to a CUDA device of torch from pinned memory, by copies that do not wait.

    So the host reads the next block while the device works. It waits before a third block would be on its way: torch
    uses the pinned memory of those that have arrived again.

    Parameters
    ----------
    place : Place

    Examples
    --------
    >>> import array_api_strict as xp
    >>> values, observed = Sender(Place(xp, xp.Device("device1")))(np.ones(3), None)
    >>> values.device, observed
    (array_api_strict.Device('device1'), None)
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._pinned = place.library == "torch" and place.device.type == "cuda"
        self._on_their_way: deque[Any] = deque()

    def __call__(self, *block: NDArray[Any] | None) -> tuple[Any, ...]:
        """The arrays of a block on the device; what is None stays None."""
        if not self._pinned:
            return tuple(None if array is None else self._place.put(array) for array in block)
        torch: Any = import_module("torch")
        if len(self._on_their_way) == _BUFFERS:
            self._on_their_way.popleft().synchronize()
        there = tuple(None if array is None else self._copied(array) for array in block)
        arrived = torch.cuda.Event()
        arrived.record(torch.cuda.current_stream(self._place.device))
        self._on_their_way.append(arrived)
        return there

    def _copied(self, array: NDArray[Any]) -> Any:
        place = self._place
        pinned = place.xp.empty(array.shape, dtype=place.dtype(array.dtype), pin_memory=True)
        np.copyto(pinned.numpy(), array)
        return pinned.to(place.device, non_blocking=True)
