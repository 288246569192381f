"""Small arrays for the tiles of a tensor, which together may exceed the memory."""

from contextlib import suppress
from dataclasses import dataclass, field
from os import SEEK_END
from tempfile import TemporaryFile
from typing import IO

import numpy as np
from numpy.typing import NDArray

__all__ = ["PackedTiles"]


@dataclass(eq=False)
class PackedTiles:
    """Arrays of bytes by the number of a tile: in memory while there is room, then in a temporary file.

    Arrays that cannot be written are dropped, and have to be made again.

    Attributes
    ----------
    room : int
        Bytes of memory.

    Examples
    --------
    >>> tiles = PackedTiles(room=2)
    >>> for number in range(3):
    ...     tiles.put((number,), np.full(2, number, np.uint8))
    >>> tiles.get((0,)), tiles.get((2,)), tiles.get((3,))
    (array([0, 0], dtype=uint8), array([2, 2], dtype=uint8), None)
    """

    room: int
    _held: dict[tuple[int, ...], NDArray[np.uint8]] = field(default_factory=dict)
    _written: dict[tuple[int, ...], tuple[int, int]] = field(default_factory=dict)  # where in the file, how many bytes
    _file: IO[bytes] | None = None

    def get(self, number: tuple[int, ...]) -> NDArray[np.uint8] | None:
        """The bytes of a tile; None if they are not known."""
        if number in self._held:
            return self._held[number]
        if number not in self._written or self._file is None:
            return None
        place, size = self._written[number]
        self._file.seek(place)
        found = np.frombuffer(self._file.read(size), np.uint8)
        return found if found.size == size else None

    def put(self, number: tuple[int, ...], content: NDArray[np.uint8]) -> None:
        """Store the bytes of a tile."""
        if content.nbytes <= self.room:
            self.room -= content.nbytes
            self._held[number] = content
            return
        with suppress(OSError):
            if self._file is None:
                self._file = TemporaryFile(buffering=0)  # noqa: SIM115 - as long as this lives
            place = self._file.seek(0, SEEK_END)
            if self._file.write(content.tobytes()) == content.size:
                self._written[number] = place, content.size

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()
