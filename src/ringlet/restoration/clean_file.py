"""From a fit to a clean file: checked before the fit, written a part at a time after it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError, DataWarning, warn
from ringlet.restoration.clean_entries import (
    CleanEntries,
    Cleaning,
    clean_entries,
    fill,
    in_any_order,
    parts,
    ring_entries,
)
from ringlet.restoration.inputs import Input
from ringlet.results.fit import Fit
from ringlet.ring import TensorRing
from ringlet.sources import ChunkedSource, Source
from ringlet.sources.array_files import names_in
from ringlet.sources.groups import array_names
from ringlet.sources.kinds import IMAGE_SUFFIXES, Kind
from ringlet.sources.labels import Labels, labelled
from ringlet.sources.media import import_av, import_pillow
from ringlet.sources.netcdf_files import import_netcdf
from ringlet.sources.stores import import_h5py, import_zarr
from ringlet.sources.table_files import TableFileLabels, import_table_library
from ringlet.sources.tables import TableLabels
from ringlet.sources.tiff_files import import_tifffile
from ringlet.sources.xarray_labels import DataArrayLabels, DatasetLabels
from ringlet.store.atomic import check_outputs
from ringlet.store.chunked_outputs import NewArray, write_store
from ringlet.store.labelled_outputs import write_netcdf, write_table, write_tiff
from ringlet.store.outputs import check_kind, check_mat, holds_alpha, write_array, write_frames
from ringlet.store.plain_files import write_npy
from ringlet.store.video_outputs import write_video

__all__ = ["CleanFile"]

_NAMED = {"npz", "mat"}
_DEFAULT_RATE = Fraction(25)  # frames per second, of videos that come from arrays
_LIBRARIES: dict[Kind, Callable[[], Any]] = {
    "image": import_pillow,
    "frames": import_pillow,
    "video": import_av,
    "zarr": import_zarr,
    "hdf5": import_h5py,
    "tiff": import_tifffile,
    "netcdf": import_netcdf,
    "csv": partial(import_table_library, "csv"),
    "parquet": partial(import_table_library, "parquet"),
}


@dataclass(frozen=True, eq=False)
class CleanFile:
    """The file that restored data go to. One that could not hold them is refused when the object is made.

    Attributes
    ----------
    path : Path
        Its suffix says the kind of file.
    given : Input
        The damaged data. The file gets their dtype, and their names, units and frame rate where it can hold these.
    cleaning : Cleaning
        How restored data follow from the fit.
    force : bool
        Replace a file that exists.
    """

    path: Path
    given: Input
    cleaning: Cleaning = field(default_factory=Cleaning)
    force: bool = False

    def __post_init__(self) -> None:
        check_outputs([self.path], force=self.force)
        self._check_pixels()
        _alpha(self.path, self.given)
        self._check_names()
        self._check_table()
        if self._version == 3:
            import_netcdf("netcdf3")
        elif self.kind in _LIBRARIES:
            _LIBRARIES[self.kind]()  # a missing library is an error now, not after the fit
        source = self.given.source
        if isinstance(source, ChunkedSource) and source.packing and self.kind not in ("zarr", "hdf5"):
            told = ", ".join(f"{name} {value}" for name, value in source.packing.items())
            warn(f"{self.path} holds packed entries, as the input does, but not their attributes: {told}", DataWarning)

    @property
    def kind(self) -> Kind:
        """The kind of file that the suffix stands for."""
        return check_kind(self.path, self.given.shape)

    @property
    def key(self) -> str | None:
        """Name of the restored array: as in the input, if both are npz or mat files, or both stores of one kind.

        Otherwise it is `tensor`; a zarr store then is the array itself, without a name.
        """
        kind, given = self.kind, self.given
        if given.key is not None and (given.kind == kind or {given.kind, kind} <= _NAMED):
            return given.key
        return None if kind == "zarr" else "tensor"

    def write(self, fit: Fit) -> None:
        """Write the restored data, whole or not at all.

        The tensor never exists in floats as a whole; for videos, npy files and stores it never is in memory as a whole.
        """
        entries = clean_entries(fit, self.given.source, self.cleaning)
        with in_any_order(fit, entries, self.cleaning, self.path.absolute().parent) as ready:
            self._write(ready, fit.ring.shape)

    def write_preview(self, ring: TensorRing) -> None:
        """Write the data as a ring restores them before its fit has ended; nothing is judged an outlier yet."""
        self._write(ring_entries(ring, self.given.source, keep_known=self.cleaning.trust_known), ring.shape)

    def replacing(self) -> "CleanFile":
        """The same file, where there is one already."""
        return replace(self, force=True)

    def _write(self, entries: CleanEntries, shape: tuple[int, ...]) -> None:
        source, kind = self.given.source, self.kind
        if kind == "video":
            write_video(
                self.path,
                _in_colour(_frames(entries, shape)),
                self.given.frame_rate or _DEFAULT_RATE,
                like=self.given.video,
                force=self.force,
            )
        elif kind in ("zarr", "hdf5"):
            new = NewArray(shape, source.dtype, source.chunks, source.names, _attributes(source), self.key)
            write_store(self.path, entries, new, force=self.force)
        elif kind == "npy":
            write_npy(self.path, entries, shape, source.dtype, force=self.force)
        elif kind == "frames":
            write_frames(self.path, _frames(entries, shape), names=self.given.frame_names, force=self.force)
        else:
            whole = np.empty(shape, source.dtype)
            fill(whole, entries)
            self._write_whole(whole)

    def _write_whole(self, whole: NDArray[Any]) -> None:
        """Write restored data that are in memory, to a kind of file that is written at once."""
        kind, source = self.kind, self.given.source
        check_outputs([self.path], force=self.force)
        if kind == "tiff":
            write_tiff(self.path, whole, source.names)
        elif kind == "netcdf":
            labels = source.labels if isinstance(source.labels, DataArrayLabels | DatasetLabels) else None
            content = labelled(labels, whole, ..., "entries") if labels else _data_array(whole, source)
            write_netcdf(self.path, content, version=self._version)
        elif kind in ("csv", "parquet"):
            write_table(self.path, labelled(self._table_labels, whole, ..., "entries"), kind)
        else:
            write_array(self.path, whole, key=self.key, alpha=_alpha(self.path, self.given), force=self.force)

    @property
    def _version(self) -> int:
        """That of a netCDF file: the version of the input, or 4."""
        return 3 if (self.kind, self.given.kind) == ("netcdf", "netcdf3") else 4

    @property
    def _table_labels(self) -> Labels | None:
        labels = self.given.source.labels
        return labels if isinstance(labels, TableLabels | TableFileLabels) else None

    def _check_table(self) -> None:
        """Refuse a table of data that are neither a table nor a matrix."""
        if self.kind in ("csv", "parquet") and self._table_labels is None and len(self.given.shape) != 2:
            raise ArgumentError(
                f"cannot write {self.path} from shape {self.given.shape}; a table holds rows x columns, or what was "
                "read from a table"
            )

    def _check_pixels(self) -> None:
        """Refuse a picture or video of another kind of data, or of a dtype that pixels do not have."""
        path, kind, dtype = self.path, self.kind, self.given.source.dtype
        if kind == "frames" and self.given.kind not in ("frames", "video"):
            raise ArgumentError(
                f"cannot write {path}: the suffix must be one of a file, as .npy; a folder, which has none, takes the "
                "frames of a video or of another such folder"
            )
        if {kind, self.given.kind} in ({"image", "video"}, {"image", "frames"}):
            raise ArgumentError(f"cannot write {path}: a picture gives a picture, a video gives a video")
        grey_png = len(self.given.shape) == (3 if kind == "frames" else 2) and path.suffix.lower() in (".png", "")
        if kind in ("image", "video", "frames") and dtype != np.uint8 and not (grey_png and dtype == np.uint16):
            raise ArgumentError(
                f"cannot write {path} from entries of dtype {dtype}: pictures and videos hold whole "
                "numbers from 0 to 255 (uint8), a grey .png also uint16; write an .npy file"
            )

    def _check_names(self) -> None:
        """Refuse a name or a size that a mat file cannot hold, and files with other arrays, which would be lost."""
        path, kind, key = self.path, self.kind, self.key
        if kind == "mat":
            check_mat(path, self.given.nbytes, str(key))
        there = array_names(path, kind) if kind in ("zarr", "hdf5") else names_in(path, kind) if kind in _NAMED else []
        others = [name for name in there if name != key]
        if others:
            raise ArgumentError(f"cannot write {path}: other arrays in it would be lost ({', '.join(others)})")


def _data_array(whole: NDArray[Any], source: Source) -> Any:
    """Data that come from no xarray object, as a DataArray named `tensor`."""
    attributes = {} if source.units is None else {"units": source.units}
    return import_netcdf().DataArray(whole, dims=source.names, attrs=attributes, name="tensor")


def _attributes(source: Source) -> dict[str, Any]:
    """Attributes of the restored array in a store, as of the damaged one: its unit, or how to unpack it."""
    if isinstance(source, ChunkedSource) and source.packing:
        return dict(source.packing)
    return {} if source.units is None else {"units": source.units}


def _alpha(path: Path, given: Input) -> NDArray[np.uint8] | None:
    """Opacity of the restored picture: that of the input, and full where transparent pixels were filled."""
    if given.alpha is None or path.suffix.lower() not in IMAGE_SUFFIXES:
        return None
    alpha = np.where(given.alpha == 0, np.uint8(255), given.alpha)
    if holds_alpha(path):
        return alpha
    if alpha.min() < 255:
        raise ArgumentError(f"cannot write {path}: the input has pixels that are half transparent; write a .png file")
    return None


def _frames(entries: CleanEntries, shape: tuple[int, ...]) -> Iterator[NDArray[np.uint8]]:
    """Frames of a tensor whose last mode is time."""
    for part in parts(shape, mode=len(shape) - 1):
        frames = entries((..., part))
        yield from np.moveaxis(frames, -1, 0)


def _in_colour(frames: Iterator[NDArray[np.uint8]]) -> Iterator[NDArray[np.uint8]]:
    """Frames (height, width, 3), also of grey ones."""
    for frame in frames:
        yield frame if frame.ndim == 3 else np.repeat(frame[:, :, None], 3, axis=2)
