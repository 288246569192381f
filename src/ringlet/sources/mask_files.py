"""Masks from files: which entries of a tensor are known."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.checks import check_path
from ringlet.errors import DataWarning, FormatError, warn
from ringlet.sources.array_files import open_npy, read_array, real_array, shapes_in
from ringlet.sources.chunked import ChunkedSource
from ringlet.sources.groups import dataset_shapes, dataset_source, open_mask
from ringlet.sources.kinds import Kind, kind_of, reading, split_key
from ringlet.sources.limits import ReadRules
from ringlet.sources.mask_values import shape_error, spread, truth_source, truth_values
from ringlet.sources.media import read_image
from ringlet.sources.memory import ArraySource
from ringlet.sources.named_arrays import choose_mask
from ringlet.sources.netcdf_files import open_netcdf
from ringlet.sources.table_files import read_table
from ringlet.sources.tables import table_source
from ringlet.sources.tiff_files import read_tiff

__all__ = ["load_mask"]

_HALF = 0.5  # of white: pixels at least this bright are known
_NEAR = 1 / 8  # of white: black and white as JPEG stores them, apart from edges
_FEW = 0.1  # of the pixels known: the picture may be bright where entries are missing
_GREY_SHARE = 1e-3  # of the pixels: more of neither near black nor near white give a warning


def load_mask(
    path: str | os.PathLike[str],
    shape: tuple[int, ...],
    *,
    max_size: float | str | None = None,
    follow_links: bool = False,
) -> NDArray[np.bool_] | ArraySource | ChunkedSource:
    """Read which entries of a tensor are known.

    Parameters
    ----------
    path : path
        An npy, npz, mat, csv or parquet file, a zarr store, an HDF5 or netCDF file of booleans or zeros and ones;
        or a picture, where pixels of at least half brightness are known. A picture with more than a thousandth of its
        pixels neither near black nor near white gives a DataWarning.
    shape : tuple of int
        The tensor's shape. A mask of only its first modes (at least two), such as ``(height, width)`` for a
        video, holds for all of the others; that in a store must have the same shape.
    max_size, follow_links
        As for `ringlet.sources.files.load`.

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
    check_path("mask", path)
    path, named = split_key(path, None)
    with reading(path):
        kind = kind_of(path)
        if kind in ("video", "frames"):
            raise FormatError("a video cannot be a mask; give a file of an array, a store or a picture")
        if kind in ("zarr", "hdf5", "netcdf", "netcdf3"):
            source = _stored_mask(path, kind, named, ReadRules(max_size, follow_links))
            if source.shape != shape:
                raise shape_error("the mask", source.shape, shape)
            return source
        if kind == "image":
            return spread(_picture_mask(read_image(path, max_size)[0], shape), shape)
        if kind == "tiff":
            stack = real_array(read_tiff(path, ReadRules(max_size, follow_links))[0])
            is_picture = stack.dtype.kind == "u" and stack.max() > 1
            return spread(_picture_mask(stack, shape) if is_picture else truth_values(stack), shape)
        return spread(truth_values(_array(path, kind, named, max_size)), shape)


def _stored_mask(path: Path, kind: Kind, named: str | None, rules: ReadRules) -> ArraySource | ChunkedSource:
    if kind in ("zarr", "hdf5"):
        return open_mask(path, kind, named, rules)
    dataset = open_netcdf(path, kind, rules)
    return truth_source(dataset_source(str(path), dataset, choose_mask(path, dataset_shapes(dataset), named)))


def _array(path: Path, kind: Kind, named: str | None, max_size: float | str | None) -> NDArray[Any]:
    """The numbers of a file that is read at once."""
    if kind == "npy":
        return real_array(open_npy(path))
    if kind in ("csv", "parquet"):
        source = table_source(read_table(path, kind, max_size), "mask")
        assert source is not None  # noqa: S101 - it is a table
        return source.array
    return read_array(path, kind, choose_mask(path, shapes_in(path, kind), named), max_size)


def _picture_mask(picture: NDArray[Any], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    # Zeros and ones count as in other files: programs that store classes write them into pictures, too.
    white = 1 if picture.max() <= 1 else np.iinfo(picture.dtype).max
    if picture.ndim == 3 and picture.shape != shape[:3]:
        picture = picture.max(axis=2)  # one mask of all colours: a pixel of any pure colour is known
    known = np.asarray(picture >= _HALF * white)
    if known.mean() < _FEW:
        warn(
            f"the mask is a picture of which {known.mean():.1%} is bright, which means known; all else is missing. If "
            "it is bright where entries are missing, invert it",
            DataWarning,
        )
    grey = np.mean((picture > _NEAR * white) & (picture < (1 - _NEAR) * white))
    if grey > _GREY_SHARE:
        warn(
            f"the mask is a picture of which {grey:.1%} is neither near black nor near white; pixels of at least half "
            f"brightness were taken as known ({known.mean():.1%}), the others as missing",
            DataWarning,
        )
    return known
