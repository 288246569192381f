"""Files written by plain calls, which report a full disk as an error: memory maps and HDF5 end the process then."""

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ringlet.store.atomic import atomic_output, check_outputs

__all__ = ["ForgivingFile", "forgiving_file", "write_npy"]

_PART_ENTRIES = 1 << 22  # that are in memory at a time


def write_npy(
    path: str | os.PathLike[str],
    entries: Callable[[Any], NDArray[Any]],
    shape: tuple[int, ...],
    dtype: DTypeLike,
    *,
    force: bool = False,
) -> None:
    """Write a tensor to an npy file, whole or not at all; it never exists in memory as a whole.

    Parameters
    ----------
    path : path
    entries : callable
        Gives the entries of some slices of the first mode, in `dtype`.
    shape : tuple of int
    dtype : dtype
    force : bool
        Replace an existing file.

    Examples
    --------
    >>> import tempfile
    >>> x = np.arange(12.0).reshape(3, 4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_npy(Path(folder, "x.npy"), x.__getitem__, x.shape, x.dtype)
    ...     np.load(Path(folder, "x.npy"))[1]
    array([4., 5., 6., 7.])
    """
    check_outputs([path], force=force)
    dtype = np.dtype(dtype)
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    length = shape[0] if shape else 1
    step = max(1, _PART_ENTRIES * length // max(1, prod(shape)))
    with atomic_output(path) as temporary, temporary.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, length, step):
            part = entries(slice(start, min(start + step, length)) if shape else ())
            file.write(np.ascontiguousarray(part, dtype).reshape(-1).view(np.uint8).data)


class ForgivingFile(io.RawIOBase):
    """A file that keeps the first error in place of raising it; whoever writes looks at it and raises it.

    HDF5 cannot close a file whose bytes it did not get rid of, and ends the process instead. After an error this file
    takes everything, and keeps nothing.

    Attributes
    ----------
    error : OSError or None
        The first that the system reported.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("r+b", buffering=0)
        self.error: OSError | None = None

    def _tried(self, action: Callable[[], Any], otherwise: Any) -> Any:
        try:
            return action() if self.error is None else otherwise
        except OSError as error:
            self.error = error.with_traceback(None)  # whose frames would keep the buffers of who writes
            return otherwise

    def write(self, content: Any) -> int:
        """Write all of the bytes."""
        rest = memoryview(content).cast("B")
        length = rest.nbytes
        while rest.nbytes and self.error is None:
            rest = rest[self._tried(partial(self._file.write, rest), rest.nbytes) :]
        return length

    def readinto(self, room: Any) -> int:
        """Read into a buffer; zeros after an error."""
        return int(self._tried(lambda: self._file.readinto(room), memoryview(room).nbytes))

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        return self._file.seek(place, whence)

    def truncate(self, size: int | None = None) -> int:
        """Cut the file off, or lengthen it."""
        return int(self._tried(lambda: self._file.truncate(size), size or 0))

    def tell(self) -> int:
        """Where it is."""
        return self._file.tell()

    def readable(self) -> bool:
        """Yes."""
        return True

    def writable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()

    def check(self) -> None:
        """Raise the error, if there was one."""
        if self.error is not None:
            raise self.error


@contextmanager
def forgiving_file(path: Path) -> Iterator[ForgivingFile]:
    """A forgiving file that exists; in the end its error is raised, whatever else went wrong because of it."""
    with ForgivingFile(path) as file:
        try:
            yield file
        finally:
            file.check()
