"""Which entries of a tensor are known, as a file says it."""

import os
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError, FormatError
from ringlet.sources.array_files import MASK_KEYS, choose_array, mask_key, open_npy, read_array, real_array, shapes_in
from ringlet.sources.chunked import ChunkedSource
from ringlet.sources.kinds import kind_of, reading, split_key
from ringlet.sources.media import read_image
from ringlet.sources.stores import open_array

__all__ = ["load_mask", "spread", "truth_source", "truth_values"]


def load_mask(path: str | os.PathLike[str], shape: tuple[int, ...]) -> NDArray[np.bool_] | ChunkedSource:
    """Read which entries of a tensor are known.

    Parameters
    ----------
    path : path
        An npy, npz or mat file, a zarr store or an HDF5 file of truth values or zeros and ones; or a picture, where
        anything but black is known (a png: the blur of a jpg leaves little black).
    shape : tuple of int
        The tensor's shape. A mask of only its first modes (at least two), such as ``(height, width)`` for a
        video, holds for all of the others; that in a store must have the same shape.

    Returns
    -------
    array of bool with that shape, or a source of them
        True where an entry is known. It may be a read-only view.

    Raises
    ------
    MissingFileError, FormatError
        As for `load`; also for arrays with other values than 0 and 1.
    ArgumentError
        The mask does not have the tensor's shape.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "mask.npy")
    ...     np.save(file, np.eye(2))
    ...     load_mask(file, (2, 2, 3))[..., 0]
    array([[ True, False],
           [False,  True]])
    """
    path, named = split_key(path, None)
    with reading(path):
        kind = kind_of(path)
        if kind in ("video", "frames"):
            raise FormatError("a video cannot be a mask; give a file of an array, a store or a picture")
        if kind == "image":
            return spread(_picture_mask(read_image(path), shape), shape)
        if kind == "npy":
            return spread(truth_values(real_array(open_npy(path))), shape)
        if kind in ("zarr", "hdf5"):
            source, _ = open_array(path, kind, named, MASK_KEYS)
            if source.shape != shape:
                raise _shape_error(source.shape, shape, "")
            return truth_source(source)
        shapes = shapes_in(path, kind)
        key = named or mask_key(shapes) or choose_array(path, shapes, None)
        return spread(truth_values(read_array(path, kind, key)), shape)


def spread(mask: NDArray[np.bool_], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """A mask of the first modes, for all of the others."""
    if mask.shape == shape:
        return mask
    if mask.ndim < 2 or mask.shape != shape[: mask.ndim]:
        raise _shape_error(mask.shape, shape, ", or that of the first modes (two or more)")
    return np.broadcast_to(mask.reshape(mask.shape + (1,) * (len(shape) - mask.ndim)), shape)


def truth_values(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Zeros and ones as truth values.

    Examples
    --------
    >>> truth_values(np.array([0, 1]))
    array([False,  True])
    """
    if values.dtype == bool:
        return values
    truth = values.astype(bool)
    if (truth != values).any():
        raise FormatError("a mask holds truth values, or zeros and ones; this one holds other numbers")
    return truth


def truth_source(mask: ChunkedSource) -> ChunkedSource:
    """A stored mask of zeros and ones as one of truth values; other numbers are found as they are read."""
    return replace(mask, array=_Truth(mask.array), missing=())


@dataclass(frozen=True)
class _Truth:
    """An array of which parts come as truth values."""

    array: Any
    dtype: ClassVar[np.dtype[Any]] = np.dtype(bool)

    def __getitem__(self, block: tuple[slice, ...]) -> NDArray[np.bool_]:
        return truth_values(np.asarray(self.array[block]))


def _picture_mask(picture: NDArray[Any], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    if picture.ndim == 2 or picture.shape == shape[:3]:
        return picture.astype(bool)
    return np.asarray(picture[..., :3].any(axis=2))


def _shape_error(mask: tuple[int, ...], shape: tuple[int, ...], also: str) -> ArgumentError:
    return ArgumentError(f"the mask has shape {mask}, the tensor {shape}; a mask has the same shape{also}")
