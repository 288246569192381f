"""From a fit to a clean file: checked before the work, evaluated a part at a time after it."""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError, DataWarning, warn
from ringlet.solvers.result import Fit
from ringlet.sources import ChunkedSource, Source
from ringlet.sources.array_files import names_in
from ringlet.sources.dtypes import as_dtype
from ringlet.sources.files import Loaded
from ringlet.sources.groups import array_names
from ringlet.sources.kinds import IMAGE_SUFFIXES, Kind
from ringlet.sources.media import import_av, import_pillow
from ringlet.sources.stores import import_h5py, import_zarr
from ringlet.store.atomic import atomic_output, check_outputs, output_target
from ringlet.store.chunked_outputs import write_store
from ringlet.store.outputs import check_kind, check_mat, holds_alpha, write_array, write_video

__all__ = ["check_paths", "check_restored", "write_restored"]

Clean: TypeAlias = Callable[[Any], NDArray[Any]]  # a block of the restored tensor, by its index

_NAMED = {"npz", "mat"}
_PART_ENTRIES = 1 << 22
_DEFAULT_RATE = Fraction(25)  # for videos that come from arrays


def check_paths(paths: Iterable[Path | None], *, force: bool) -> None:
    """Refuse outputs that cannot be written later, or that would overwrite one another."""
    given = [path for path in paths if path is not None]
    targets = [output_target(path) for path in given]
    for number, path in enumerate(given):
        if targets[number] in targets[:number]:
            raise ArgumentError(f"{path} is given for two outputs; choose two paths")
    check_outputs(given, force=force)


def check_restored(path: Path, loaded: Loaded) -> None:
    """Refuse a path that cannot hold the restored tensor in the dtype of the damaged one, or lacks its library."""
    source = loaded.source
    kind = check_kind(path, source.shape)
    if {kind, loaded.kind} in ({"image", "video"}, {"image", "frames"}):
        raise ArgumentError(f"cannot write {path}: a picture gives a picture, a video gives a video")
    if kind in ("image", "video") and not _fits_pixels(path, source):
        raise ArgumentError(
            f"cannot write {path} from entries of dtype {source.dtype}: pictures and videos hold whole "
            "numbers from 0 to 255 (uint8), a grey .png also uint16; write an .npy file"
        )
    _alpha(path, loaded)
    if isinstance(source, ChunkedSource) and source.packing and kind not in ("zarr", "hdf5"):
        told = ", ".join(f"{name} {value}" for name, value in source.packing.items())
        warn(f"{path} holds packed entries, as the input does, but cannot say so: {told}", DataWarning)
    key = _key(kind, loaded)
    if kind == "mat":
        check_mat(path, prod(source.shape) * source.dtype.itemsize, str(key))
    there = array_names(path, kind) if kind in ("zarr", "hdf5") else names_in(path, kind) if kind in _NAMED else []
    others = [name for name in there if name != key]
    if others:
        raise ArgumentError(f"cannot write {path}: other arrays in it would be lost ({', '.join(others)})")
    if kind == "image":
        import_pillow()
    elif kind == "video":
        import_av()
    elif kind == "zarr":
        import_zarr()
    elif kind == "hdf5":
        import_h5py()


def _fits_pixels(path: Path, source: Source) -> bool:
    grey_png = len(source.shape) == 2 and path.suffix.lower() == ".png"
    return source.dtype == np.uint8 or (grey_png and source.dtype == np.uint16)


def write_restored(path: Path, fit: Fit, loaded: Loaded, *, keep: bool, force: bool) -> None:
    """Write the ring of a fit as a file of the kind that the suffix says; with `keep` only where data are not trusted.

    Whole numbers are rounded and clipped to the input's dtype. The tensor never exists in floats as a whole,
    and for videos, npy files and stores not as a whole at all.
    """
    source, dtype, shape = loaded.source, loaded.source.dtype, fit.ring.shape
    clean: Clean = fit.restored if keep else fit.ring.__getitem__
    kind = check_kind(path, shape)
    if kind == "video":
        write_video(path, _frames(clean, shape), loaded.frame_rate or _DEFAULT_RATE, force=force)
    elif kind in ("zarr", "hdf5"):
        write_store(
            path,
            lambda block: as_dtype(clean(block), dtype),
            shape,
            dtype,
            chunks=source.chunks,
            names=source.names,
            attributes=_attributes(source),
            key=_key(kind, loaded),
            force=force,
        )
    elif kind == "npy":
        check_outputs([path], force=force)
        with atomic_output(path) as temporary:
            _fill(np.lib.format.open_memmap(temporary, "w+", dtype, shape), clean)
    else:
        whole = np.empty(shape, dtype)
        _fill(whole, clean)
        write_array(path, whole, key=_key(kind, loaded), alpha=_alpha(path, loaded), force=force)


def _key(kind: Kind, loaded: Loaded) -> str | None:
    """The name of the restored array: as in the input, where both are files of named arrays, or both stores of a kind.

    Otherwise it is `tensor`; of a zarr store None, which then is the array itself.
    """
    if loaded.key is not None and (loaded.kind == kind or {loaded.kind, kind} <= _NAMED):
        return loaded.key
    return None if kind == "zarr" else "tensor"


def _attributes(source: Source) -> dict[str, Any]:
    """What a store is to say of the restored array, as of the damaged one: its unit, or how to unpack it."""
    if isinstance(source, ChunkedSource) and source.packing:
        return dict(source.packing)
    return {} if source.units is None else {"units": source.units}


def _alpha(path: Path, loaded: Loaded) -> NDArray[np.uint8] | None:
    """How opaque the pixels of the restored picture are: as those of the input, and wholly where they were filled."""
    if loaded.alpha is None or path.suffix.lower() not in IMAGE_SUFFIXES:
        return None
    alpha = np.where(loaded.alpha == 0, np.uint8(255), loaded.alpha)
    if holds_alpha(path):
        return alpha
    if alpha.min() < 255:
        raise ArgumentError(f"cannot write {path}: the input has pixels that are half transparent; write a .png file")
    return None


def _fill(target: NDArray[Any], clean: Clean) -> None:
    for part in _parts(target.shape, mode=0):
        target[part] = as_dtype(clean(part), target.dtype)
    if isinstance(target, np.memmap):
        target.flush()


def _frames(clean: Clean, shape: tuple[int, ...]) -> Iterator[NDArray[np.uint8]]:
    """Frames (height, width, 3) of a tensor whose last mode is time."""
    for part in _parts(shape, mode=len(shape) - 1):
        frames = as_dtype(clean((..., part)), np.uint8)
        for t in range(frames.shape[-1]):
            frame = frames[..., t]
            yield frame if frame.ndim == 3 else np.repeat(frame[:, :, None], 3, axis=2)


def _parts(shape: tuple[int, ...], mode: int) -> Iterator[slice]:
    """Consecutive parts of a mode, each with a bounded number of entries."""
    length = shape[mode]
    step = max(1, _PART_ENTRIES * length // prod(shape))
    for start in range(0, length, step):
        yield slice(start, start + step)
