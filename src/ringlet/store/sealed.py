"""Sealed files: safetensors with a JSON description and a checksum of the whole file. No pickle, no code.

Files are assumed to be hostile. Our own pass over the header limits its size and detects what safetensors accepts
(repeated keys, changed bytes). safetensors then checks that the tensors tile the file exactly, so nothing larger than
the file is ever allocated.

The checksum, the field `sha256` of the description, is that of the file with 64 zeros in place of the checksum.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ringlet.checks import check_path
from ringlet.errors import FormatError, MissingFileError
from ringlet.sources.paths import open_file

__all__ = ["LARGEST_HEADER", "SealedFile", "open_sealed", "seal"]

# A tensor takes about 80 bytes of header: room for thousands, and even hostile JSON unpacks to less than 64 MB.
LARGEST_HEADER = 1 << 20
_UNSEALED = b"0" * 64
# Dtypes as safetensors calls them.
_DTYPES = {("f", 2): "F16", ("f", 4): "F32", ("f", 8): "F64", ("i", 1): "I8", ("i", 8): "I64"}
_PIECE = 1 << 20


def seal(
    tensors: Mapping[str, NDArray[Any]], kind: str, version: int, description: Mapping[str, Any]
) -> list[memoryview]:
    """The parts of a sealed file, in their order: a header, and the memory of the tensors themselves, not copied.

    Parameters
    ----------
    tensors : mapping of arrays
        Contiguous ones, of floats, int8 or int64.
    kind : str
        What the file is.
    version : int
        Of the kind's format.
    description : mapping
        Metadata of the tensors, in JSON types.

    Examples
    --------
    >>> header, ones = seal({"x": np.ones(2)}, "example", 1, {"note": "two ones"})
    >>> b"two ones" in header.tobytes(), ones.nbytes
    (True, 16)
    """
    ordered = sorted(tensors, key=lambda name: -tensors[name].itemsize)  # so that all are aligned to their size
    parts = {name: _memory(tensors[name]) for name in ordered}
    # The checksum comes before any user-given name, so the first 64 zeros are its place.
    whole = {"kind": kind, "version": version, "sha256": _UNSEALED.decode(), **description}
    header = _new_header(tensors, {name: part.nbytes for name, part in parts.items()}, json.dumps(whole))
    checksum = sha256(header)
    for part in parts.values():
        checksum.update(part)
    return [memoryview(header.replace(_UNSEALED, checksum.hexdigest().encode(), 1)), *parts.values()]


def _new_header(tensors: Mapping[str, NDArray[Any]], sizes: Mapping[str, int], description: str) -> bytes:
    """Header of a safetensors file: the length of the JSON, and the JSON, padded to a multiple of 8."""
    fields: dict[str, Any] = {"__metadata__": {"ringlet": description}}
    for (name, size), end in zip(sizes.items(), accumulate(sizes.values()), strict=True):
        array = tensors[name]
        fields[name] = {
            "dtype": _DTYPES[array.dtype.kind, array.itemsize],
            "shape": array.shape,
            "data_offsets": [end - size, end],
        }
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _memory(array: NDArray[Any]) -> memoryview:
    """The bytes of an array, as all machines write them."""
    little: Any = array.astype(array.dtype.newbyteorder("<"), copy=False).reshape(-1).view(np.uint8)
    return memoryview(little)


@dataclass(frozen=True)
class SealedFile:
    """A file whose checksum is right.

    Attributes
    ----------
    version : int
        Of the kind's format.
    description : dict
        Metadata of the tensors, without kind, version and checksum.
    dtypes : dict
        Of the tensors, as safetensors calls them: "F32", "F64", ...
    shapes : dict
        Of the tensors.
    """

    version: int
    description: dict[str, Any]
    dtypes: dict[str, str]
    shapes: dict[str, tuple[int, ...]]
    _file: Any

    def read(self, name: str) -> NDArray[Any]:
        """One tensor, read-only."""
        tensor: NDArray[Any] = self._file.get_tensor(name)
        return _frozen(tensor)


@contextmanager
def open_sealed(path: str | os.PathLike[str], kind: str, version: int) -> Iterator[SealedFile]:
    """Read a sealed file; safe on files from strangers. All errors, also inside the block, name the file.

    Parameters
    ----------
    path : path
    kind : str
        What the file must be.
    version : int
        The newest version of its format that can be read.

    Raises
    ------
    MissingFileError
        There is no such file.
    FormatError
        The file is of another kind, or damaged, or cannot be read; the message says what is wrong.
    """
    from safetensors import SafetensorError, safe_open

    check_path("path", path)
    try:
        found, description = _verified_description(Path(path), kind, version)
        with safe_open(path, framework="numpy") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 - not a dict
            dtypes = {name: part.get_dtype() for name, part in slices.items()}
            shapes = {name: tuple(part.get_shape()) for name, part in slices.items()}
            yield SealedFile(found, description, dtypes, shapes, file)
    except SafetensorError as error:
        raise FormatError(f"{os.fspath(path)}: {_shortened(f'not a sound safetensors file: {error}')}") from error
    except FormatError as error:
        raise FormatError(f"{os.fspath(path)}: {_shortened(error)}") from error.__cause__
    except FileNotFoundError as error:
        raise MissingFileError(f"{os.fspath(path)} does not exist") from error
    except OSError as error:
        raise FormatError(f"{os.fspath(path)}: cannot be read: {error.strerror or error}") from error


def _frozen(tensor: NDArray[Any]) -> NDArray[Any]:
    """Make an array, and the base of a view, read-only, so that it need not be copied."""
    owner: Any = tensor
    while isinstance(owner, np.ndarray):
        owner.setflags(write=False)
        owner = owner.base
    return tensor


def _verified_description(path: Path, kind: str, newest: int) -> tuple[int, dict[str, Any]]:
    """Version and description of a file whose checksum is right."""
    with open_file(path) as file:
        header = _header(file)
        description = _description(header, kind)
        version = _checked_version(description.pop("version", None), newest)
        claimed = description.pop("sha256", None)
        if not isinstance(claimed, str) or len(claimed) != len(_UNSEALED) or not claimed.isascii():
            raise FormatError("the metadata gives no checksum")
        digest = sha256(len(header).to_bytes(8, "little"))
        digest.update(header.replace(claimed.encode(), _UNSEALED, 1))
        while piece := file.read(_PIECE):
            digest.update(piece)
    if digest.hexdigest() != claimed:
        raise FormatError("damaged: its checksum is not that of its content")
    return version, description


def _header(file: IO[bytes]) -> bytes:
    """Of a safetensors file: 8 bytes of length, then that much JSON."""
    size = os.fstat(file.fileno()).st_size
    if size < 8:
        raise FormatError(f"not a safetensors file: only {size} bytes long")
    length = int.from_bytes(file.read(8), "little")
    if length > size - 8:
        raise FormatError(f"truncated, or not a safetensors file: a header of {length} bytes, {size - 8} in the file")
    if length > LARGEST_HEADER:
        raise FormatError(f"the header has {length} bytes; at most {LARGEST_HEADER} are read")
    return file.read(length)


def _description(header: bytes, kind: str) -> dict[str, Any]:
    try:
        metadata = _object(header.decode(), "header").get("__metadata__")
    except UnicodeDecodeError as error:
        raise FormatError("the header is not UTF-8") from error
    text = metadata.get("ringlet") if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise FormatError(f"a safetensors file, but without the metadata of a {kind}")
    description = _object(text, "metadata")
    found = description.pop("kind", None)
    if found != kind:
        raise FormatError(f"not a {kind}: the metadata names the kind {found!r}")
    return description


def _object(text: str, what: str) -> dict[str, Any]:
    try:
        content = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except RecursionError as error:
        raise FormatError(f"the {what} is nested too deeply") from error
    except FormatError as error:
        raise FormatError(f"the {what} {error}") from None
    except ValueError as error:  # Syntax, and integers of thousands of digits.
        raise FormatError(f"the {what} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise FormatError(f"the {what} is not a JSON object")
    return content


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise FormatError("has the same key twice")
    return content


def _no_constant(name: str) -> None:
    raise FormatError(f"holds {name}")


def _checked_version(version: object, newest: int) -> int:
    if type(version) is not int or version < 1:
        raise FormatError("the metadata gives no format version")
    if version > newest:
        raise FormatError(f"format version {version} is from the future; this Ringlet reads up to {newest}: upgrade it")
    return version


def _shortened(text: object) -> str:
    """Shorten text from a file for a message."""
    whole = str(text)
    return whole if len(whole) < 400 else f"{whole[:400]} ..."
