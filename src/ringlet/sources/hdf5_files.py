"""HDF5 files, read so that a hostile one can neither lead to other files nor fill the memory.

Imported only where h5py is needed.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ringlet.errors import FormatError
from ringlet.sources.absent import with_absent
from ringlet.sources.annotations import ATTRIBUTES, mode_names, told_missing, told_packing, told_units
from ringlet.sources.chunked import ChunkedSource, regular_chunks, row_chunks
from ringlet.sources.inflation import check_inflation
from ringlet.sources.limits import (
    DEFLATE_RATIO,
    LONGEST_HEADER,
    MOST_CHUNKS,
    ReadRules,
    check_claim,
    check_size,
    size_limit,
)
from ringlet.sources.stores import check_open

__all__ = ["check_datasets", "dataset_shapes", "hdf5_source"]

_LABELS = "DIMENSION_LABELS"
_MOST_LINKS = 16  # soft links one behind the other; more run in a circle


def dataset_shapes(file: Any, rules: ReadRules) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
    """Names and shapes of all datasets in a file, and the links to other files by what they lead to.

    A group that links lead to twice, maybe in a circle, is looked at once.
    """
    outside: dict[str, str] = {}
    # Empty datasets have no shape, scalars no modes.
    return {name: tuple(found.shape) for name, found in _datasets(file, rules, outside) if found.shape}, outside


def check_datasets(file: Any, rules: ReadRules) -> None:
    """Refuse a file of which any dataset, or a link, leads to another file, or claims or packs more than is allowed.

    For readers that open all of it. Chunks of what may be in memory are looked at, too, if they could unpack to more.
    """
    outside: dict[str, str] = {}
    for _, dataset in _datasets(file, rules, outside):
        _check_inside(dataset, rules, set())
        _check_claims(dataset, rules)
        if prod(dataset.shape or ()) * dataset.dtype.itemsize <= size_limit(rules.max_size):
            packed = _Hdf5Array(dataset, rules.max_size)
            packed.check_chunks(tuple(slice(0, length) for length in dataset.shape or ()))
    for name, other in outside.items():
        raise FormatError(f"{name} is a link to {other!r}, which is not read; follow_links=True reads it")


def _datasets(file: Any, rules: ReadRules, outside: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """All datasets of a file by their names; links to other files are put into `outside`."""
    seen = {_address(file)}
    waiting = [("", file)]
    while waiting:
        prefix, group = waiting.pop(0)
        for name in sorted(group):
            full = f"{prefix}{name}"
            leads_to = None if rules.follow_links else _outside(group, name)
            if leads_to is not None:
                outside[full] = leads_to
                continue
            member = group.get(name)  # None if it is a link to nowhere
            if isinstance(member, h5py.Group):
                if _address(member) not in seen:
                    seen.add(_address(member))
                    waiting.append((f"{full}/", member))
            elif isinstance(member, h5py.Dataset):
                yield full, member


def _address(thing: Any) -> tuple[int, int]:
    found = h5py.h5o.get_info(thing.id)
    return found.fileno, found.addr


def _outside(group: Any, path: str, links: int = _MOST_LINKS) -> str | None:
    """The other file that a path leads to, or None; links are looked at, not followed."""
    if path.startswith("/"):
        group = group.file
    parts = [part for part in path.split("/") if part not in ("", ".")]
    for number, part in enumerate(parts):
        link = group.get(part, getlink=True) if isinstance(group, h5py.Group) else None
        if isinstance(link, h5py.ExternalLink):
            return str(link.filename)
        if isinstance(link, h5py.SoftLink):
            if not links:
                raise FormatError(f"the links from {path!r} run in a circle")
            return _outside(group, "/".join([link.path, *parts[number + 1 :]]), links - 1)
        if link is None:
            return None  # it leads nowhere
        if number < len(parts) - 1:
            group = group[part]
    return None


def hdf5_source(dataset: Any, rules: ReadRules) -> ChunkedSource:
    """A dataset as a source."""
    _check_inside(dataset, rules, set())
    _check_claims(dataset, rules)
    sizes = dataset.chunks
    attributes = _small_attributes(dataset)
    source = ChunkedSource(
        _Hdf5Array(dataset, rules.max_size),
        regular_chunks(dataset.shape, sizes) if sizes else row_chunks(dataset.shape),
        told_missing(dataset.dtype, attributes, dataset.fillvalue),
        names=mode_names(_labels(attributes.get(_LABELS), len(dataset.shape))),
        units=told_units(attributes),
        packing=told_packing(attributes),
        path=dataset.file.filename,
    )
    if not sizes and rules.absent == "missing":
        return source  # it is stored as a whole
    return with_absent(source, _stored_chunks(dataset), sizes or (), dataset.fillvalue, rules)


def _check_claims(dataset: Any, rules: ReadRules) -> None:
    """Refuse a dataset that claims far more than it holds, or whose chunks are larger than is allowed."""
    itemsize = dataset.dtype.itemsize
    if dataset.shape and not (dataset.is_virtual or dataset.external):
        check_claim(dataset.shape, itemsize, dataset.id.get_storage_size, rules.max_size)
    if dataset.chunks:
        check_size(prod(dataset.chunks) * itemsize, rules.max_size, "a chunk")


def _check_inside(dataset: Any, rules: ReadRules, seen: set[tuple[int, int]]) -> None:
    """Refuse a dataset with entries in other files, unless they are to be read; then all of these must be there."""
    if _address(dataset) in seen:
        return
    seen.add(_address(dataset))
    if dataset.external and not rules.follow_links:
        raise _refusal(dataset.name, "keeps its entries in the file", dataset.external[0][0])
    if not dataset.is_virtual:
        return
    for source in dataset.virtual_sources():
        if source.file_name == ".":
            leads_to = None if rules.follow_links else _outside(dataset.file, source.dset_name)
            if leads_to is not None:
                raise _refusal(dataset.name, "takes its entries from the file", leads_to)
            part = dataset.file.get(source.dset_name)
            if not isinstance(part, h5py.Dataset):
                raise FormatError(f"{dataset.name} takes entries from {source.dset_name}, which is not there")
            _check_inside(part, rules, seen)
        elif not rules.follow_links:
            raise _refusal(dataset.name, "takes its entries from the file", source.file_name)
        elif "%" not in source.file_name:  # a pattern, of which any number of files may be there
            _check_there(dataset, source)


def _check_there(dataset: Any, source: Any) -> None:
    """Refuse a virtual dataset of which a source is gone: HDF5 would read fill values there."""
    folder = Path(dataset.file.filename).parent
    found = next((path for path in (folder / source.file_name, Path(source.file_name)) if path.is_file()), None)
    if found is None:
        raise FormatError(f"{dataset.name} takes entries from the file {source.file_name}, which is not there")
    with h5py.File(found, "r") as file:
        if source.dset_name not in file:
            raise FormatError(f"{dataset.name} takes entries from {source.dset_name} in {found}, which is not there")


def _refusal(name: str, does: str, other: str) -> FormatError:
    return FormatError(f"{name} {does} {other!r}, which is not read; follow_links=True reads it")


def _small_attributes(dataset: Any) -> dict[str, Any]:
    """The attributes that matter, unless they are far larger than any that do."""
    found = {}
    for name in (*ATTRIBUTES, _LABELS):
        if name in dataset.attrs:
            attribute = dataset.attrs.get_id(name)
            if prod(attribute.shape) * attribute.dtype.itemsize > LONGEST_HEADER:
                raise FormatError(
                    f"the attribute {name} has the shape {attribute.shape}; it should be a number or text"
                )
            found[name] = dataset.attrs[name]
    return found


def _labels(found: Any, order: int) -> list[str] | None:
    """Names of the modes from the attribute that holds them: HDF5's own reader of it trusts its type and size."""
    texts = np.asarray(found, object).ravel().tolist()
    if len(texts) != order or not all(isinstance(text, str | bytes) for text in texts):
        return None
    return [text.decode(errors="replace") if isinstance(text, bytes) else text for text in texts]


def _stored_chunks(dataset: Any) -> NDArray[np.bool_] | None:
    """Which chunks are in the file; None if they are too many to tell, or the dataset has none."""
    if not dataset.chunks or dataset.is_virtual:
        return None
    counts = tuple(-(-length // size) for length, size in zip(dataset.shape, dataset.chunks, strict=True))
    if prod(counts) > MOST_CHUNKS:
        return None
    if dataset.id.get_num_chunks() == prod(counts):
        return np.ones(counts, bool)
    present = np.zeros(counts, bool)

    def note(chunk: Any) -> None:
        present[tuple(start // size for start, size in zip(chunk.chunk_offset, dataset.chunks, strict=True))] = True

    dataset.id.chunk_iter(note)
    return present


class _Hdf5Array:
    """A dataset that finds its file again after pickling, and looks at compressed chunks before HDF5 unpacks them."""

    def __init__(self, dataset: Any, max_size: float | str | None = None) -> None:
        self._dataset = dataset
        self._place = str(Path(dataset.file.filename).absolute()), str(dataset.name), max_size
        self.dtype = dataset.dtype
        self._longest = size_limit(max_size) // DEFLATE_RATIO  # bytes that can be unpacked without a look
        self._max_size = max_size
        self._compressed = bool(dataset.chunks) and dataset.compression == "gzip"

    def __getitem__(self, block: tuple[slice, ...]) -> NDArray[Any]:
        check_open("the array", self._dataset)
        self.check_chunks(block)
        part: NDArray[Any] = self._dataset[block]
        return part

    def check_chunks(self, block: tuple[slice, ...]) -> None:
        """Refuse a block of which a compressed chunk unpacks to more than is allowed."""
        if not self._compressed:
            return
        for offset in self._long_chunks:
            ends = (start + size for start, size in zip(offset, self._dataset.chunks, strict=True))
            if all(
                part.start < end and start < part.stop for part, start, end in zip(block, offset, ends, strict=True)
            ):
                _, packed = self._dataset.id.read_direct_chunk(offset)
                check_inflation(packed, self._max_size, f"the chunk at {offset}")

    @cached_property
    def _long_chunks(self) -> list[tuple[int, ...]]:
        """Where the chunks begin that could unpack to more: all at once, for HDF5 looks through all to find one."""
        found = []

        def note(chunk: Any) -> None:
            if chunk.size > self._longest:
                found.append(tuple(chunk.chunk_offset))

        self._dataset.id.chunk_iter(note)
        return found

    def __reduce__(self) -> tuple[Callable[..., "_Hdf5Array"], tuple[Any, ...]]:
        return _reopened, self._place


def _reopened(path: str, name: str, max_size: float | str | None) -> _Hdf5Array:
    return _Hdf5Array(h5py.File(path, "r")[name], max_size)
