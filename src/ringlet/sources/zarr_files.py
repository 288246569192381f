"""Zarr stores on disk, opened so that a hostile one can neither lead outside, nor block, nor fill the memory.

Imported only where zarr is needed.
"""

import asyncio
import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.core.sync import sync
from zarr.storage import LocalStore

from ringlet.errors import FormatError
from ringlet.sources.absent import with_absent
from ringlet.sources.annotations import mode_names, told_missing, told_packing, told_units
from ringlet.sources.chunked import ChunkedSource, regular_chunks
from ringlet.sources.inflation import check_inflation
from ringlet.sources.limits import MOST_CHUNKS, ReadRules, check_claim, check_size

__all__ = ["open_zarr", "zarr_source"]

_METADATA = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
_LONGEST_METADATA = 1 << 20  # bytes: room for the notes on hundreds of arrays, which are unpacked to some 20 MB
_CHUNK_NAME = re.compile(r"(?:c[/.])?(\d+(?:[/.]\d+)*)")


def open_zarr(path: Path, rules: ReadRules) -> Any:
    """The array or group in a folder."""
    return zarr.open(_GuardedStore(path.absolute(), rules=rules), mode="r")


class _GuardedStore(LocalStore):
    """A store on disk that reads regular files inside its folder only, of which no chunk may become too large."""

    def __init__(
        self,
        root: Path | str,
        *,
        read_only: bool = True,
        rules: ReadRules | None = None,
    ) -> None:
        super().__init__(root, read_only=read_only)
        self.rules = rules or ReadRules()
        self._real_root = os.path.realpath(root)

    def with_read_only(self, read_only: bool = False) -> "_GuardedStore":
        """Give the same store; it is never written to."""
        return _GuardedStore(self.root, read_only=read_only, rules=self.rules)

    async def get(self, key: str, *args: Any, **kwargs: Any) -> Any:
        """Read a file, or a part of it."""
        self._check_file(key)
        return self._checked(key, await super().get(key, *args, **kwargs))

    def get_sync(self, key: str, **kwargs: Any) -> Any:
        """Read a file, or a part of it."""
        self._check_file(key)
        return self._checked(key, super().get_sync(key, **kwargs))

    async def get_partial_values(self, prototype: Any, key_ranges: Iterable[tuple[str, Any]]) -> list[Any]:
        """Read parts of files."""
        wanted = list(key_ranges)
        for key, _ in wanted:
            self._check_file(key)
        found = await super().get_partial_values(prototype, wanted)
        return [self._checked(key, part) for (key, _), part in zip(wanted, found, strict=True)]

    def _check_file(self, key: str) -> None:
        """Refuse links, what is no regular file, and what is too large, before it is opened."""
        place = os.path.join(self._real_root, key)  # noqa: PTH118 - as text, to be compared with the real path
        if not self.rules.follow_links and os.path.realpath(place) != os.path.normpath(place):
            raise FormatError(f"{key} in the store is, or lies behind, a symbolic link; follow_links=True reads it")
        try:
            found = Path(place).stat()
        except OSError:
            return  # absent, or unreadable: zarr tells
        if stat.S_ISDIR(found.st_mode):
            return
        if not stat.S_ISREG(found.st_mode):
            raise FormatError(f"{key} in the store is not a regular file")
        if _is_metadata(key):
            if found.st_size > _LONGEST_METADATA:
                raise FormatError(f"{key} in the store has {found.st_size} bytes; at most {_LONGEST_METADATA} are read")
        else:
            check_size(found.st_size, self.rules.max_size, f"the chunk {key}")

    def _checked(self, key: str, found: Any) -> Any:
        if found is not None and not _is_metadata(key):
            check_inflation(found.to_bytes(), self.rules.max_size, f"the chunk {key}")
        return found


@dataclass(frozen=True, eq=False)
class _ZarrArray:
    """An array of which a read that fails has ended as a whole.

    Zarr reads several chunks at a time. After an error the others go on, and if Python ends meanwhile, it prints pages
    about them.
    """

    array: Any

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the stored entries."""
        dtype: np.dtype[Any] = self.array.dtype
        return dtype

    def __getitem__(self, block: tuple[slice, ...]) -> NDArray[Any]:
        try:
            return np.asarray(self.array[block])
        except Exception:
            sync(_end_of_reads())
            raise


async def _end_of_reads() -> None:
    """Wait for all that zarr is reading; errors of it do not matter."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)


def zarr_source(array: Any, rules: ReadRules) -> ChunkedSource:
    """An array as a source."""
    store, on_disk = array.store, isinstance(array.store, LocalStore)
    if on_disk and not store.root.is_absolute():
        array = zarr.open_array(store=str(store.root.absolute()), path=array.path, mode="r")  # for workers elsewhere
    sizes = getattr(array, "shards", None) or array.chunks  # of what is one file
    if on_disk:
        check_claim(array.shape, array.dtype.itemsize, array.nbytes_stored, rules.max_size)
        check_size(prod(sizes) * array.dtype.itemsize, rules.max_size, "a chunk")
    names = getattr(array.metadata, "dimension_names", None) or array.attrs.get("_ARRAY_DIMENSIONS")
    source = ChunkedSource(
        _ZarrArray(array),
        regular_chunks(array.shape, array.chunks),
        told_missing(array.dtype, array.attrs, array.fill_value),
        names=mode_names(names),
        units=told_units(array.attrs),
        packing=told_packing(array.attrs),
        path=str(store.root) if on_disk else None,
    )
    return with_absent(source, _stored_chunks(array, sizes, rules) if on_disk else None, sizes, array.fill_value, rules)


def _stored_chunks(array: Any, sizes: Sequence[int], rules: ReadRules) -> NDArray[np.bool_] | None:
    """Which chunks, or shards, of an array are in its folder; None if they are too many to tell."""
    counts = tuple(-(-length // size) for length, size in zip(array.shape, sizes, strict=True))
    if prod(counts) > MOST_CHUNKS:
        return None
    present = np.zeros(counts, bool)
    folder = array.store.root / array.path
    for place, folders, files in os.walk(folder, followlinks=True):
        base = Path(place).relative_to(folder)
        if not rules.follow_links and any(Path(place, name).is_symlink() for name in (*folders, *files)):
            raise FormatError("a symbolic link is among the chunks of the store; follow_links=True reads it")
        if len(base.parts) > len(counts):
            folders.clear()  # no chunk lies deeper
        for name in files:
            match = _CHUNK_NAME.fullmatch((base / name).as_posix())
            where = tuple(map(int, re.split(r"[/.]", match[1]))) if match else ()
            if len(where) == len(counts) and all(index < count for index, count in zip(where, counts, strict=True)):
                present[where] = True
    return present


def _is_metadata(key: str) -> bool:
    return key.rpartition("/")[2] in _METADATA
