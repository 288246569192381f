"""The data to fit: an array, or a tensor in a file or store, and which of its entries are missing."""

import os
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf, isnan, prod
from numbers import Real
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ringlet.checks import check_range
from ringlet.errors import ArgumentError, ArgumentTypeError
from ringlet.sources import ArraySource, ChunkedSource, Source, as_source
from ringlet.sources.base import aligned_blocks, slabs
from ringlet.sources.conversion import with_mask, without_value
from ringlet.sources.files import Loaded, load
from ringlet.sources.kinds import Kind, kind_of, reading
from ringlet.sources.media import frame_files, opened_frames
from ringlet.sources.paths import exists
from ringlet.store.frame_cache import cached_frames

__all__ = ["Input", "ReadOptions", "open_input"]

_LARGEST_DECODED = 1 << 30  # bytes; frames that take more go into a cache on disk instead of memory


@dataclass(frozen=True)
class ReadOptions:
    """Which array is meant, and which of its entries are missing.

    Attributes
    ----------
    mask : bool array-like, store or path, optional
        True = observed, as in `ringlet.decompose`.
    missing : float, optional
        Entries that equal it are missing. NaN always means missing.
    key : str, optional
        Name of the array in a file or store of several.
    cache : path, optional
        Folder for the decoded frames of a video or of a folder of frames.
    max_size : number or str, optional
        Bytes that an array, picture or chunk of the file may take in memory; by default a quarter of the machine's.
    follow_links : bool
        Read what a store keeps in other files.
    absent : {"fill", "missing"}
        How chunks are read that a store does not hold.
    """

    mask: Any = None
    missing: float | None = None
    key: str | None = None
    cache: Path | None = None
    max_size: float | str | None = None
    follow_links: bool = False
    absent: Literal["fill", "missing"] = "fill"


@dataclass(frozen=True)
class EntryStatistics:
    """Number of missing entries, and the range of the others (None if there are none)."""

    missing: int
    minimum: float | None
    maximum: float | None


@dataclass(frozen=True, eq=False)
class Input:
    """A tensor to fit, and what its file says about it.

    Attributes
    ----------
    source : ArraySource or ChunkedSource
        The entries, without those that are missing for any reason.
    kind : Kind or None
        Kind of the file; None for data that were given as an array.
    key : str or None
        Name of the array in a file of several.
    frame_rate : Fraction or None
        Frames per second of a video.
    alpha : uint8 array ``(height, width)`` or None
        Opacity of the pixels of a picture; it is not part of the tensor.
    video : Path or None
        The video itself, whose sound and rotation are not part of the tensor.
    frame_names : tuple of str or None
        Names of the files of a folder of frames, without their suffixes; None if two are the same.
    """

    source: ArraySource | ChunkedSource
    kind: Kind | None = None
    key: str | None = None
    frame_rate: Fraction | None = None
    alpha: NDArray[np.uint8] | None = None
    video: Path | None = None
    frame_names: tuple[str, ...] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of every mode."""
        return self.source.shape

    @property
    def nbytes(self) -> int:
        """Bytes of the entries."""
        return prod(self.shape) * self.source.dtype.itemsize

    @cached_property
    def statistics(self) -> EntryStatistics:
        """Statistics from one pass over all entries, a block at a time."""
        missing, low, high = 0, inf, -inf
        for block in _blocks(self.source):
            values, observed = self.source.read(block)
            known = values if observed is None else values[observed]
            missing += values.size - known.size
            if known.size:
                low, high = min(low, _plain(known.min())), max(high, _plain(known.max()))
        return EntryStatistics(missing, low, high) if low <= high else EntryStatistics(missing, None, None)

    @property
    def missing_share(self) -> float:
        """Share of the entries that is missing."""
        return self.statistics.missing / max(1, prod(self.shape))


def open_input(
    data_or_path: Any, options: ReadOptions | None = None, *, largest_decoded: int = _LARGEST_DECODED
) -> Input:
    """Open data and combine everything that says which of their entries are missing.

    Parameters
    ----------
    data_or_path : array-like, store or path
        What `ringlet.decompose` takes as data.
    options : ReadOptions, optional
    largest_decoded : int
        Bytes. Videos and folders of frames whose frames take more are decoded into a cache on disk, not into memory.

    Examples
    --------
    >>> given = open_input(np.eye(3), ReadOptions(missing=0))
    >>> given.shape, given.missing_share.__round__(2)
    ((3, 3), 0.67)
    """
    options = ReadOptions() if options is None else options
    if isinstance(data_or_path, str) and not data_or_path:  # of a variable that is not set; pathlib reads it as "."
        raise ArgumentError("the path of the data is empty; the current folder is '.'")
    if isinstance(data_or_path, str | os.PathLike):
        loaded = _load(Path(data_or_path), options, largest_decoded)
        source = loaded.source if options.mask is None else with_mask(loaded.source, options.mask)
        video = Path(data_or_path) if loaded.kind == "video" else None
        names = _frame_names(Path(data_or_path)) if loaded.kind == "frames" else None
        given = Input(source, loaded.kind, loaded.key, loaded.frame_rate, loaded.alpha, video, names)
    else:
        if options.key is not None:
            raise ArgumentError(f"key={options.key!r} is for files and stores that are given by their path")
        given = Input(as_source(data_or_path, options.mask))
    return given if options.missing is None else _without_value(given, options.missing)


def _without_value(given: Input, missing: float) -> Input:
    if isinstance(missing, bool) or not isinstance(missing, Real):
        raise ArgumentTypeError(f"missing={missing!r} is not a number; entries that equal it count as missing")
    check_range("missing", missing)
    return given if isnan(missing) else replace(given, source=without_value(given.source, missing))


def _load(path: Path, options: ReadOptions, largest_decoded: int) -> Loaded:
    """Open a file: large videos, and those for which a cache is asked for, through their cache."""
    if exists(path) and options.key is None:
        with reading(path):
            kind = kind_of(path)
            moving = kind in ("video", "frames")
            cached = moving and (options.cache is not None or _decoded_bytes(path, kind) > largest_decoded)
        if cached:
            return cached_frames(path, kind, options.cache)
    return load(
        path,
        key=options.key,
        max_size=options.max_size,
        follow_links=options.follow_links,
        absent=options.absent,
    )


def _frame_names(folder: Path) -> tuple[str, ...] | None:
    names = tuple([file.stem for file in frame_files(folder)])
    return names if len({name.casefold() for name in names}) == len(names) else None


def _decoded_bytes(path: Path, kind: Kind) -> int:
    """Bytes of all frames; 0 where the file does not tell."""
    with opened_frames(path, kind) as moving:
        return moving.nbytes or 0


def _plain(number: Any) -> float:
    """Whole numbers stay exact."""
    return int(number) if number.dtype.kind in "iu" else float(number)


def _blocks(source: Source) -> list[tuple[slice, ...]]:
    if 0 in source.shape or not source.shape:
        return []
    return slabs(source.shape) if source.chunks is None else aligned_blocks(source.chunks)
