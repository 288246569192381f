"""Where the time goes: seconds of named parts of the work, summed over threads."""

from collections.abc import Callable
from threading import Lock
from time import perf_counter
from typing import TypeVar

__all__ = ["Profile"]

Argument = TypeVar("Argument")
Result = TypeVar("Result")


class Profile:
    """Seconds by part. Parts may run in several threads at once; their seconds add up.

    Examples
    --------
    >>> profile = Profile()
    >>> with profile.part("forward"):
    ...     pass
    >>> list(profile.seconds)
    ['forward']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._lock = Lock()

    def part(self, name: str) -> "_TimedPart":
        """Count the time of a block of code towards a part."""
        return _TimedPart(self, name)

    def timed(self, name: str, function: Callable[[Argument], Result]) -> Callable[[Argument], Result]:
        """The same function; its time counts towards a part."""

        def timed(argument: Argument) -> Result:
            with self.part(name):
                return function(argument)

        return timed

    def add(self, name: str, seconds: float) -> None:
        """Count some seconds towards a part."""
        with self._lock:
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds


class _TimedPart:
    """A block of code that is timed; written out, because parts of an update are entered many times a millisecond."""

    __slots__ = ("_name", "_profile", "_start")

    def __init__(self, profile: Profile, name: str) -> None:
        self._profile = profile
        self._name = name

    def __enter__(self) -> None:
        self._start = perf_counter()

    def __exit__(self, *_: object) -> None:
        self._profile.add(self._name, perf_counter() - self._start)
