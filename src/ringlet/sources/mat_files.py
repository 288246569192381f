"""Arrays in MATLAB files of versions 4 to 7, read with every tag, size and dimension checked first.

SciPy's reader trusts the tags of a file: one wrong byte there ends the process. Here only arrays of real numbers are
read, which takes little: version 4 is a row of matrices, each behind 20 bytes of header; versions 5 to 7 are a row of
elements, each behind a tag of type and size, and an array is an element of elements: flags, dimensions, name, numbers.
"""

import math
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import FormatError
from ringlet.sources.limits import DEFLATE_RATIO, LONGEST_HEADER, MOST_MODES, check_size
from ringlet.sources.paths import open_file

__all__ = ["MatArray", "mat_arrays", "read_mat"]

_INT8, _INT32, _UINT32, _MATRIX, _COMPRESSED = 1, 5, 6, 14, 15
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_CLASSES = {
    6: "float64",
    7: "float32",
    8: "int8",
    9: "uint8",
    10: "int16",
    11: "uint16",
    12: "int32",
    13: "uint32",
    14: "int64",
    15: "uint64",
}
_OPAQUE = 17  # an object of MATLAB's, which has neither dimensions nor a name where arrays have them
_LOGICAL, _COMPLEX = 0x02, 0x08
_VERSION_4 = {0: "f8", 1: "f4", 2: "i4", 3: "i2", 4: "u2", 5: "u1"}
_PIECE = 1 << 20  # bytes that are inflated at a time


@dataclass(frozen=True)
class MatArray:
    """An array in a file, not read yet.

    Attributes
    ----------
    name : str
    shape : tuple of int
    dtype : dtype or None
        What it is in MATLAB; None if it is no array of numbers.
    stored : dtype or None
        How its numbers are stored, which MATLAB packs as small as they fit.
    is_complex : bool
    start : int
        Where in the file its numbers begin, or the element that they are compressed in.
    skipped : int
        Bytes before its numbers within what is compressed.
    compressed : int or None
        Bytes of the compressed element; None if it is not compressed.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any] | None
    stored: np.dtype[Any] | None = None
    is_complex: bool = False
    start: int = 0
    skipped: int = 0
    compressed: int | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of its numbers as they are stored."""
        return 0 if self.stored is None else math.prod(self.shape) * self.stored.itemsize


def mat_arrays(path: Path) -> dict[str, MatArray]:
    """Everything in a file by its name, arrays of numbers or not; nothing but headers is read."""
    with open_file(path) as file:
        head = file.read(128)
        found = _version_5(file, head) if 0 not in head[:4] and len(head) == 128 else _version_4(file)
        arrays: dict[str, MatArray] = {}
        for array in filter(lambda array: array.name, found):  # MATLAB keeps notes of its own without a name
            if array.name in arrays:
                raise FormatError(f"it holds two arrays of the name {array.name!r}")
            arrays[array.name] = array
    return arrays


def read_mat(path: Path, array: MatArray, max_size: float | str | None = None) -> NDArray[Any]:
    """The numbers of an array, in the dtype that it has in MATLAB."""
    if array.dtype is None or array.stored is None or array.is_complex:
        raise FormatError(f"{array.name} is no array of real numbers")
    check_size(max(array.nbytes, math.prod(array.shape) * array.dtype.itemsize), max_size, array.name)
    with open_file(path) as file:
        file.seek(array.start)
        if array.compressed is None:
            values = np.fromfile(file, array.stored, math.prod(array.shape))
        else:
            values = np.frombuffer(_inflated(file, array), array.stored)
    if values.nbytes != array.nbytes:
        raise FormatError(f"the file is cut off: {array.name} has {values.nbytes} of {array.nbytes} bytes")
    return values.astype(array.dtype, copy=False).reshape(array.shape, order="F")


def _inflated(file: IO[bytes], array: MatArray) -> bytearray:
    """The numbers of a compressed element; never more than they take is inflated."""
    left, end = array.compressed or 0, array.skipped + array.nbytes
    if end > DEFLATE_RATIO * left:
        raise FormatError(f"{left} bytes that claim to unpack to {end}; refused as a decompression bomb")
    numbers, inflater = bytearray(array.nbytes), zlib.decompressobj()
    done, piece = 0, b""
    while not inflater.eof:
        if not piece:
            piece = file.read(min(_PIECE, left))
            left -= len(piece)
            if not piece:
                break
        plain = inflater.decompress(piece, _PIECE)
        piece = inflater.unconsumed_tail
        first, last = max(done, array.skipped), min(done + len(plain), end)
        if first < last:
            numbers[first - array.skipped : last - array.skipped] = plain[first - done : last - done]
        done += len(plain)
        if done > end + LONGEST_HEADER:  # at most the padding may follow
            raise FormatError(f"{array.name} unpacks to more than the {array.nbytes} bytes that its shape needs")
    if done < end or not inflater.eof:  # zlib compares its checksum at the end
        raise FormatError(f"the file is cut off: {array.name} unpacks to {done} of {end} bytes")
    return numbers


# Versions 5 to 7.


def _version_5(file: IO[bytes], head: bytes) -> Iterator[MatArray]:
    order = {b"IM": "<", b"MI": ">"}.get(head[126:128])
    if order is None:
        raise FormatError("cannot be read: it does not begin as a MATLAB file does")
    size = os.fstat(file.fileno()).st_size
    place = 128
    while place < size:
        file.seek(place)
        kind, length = _unpacked(f"{order}II", file.read(8))
        place += 8
        if length > size - place:
            raise FormatError(
                f"the file is cut off: an element at {place} claims {length} bytes, {size - place} follow"
            )
        if kind == _COMPRESSED:
            # Enough for the header of any array: its own tag, flags, dimensions and name, and the tag of its numbers.
            plain = zlib.decompressobj().decompress(file.read(min(length, LONGEST_HEADER)), LONGEST_HEADER)
            inner, claimed = _unpacked(f"{order}II", plain[:8])
            if inner != _MATRIX:
                raise FormatError(f"a compressed element of type {inner} at {place}; {_MATRIX} is an array")
            yield _matrix(plain[8:], order, claimed, place, 8, length)
        elif kind == _MATRIX:
            yield _matrix(file.read(min(length, LONGEST_HEADER)), order, length, place)
        else:
            raise FormatError(f"an element of type {kind} at {place}; only {_MATRIX} and {_COMPRESSED} can be there")
        place += length


def _matrix(
    head: bytes, order: str, length: int, start: int, skipped: int = 0, compressed: int | None = None
) -> MatArray:
    """An array from the beginning of its element, which has `length` bytes."""
    flags, at = _element(head, order, 0, _UINT32)
    if len(flags) != 8:
        raise FormatError(f"the flags of an array have {len(flags)} bytes, not 8")
    (bits,) = struct.unpack(f"{order}I", flags[:4])
    kind, marks = bits & 0xFF, bits >> 8 & 0xFF
    if kind == _OPAQUE:
        return MatArray(f"(object at {start})", (), None)
    sizes, at = _element(head, order, at, _INT32)
    shape = struct.unpack(f"{order}{len(sizes) // 4}i", sizes[: len(sizes) // 4 * 4])
    name, at = _element(head, order, at, _INT8)
    called = name.rstrip(b"\0").decode("latin-1")
    if kind not in _CLASSES:
        return MatArray(called, shape, None)
    if not 2 <= len(shape) <= MOST_MODES or min(shape) < 0:
        raise FormatError(f"{called} has the dimensions {shape[:8]}; 2 to {MOST_MODES} are allowed, none below 0")
    dtype = np.dtype("bool" if marks & _LOGICAL else _CLASSES[kind])
    if not math.prod(shape):
        return MatArray(called, shape, dtype, dtype, start=start)
    number, size, at = _tag(head, order, at)
    if number not in _NUMBERS:
        raise FormatError(f"the numbers of {called} have the type {number}, which MATLAB does not have")
    stored = np.dtype(order + _NUMBERS[number])
    found = MatArray(called, shape, dtype, stored, bool(marks & _COMPLEX), start, skipped, compressed)
    if size != found.nbytes or at + size > length:
        raise FormatError(f"{called} has {size} bytes where its shape {shape} needs {found.nbytes}")
    place = (start + at, 0) if compressed is None else (start, skipped + at)
    return MatArray(called, shape, dtype, stored, found.is_complex, *place, compressed)


def _element(head: bytes, order: str, at: int, kind: int) -> tuple[bytes, int]:
    """A small element of the type expected, and where the next one begins."""
    found, size, start = _tag(head, order, at)
    if found != kind:
        raise FormatError(f"an element of type {found} in an array where {kind} is expected")
    if start + size > len(head):
        raise FormatError(f"the header of an array is cut off, or longer than {LONGEST_HEADER} bytes")
    end = start + size
    return head[start:end], at + 8 if start == at + 4 else end + -end % 8


def _tag(head: bytes, order: str, at: int) -> tuple[int, int, int]:
    """Type and size of an element, and where its content begins: at most 4 bytes may stand within the tag."""
    kind, size = _unpacked(f"{order}II", head[at : at + 8])
    if kind >> 16:
        if kind >> 16 > 4:
            raise FormatError(f"an element of {kind >> 16} bytes within its tag, which has room for 4")
        return kind & 0xFFFF, kind >> 16, at + 4
    return kind, size, at + 8


# Version 4.


def _version_4(file: IO[bytes]) -> Iterator[MatArray]:
    size = file.seek(0, os.SEEK_END)
    place = 0
    while place < size:
        file.seek(place)
        head = file.read(20)
        order = "<" if _unpacked("<i", head[:4])[0] in range(5000) else ">"
        kind, rows, columns, imaginary, length = _unpacked(f"{order}5i", head)
        machine, zero, number, matrix = kind // 1000, kind // 100 % 10, kind // 10 % 10, kind % 10
        if machine != "<>".index(order) or zero or number not in _VERSION_4 or matrix > 2 or imaginary not in (0, 1):
            raise FormatError("cannot be read: it does not begin as a MATLAB file does")
        if rows < 0 or columns < 0 or not 0 < length <= LONGEST_HEADER:
            raise FormatError(f"an array of {rows} x {columns} numbers with a name of {length} bytes, at {place}")
        name = file.read(length).rstrip(b"\0").decode("latin-1")
        stored = np.dtype(order + _VERSION_4[number])
        dtype = None if matrix else stored.newbyteorder("=")  # others are texts and sparse matrices
        array = MatArray(name, (rows, columns), dtype, stored, bool(imaginary), place + 20 + length)
        place = array.start + array.nbytes * (1 + imaginary)
        if place > size:
            raise FormatError(f"the file is cut off: it has {size} bytes where {name} needs {place}")
        yield array


def _unpacked(layout: str, head: bytes) -> tuple[int, ...]:
    if len(head) < struct.calcsize(layout):
        raise FormatError("the file is cut off")
    return struct.unpack(layout, head)
