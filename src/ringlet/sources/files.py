"""Tensors by path: arrays, pictures, videos, folders of frames, stores, netCDF files and tables.

Files may be damaged or hostile: nothing in them is executed, sizes are checked before memory is taken, and
any failure inside a reader becomes a FormatError that names the file.
"""

import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ringlet.checks import check_path
from ringlet.errors import ArgumentError
from ringlet.sources.array_files import check_real, open_npy, read_array, real_array, shapes_in
from ringlet.sources.chunked import ChunkedSource
from ringlet.sources.groups import open_tensor
from ringlet.sources.kinds import Kind, kind_of, reading, split_key
from ringlet.sources.limits import ReadRules
from ringlet.sources.mask_values import spread, truth_values
from ringlet.sources.media import read_frames, read_image
from ringlet.sources.memory import ArraySource
from ringlet.sources.named_arrays import choose_array, mask_beside
from ringlet.sources.netcdf_files import netcdf_tensor
from ringlet.sources.table_files import table_file_source
from ringlet.sources.tiff_files import read_tiff

__all__ = ["Loaded", "load"]

_IMAGE_NAMES = {2: ("height", "width"), 3: ("height", "width", "colour")}
_VIDEO_NAMES = ("height", "width", "colour", "frame")


@dataclass(frozen=True, eq=False)
class Loaded:
    """A tensor from a file, and the metadata of the file.

    Attributes
    ----------
    source : ArraySource or ChunkedSource
        The entries in the file's own dtype (of an npy file a read-only memory map), which of them are known, and the
        names of the modes, where the kind of file has them.
    kind : Kind
        What kind of file it was.
    frame_rate : Fraction or None
        Frames a second, of a video.
    key : str or None
        Name of the array, in a file of several.
    alpha : uint8 array ``(height, width)`` or None
        Opacity of the pixels of a picture, 255 = opaque; None if all are opaque. It is not part of the tensor.
    """

    source: ArraySource | ChunkedSource
    kind: Kind
    frame_rate: Fraction | None = None
    key: str | None = None
    alpha: NDArray[np.uint8] | None = None

    @property
    def array(self) -> NDArray[Any]:
        """The entries; a store is read completely."""
        if isinstance(self.source, ArraySource):
            return self.source.array
        return self.source.read(tuple(slice(0, length) for length in self.source.shape))[0]


def load(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    frames: int | None = None,
    max_size: float | str | None = None,
    follow_links: bool = False,
    absent: Literal["fill", "missing"] = "fill",
) -> Loaded:
    """Open a tensor by its path; what kind of file it is shows in its first bytes, or else in its suffix.

    Parameters
    ----------
    path : path
        An npy, npz, mat (up to version 7), png, jpg, webp, bmp, tif, mp4, mov, mkv, webm, avi, HDF5, netCDF, csv, tsv
        or parquet file, a zarr store or a folder of pictures of one size. ``path::name`` means the array of that name
        in a file of several.
    key : str, optional
        Name of the array, as an alternative to ``path::name``. By default the only one, or the one named `tensor`. Of
        a table the columns that say where an entry is, joined by commas: several of them are the modes.
    frames : int, optional
        Largest number of frames of a video that are read.
    max_size : number or str, optional
        Bytes, such as ``"2GB"``, that the tensor, or one chunk of a store, may take in memory; by default a quarter of
        the machine's. The array of an npy file stays in the file and may be of any size.
    follow_links : bool
        Read what a store keeps in other files: external links and storage of HDF5, virtual datasets, symbolic links.
    absent : {"fill", "missing"}
        Chunks that a store does not hold are read as its fill value, with a warning, or taken as missing.

    Returns
    -------
    Loaded

    Raises
    ------
    MissingFileError
        There is no such file.
    FormatError
        The file is damaged, or of a kind that is not read.
    ArgumentError
        `key` is not in the file, or is needed to choose.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "x.npz")
    ...     np.savez(file, tensor=np.zeros((3, 4), np.uint8), observed=np.ones((3, 4), bool))
    ...     loaded = load(file)
    >>> loaded.array.shape, loaded.key, loaded.source.mask.all()
    ((3, 4), 'tensor', np.True_)
    """
    check_path("path", path)
    path, key = split_key(path, key)
    rules = ReadRules(max_size, follow_links, absent)
    with reading(path):
        kind = kind_of(path)
        if kind in ("zarr", "hdf5"):
            return _load_store(path, kind, key, rules)
        if kind in ("npz", "mat"):
            return _load_named(path, kind, key, max_size)
        if kind in ("netcdf", "netcdf3"):
            source = netcdf_tensor(path, kind, key, rules)
            check_real(source.dtype)
            return Loaded(source, kind, key=key)
        if kind in ("csv", "parquet"):
            return Loaded(table_file_source(path, kind, key, max_size), kind, key=key)
        if key is not None:
            raise ArgumentError(
                f"{path} has no keys; key={key!r} is for npz, mat, netCDF and HDF5 files, zarr groups and tables"
            )
        if kind == "tiff":
            stack, names = read_tiff(path, rules)
            return Loaded(ArraySource(real_array(stack), names=names), kind)
        if kind == "npy":
            return Loaded(ArraySource(real_array(open_npy(path))), kind)
        if kind == "image":
            picture, alpha = read_image(path, max_size)
            # Whatever colour a file holds for a pixel that cannot be seen, it is none.
            seen = None if alpha is None or alpha.all() else spread(alpha > 0, picture.shape)
            return Loaded(ArraySource(picture, seen, names=_IMAGE_NAMES[picture.ndim]), kind, alpha=alpha)
        video, rate = read_frames(path, kind, frames, max_size)
        names = _VIDEO_NAMES if video.ndim == 4 else ("height", "width", "frame")
        return Loaded(ArraySource(video, names=names), kind, frame_rate=rate)


def _load_named(path: Path, kind: Kind, key: str | None, max_size: float | str | None) -> Loaded:
    """An array of an npz or mat file, with an array beside it that says what is known, if there is one."""
    shapes = shapes_in(path, kind)
    key = choose_array(path, shapes, key)
    observed, beside = None, mask_beside(shapes, key)
    if beside is not None:
        observed = spread(truth_values(read_array(path, kind, beside, max_size)), shapes[key])
    return Loaded(ArraySource(read_array(path, kind, key, max_size), observed), kind, key=key)


def _load_store(path: Path, kind: Kind, key: str | None, rules: ReadRules) -> Loaded:
    """An array of a zarr store or an HDF5 file, with a mask beside it, if there is one."""
    source, key = open_tensor(path, kind, key, rules)
    check_real(source.dtype)
    return Loaded(source, kind, key=key)
