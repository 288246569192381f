"""Zarr caches of large videos and folders of frames, decoded once and reused while the files do not change."""

import hashlib
import os
import re
import warnings
from collections.abc import Iterable
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError, DataWarning, FormatError
from ringlet.sources.files import Loaded
from ringlet.sources.kinds import Kind, is_zarr, reading
from ringlet.sources.limits import ReadRules
from ringlet.sources.media import frame_files, opened_frames
from ringlet.sources.paths import exists, is_folder
from ringlet.sources.stores import import_zarr
from ringlet.store.atomic import atomic_folder
from ringlet.store.chunked_outputs import ChunkWriter
from ringlet.store.locking import one_at_a_time

__all__ = ["cached_frames"]

_VERSION = 3
_LABEL = "ringlet frame cache"
_FRAMES, _SIDE = 8, 128  # of a chunk; 8 frames are in memory while a video is decoded
_FASTEST = 100_000  # frames a second
_RATE = re.compile(r"\d{1,10}(/\d{1,10})?")
_NAMES = ("height", "width", "colour", "frame")


def cached_frames(path: Path, kind: Kind, folder: Path | None = None) -> Loaded:
    """A video or a folder of frames through its cache, which is created if it is missing or belongs to another file.

    If another process is creating it, this one waits.

    Parameters
    ----------
    path : Path
        A video or a folder of pictures.
    kind : {"video", "frames"}
    folder : Path, optional
        Where the cache goes; by default beside the video, under its name with .zarr.

    Raises
    ------
    ArgumentError
        The cache cannot be written, or something else has its name.
    FormatError
        The video cannot be decoded. No cache is left behind.
    """
    import_zarr()
    cache = _cache_path(path, folder)
    with reading(path), one_at_a_time(path):
        identity = _identity(path, kind)
        found = _label(cache)
        whole = _opened(cache, kind) if found is not None and found.get("of") == identity else None
        if whole is None:
            _check_writable(cache, replaces=found is not None)
            _decode(path, kind, cache, identity)
            whole = _opened(cache, kind)
    if whole is None:
        raise FormatError(f"the cache {cache} was damaged while it was written; try again")
    return whole


def _opened(cache: Path, kind: Kind) -> Loaded | None:
    """What a cache holds; None if it is damaged: with a chunk lost, or a label that makes no sense."""
    from ringlet.sources.zarr_files import open_zarr, zarr_source

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DataWarning)  # a chunk is lost
            array = open_zarr(cache, ReadRules())
            source = zarr_source(array, ReadRules())
        rate = array.attrs[_LABEL]["frame_rate"]
        if rate is not None and not _RATE.fullmatch(rate):
            return None
        frame_rate = None if rate is None else Fraction(rate)
    except (DataWarning, ArithmeticError, AttributeError, KeyError, OSError, TypeError, ValueError):
        return None
    if len(source.shape) not in (3, 4) or (frame_rate is not None and not 0 < frame_rate <= _FASTEST):
        return None
    return Loaded(source, kind, frame_rate=frame_rate)


def _cache_path(path: Path, folder: Path | None) -> Path:
    if folder is None:
        return path.absolute().with_name(f"{path.name}.zarr")
    place = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:8]  # others may have the same name
    return folder / f"{path.name}-{place}.zarr"


def _identity(path: Path, kind: Kind) -> str:
    """What changes when the file does, or any of the frames.

    The number of the file and the time of its last change are set by the system alone. So a store that was made
    elsewhere, and came with the video, is not taken for its cache.
    """
    files = [path] if kind == "video" else frame_files(path)
    found = [(file.name, file.stat()) for file in files]
    facts = [(name, fact.st_size, fact.st_mtime_ns, fact.st_ctime_ns, fact.st_ino) for name, fact in found]
    return hashlib.sha256(repr((_VERSION, facts)).encode()).hexdigest()


def _label(cache: Path) -> dict[str, Any] | None:
    """What a cache says of itself; None if there is none, or a store that is not ours."""
    if not is_zarr(cache) or not _is_own(cache):
        return None
    import_zarr()
    from ringlet.sources.zarr_files import open_zarr

    with reading(cache):
        attributes = open_zarr(cache, ReadRules()).attrs.asdict()
    label = attributes.get(_LABEL)
    return label if isinstance(label, dict) else None


def _is_own(cache: Path) -> bool:
    """Whether the folder and its description belong to whoever runs this, so that nobody else has put them there."""
    if not hasattr(os, "geteuid"):
        return True
    return all(path.lstat().st_uid == os.geteuid() for path in (cache, *cache.glob("zarr.json")))


def _check_writable(cache: Path, *, replaces: bool) -> None:
    if exists(cache) and not replaces:
        raise ArgumentError(f"{cache} is in the place of the video's cache and is none; move it, or give --cache DIR")
    if not is_folder(cache.parent):
        reason = "is a file" if exists(cache.parent) else "does not exist; create it first"
        raise ArgumentError(f"cannot write the cache {cache}: its directory {reason}")
    if not os.access(cache.parent, os.W_OK | os.X_OK):
        raise ArgumentError(f"cannot write the cache {cache}: its directory is not writable; give --cache DIR")


def _decode(path: Path, kind: Kind, cache: Path, identity: str) -> None:
    """Write frame after frame, a few at a time."""
    zarr = import_zarr()
    with opened_frames(path, kind) as moving, atomic_folder(cache) as temporary:
        frames = iter(moving.frames)
        first = next(frames, None)
        if first is None:
            raise FormatError("no frame of the video can be decoded")
        sides = tuple(min(_SIDE, side) for side in first.shape[:2])
        array = zarr.create_array(
            str(temporary),
            shape=(*first.shape, 0),
            chunks=(*sides, *first.shape[2:], _FRAMES),
            dtype=first.dtype,
            compressors=[zarr.codecs.ZstdCodec(), zarr.codecs.Crc32cCodec()],  # damage is found as a chunk is read
            dimension_names=_NAMES if first.ndim == 3 else (*_NAMES[:2], _NAMES[3]),
            overwrite=True,
            config={"write_empty_chunks": True},  # so that a chunk that is lost later can be told from black
        )
        batch: list[NDArray[Any]] = []
        for frame in chain([first], frames):
            if frame.shape != first.shape or frame.dtype != first.dtype:
                raise FormatError(
                    f"frame {array.shape[-1] + len(batch)} has another size or dtype than the frames before it"
                )
            batch.append(frame)
            if len(batch) == _FRAMES:
                _append(array, batch)
                batch = []
        if batch:
            _append(array, batch)
        rate = None if moving.rate is None else str(moving.rate)
        array.attrs[_LABEL] = {"version": _VERSION, "of": identity, "frame_rate": rate}


def _append(array: Any, batch: Iterable[NDArray[Any]]) -> None:
    stacked = np.stack(list(batch), axis=-1)
    before = array.shape[-1]
    array.resize((*array.shape[:-1], before + stacked.shape[-1]))
    ChunkWriter(array)[(*(slice(0, length) for length in array.shape[:-1]), slice(before, array.shape[-1]))] = stacked
