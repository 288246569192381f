"""Devices that run out of memory: their errors, and work in smaller blocks instead."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TypeVar

from ringlet.amounts import format_bytes
from ringlet.arrays.place import Place
from ringlet.arrays.sending import Sender
from ringlet.arrays.torch_threads import one_thread
from ringlet.errors import BudgetError

__all__ = ["Device", "DeviceMemory", "device_room", "is_out_of_memory"]

Result = TypeVar("Result")

_HOST_ENTRIES = 1 << 19  # that are worked on at once: residuals and weights stay in the cache of a processor,
_DEVICE_ENTRIES = 1 << 24  # and give all units of an accelerator something to do


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of any of the libraries says that the memory of a device is used up.

    Examples
    --------
    >>> is_out_of_memory(MemoryError()), is_out_of_memory(RuntimeError("RESOURCE_EXHAUSTED: Out of memory"))
    (True, True)
    """
    named = any(kind.__name__ == "OutOfMemoryError" for kind in type(error).__mro__)  # of torch and CuPy
    return named or isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)  # of JAX


@contextmanager
def device_room(purpose: str, way_out: str = "give a smaller rank", *, alone: bool = True) -> Iterator[None]:
    """Work on a device that cannot be done in smaller blocks: a lack of memory is named with its purpose.

    Where the work is not `alone` on the device, a plain MemoryError is one of the host.

    Examples
    --------
    >>> with device_room("to solve for 9 unknowns"):
    ...     raise MemoryError
    Traceback (most recent call last):
        ...
    ringlet.errors.BudgetError: the device has no memory left to solve for 9 unknowns; free some, or give a smaller rank
    """
    try:
        yield
    except Exception as error:
        if not is_out_of_memory(error) or (not alone and type(error) is MemoryError):
            raise
        raise BudgetError(f"the device has no memory left {purpose}; free some, or {way_out}") from error


@dataclass
class DeviceMemory:
    """How many entries a device works on at once; fewer after its memory was used up.

    Attributes
    ----------
    entries : int
        Of the data.

    Examples
    --------
    >>> memory = DeviceMemory(64)
    >>> def work(entries):
    ...     if entries > 20:
    ...         raise MemoryError
    ...     return entries
    >>> memory.within(work, least=4, bytes_an_entry=8), memory.entries
    (16, 16)
    """

    entries: int

    def within(self, work: Callable[[int], Result], least: int, bytes_an_entry: int) -> Result:
        """The result of work on this number of entries at once, halved until it fits.

        Parameters
        ----------
        work : callable of a number of entries
        least : int
            The smallest block there is, in entries.
        bytes_an_entry : int
            That work takes on the device, for messages.
        """
        while True:
            try:
                return work(self.entries)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                if self.entries <= least:
                    raise BudgetError(
                        f"the device has no memory left for the smallest block of work: {least} entries of the data, "
                        f"about {format_bytes(least * bytes_an_entry)}; free some, or give a smaller rank or fewer "
                        "samples"
                    ) from error
                self.entries = max(least, self.entries // 2)


@dataclass(frozen=True)
class Device:
    """A place to work at, and how much fits there at once.

    Attributes
    ----------
    place : Place
    memory : DeviceMemory
    send : Sender
        One for all passes, as their blocks are on their way at the same time.
    """

    place: Place
    memory: DeviceMemory
    send: Sender = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "send", Sender(self.place))

    @classmethod
    @contextmanager
    def opened(cls, place: Place) -> Iterator["Device"]:
        """The device of a place, for as long as a fit works there.

        Examples
        --------
        >>> import numpy
        >>> with Device.opened(Place(numpy, "cpu")) as device:
        ...     device.memory.entries
        524288
        """
        device = cls(place, DeviceMemory(_HOST_ENTRIES if place.on_host else _DEVICE_ENTRIES))
        with one_thread(place.xp) if place.on_host and place.library == "torch" else nullcontext():
            yield device
