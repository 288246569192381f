"""Where the time goes: seconds of named parts of the work, summed over threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from time import perf_counter

__all__ = ["Profile"]


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

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count the time of a block of code towards a part."""
        start = perf_counter()
        try:
            yield
        finally:
            spent = perf_counter() - start
            with self._lock:
                self.seconds[name] = self.seconds.get(name, 0.0) + spent
