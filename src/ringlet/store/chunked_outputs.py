"""Writing tensors into zarr stores and HDF5 files, some chunks at a time: the tensor never exists as a whole."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from math import ceil, prod
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.sources.base import Chunks, aligned_blocks
from ringlet.sources.chunked import regular_chunks
from ringlet.sources.stores import import_h5py, import_zarr
from ringlet.store.atomic import atomic_folder, atomic_output, check_outputs
from ringlet.store.plain_files import ForgivingFile, forgiving_file

__all__ = ["ChunkWriter", "NewArray", "default_chunks", "write_store"]

_CHUNK_ENTRIES = 1 << 19


@dataclass(frozen=True)
class NewArray:
    """An array to be created in a store.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
    chunks : tuple of tuples of int, optional
        Lengths of the chunks along every mode, of which the first is used; by default about half a million entries.
    names : sequence of str, optional
        Of the modes.
    attributes : mapping
        Of the array: its unit, how to unpack it.
    key : str, optional
        The array's name; without it a zarr store is the array itself, and in an HDF5 file it is `tensor`.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: Chunks | None = None
    names: Sequence[str] | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    key: str | None = None

    @property
    def chunk_shape(self) -> tuple[int, ...]:
        """Shape of a chunk; the last ones of a mode may be shorter."""
        return default_chunks(self.shape) if self.chunks is None else tuple(lengths[0] for lengths in self.chunks)


def write_store(
    path: str | os.PathLike[str],
    entries: Callable[[tuple[slice, ...]], NDArray[Any]],
    new: NewArray,
    *,
    force: bool = False,
) -> None:
    """Write a tensor to a .zarr store or an .h5 or .hdf5 file, atomically.

    Parameters
    ----------
    path : path
        Ends in .zarr, .h5 or .hdf5.
    entries : callable
        Gives the entries of a block, in the dtype of `new`.
    new : NewArray
    force : bool
        Replace an existing one.

    Examples
    --------
    >>> import tempfile
    >>> x = np.arange(12.0).reshape(3, 4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_store(Path(folder, "x.h5"), x.__getitem__, NewArray(x.shape, x.dtype))
    ...     import h5py
    ...     with h5py.File(Path(folder, "x.h5")) as file:
    ...         print(file["tensor"][1])
    [4. 5. 6. 7.]
    """
    check_outputs([path], force=force)
    create = _zarr_array if Path(path).suffix.lower() == ".zarr" else _hdf5_dataset
    with create(path, new) as array:
        for block in aligned_blocks(regular_chunks(new.shape, new.chunk_shape)):
            array[block] = entries(block)


def default_chunks(shape: Sequence[int]) -> tuple[int, ...]:
    """Chunks that are as cubic as the shape allows.

    Examples
    --------
    >>> default_chunks((1080, 1920, 3, 50))
    (34, 60, 3, 50)
    """
    parts = [1] * len(shape)
    sizes = list(shape)
    while prod(sizes) > _CHUNK_ENTRIES:
        mode = max(range(len(shape)), key=lambda mode: sizes[mode])
        parts[mode] *= 2
        sizes[mode] = ceil(shape[mode] / parts[mode])
    return tuple(sizes)


@contextmanager
def _zarr_array(path: str | os.PathLike[str], new: NewArray) -> Iterator[Any]:
    zarr = import_zarr()
    with atomic_folder(path) as temporary:
        if new.key is not None:
            zarr.create_group(str(temporary), overwrite=True)
        array = zarr.create_array(
            str(temporary),
            name=new.key,
            shape=new.shape,
            chunks=new.chunk_shape,
            dtype=new.dtype,
            dimension_names=new.names,
            attributes=dict(new.attributes),
            overwrite=new.key is None,
            config={"write_empty_chunks": True},  # so that a chunk that is lost later can be told from zeros
        )
        yield ChunkWriter(array)


@dataclass(frozen=True)
class ChunkWriter:
    """A zarr array that is written one chunk after the other.

    Of several at a time zarr goes on to write the others where one has failed, into a folder that is taken away.
    """

    array: Any

    def __setitem__(self, block: tuple[slice, ...], entries: NDArray[Any]) -> None:
        starts = [range(part.start, part.stop, size) for part, size in zip(block, self.array.chunks, strict=True)]
        for corner in product(*starts):
            ends = map(min, map(add, corner, self.array.chunks), (part.stop for part in block))
            cell = tuple(map(slice, corner, ends))
            within = tuple(
                slice(one.start - part.start, one.stop - part.start) for one, part in zip(cell, block, strict=True)
            )
            self.array[cell] = entries[within]


@contextmanager
def _hdf5_dataset(path: str | os.PathLike[str], new: NewArray) -> Iterator[Any]:
    h5py = import_h5py()
    with atomic_output(path) as temporary, forgiving_file(temporary) as plain, h5py.File(plain, "w") as file:
        dataset = file.create_dataset(new.key or "tensor", new.shape, new.dtype, chunks=new.chunk_shape)
        for dimension, name in zip(dataset.dims, new.names or (), strict=False):
            dimension.label = name
        dataset.attrs.update(new.attributes)
        yield _Checked(dataset, plain)


@dataclass(frozen=True)
class _Checked:
    """A dataset whose file tells after every block whether it was written."""

    dataset: Any
    file: ForgivingFile

    def __setitem__(self, block: tuple[slice, ...], entries: NDArray[Any]) -> None:
        self.dataset[block] = entries
        self.file.check()
