"""Writing TIFF stacks, netCDF files and tables: the counterpart of the readers in `ringlet.sources`."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError, OutputError
from ringlet.sources.netcdf_files import import_netcdf
from ringlet.sources.table_files import import_table_library
from ringlet.sources.tables import is_table
from ringlet.sources.tiff_files import TIFF_AXES, import_tifffile
from ringlet.store.atomic import atomic_output
from ringlet.store.plain_files import forgiving_file

__all__ = ["write_labelled", "write_netcdf", "write_table", "write_tiff"]

_LETTERS = {name: letter for letter, name in TIFF_AXES.items()}


def write_labelled(path: Path, array: NDArray[Any], kind: str) -> None:
    """Write an array without any labels as a TIFF file, a netCDF file or a table."""
    if kind == "tiff":
        write_tiff(path, array)
    elif kind == "netcdf":
        write_netcdf(path, import_netcdf().DataArray(array))
    else:
        write_table(path, array, kind)


def write_tiff(path: Path, array: NDArray[Any], names: tuple[str, ...] | None = None) -> None:
    """Write a stack of pictures, with the axes that names of the modes stand for, as `read_tiff` gives them."""
    axes = "".join(_LETTERS.get(name, "") or name.removeprefix("axis ") for name in names or ())
    metadata = {"axes": axes} if len(axes) == array.ndim else None
    colours = axes.endswith("S") and array.shape[-1] in (3, 4)
    with atomic_output(path) as temporary, forgiving_file(temporary) as file:
        import_tifffile().imwrite(
            file, array, photometric="rgb" if colours else "minisblack", metadata=metadata, compression=None
        )


def write_netcdf(path: Path, content: Any, *, version: int = 4) -> None:
    """Write a Dataset or DataArray. Numbers that packed variables cannot hold are clipped to those that they can."""
    xarray = import_netcdf("netcdf3" if version == 3 else "netcdf")
    dataset = content if isinstance(content, xarray.Dataset) else content.to_dataset(name=content.name or "tensor")
    packed = dataset.assign({name: _clipped(array) for name, array in dataset.data_vars.items()})
    with atomic_output(path) as temporary:
        try:
            if version == 3:
                packed.to_netcdf(temporary, engine="scipy", format="NETCDF3_64BIT")
            else:
                _write_netcdf4(temporary, packed, xarray)
        except (TypeError, ValueError) as error:  # attributes and dtypes that the format does not have
            raise OutputError(f"cannot write {path}: {error}") from error


def _write_netcdf4(path: Path, dataset: Any, xarray: Any) -> None:
    """Write through a plain file: HDF5 would end the process on a full disk."""
    import h5netcdf

    with forgiving_file(path) as plain, h5netcdf.File(plain, "w") as file:
        dataset.dump_to_store(xarray.backends.H5NetCDFStore(file))


def write_table(path: Path, content: Any, kind: str) -> None:
    """Write a DataFrame, a Series, or a matrix, as a csv, tsv or parquet file."""
    pandas = import_table_library(kind)
    if isinstance(content, pandas.Series):
        content = content.to_frame("value" if content.name is None else content.name)
    if not is_table(content):
        if content.ndim != 2:
            raise ArgumentError(f"cannot write {path} from shape {content.shape}; a table holds rows x columns")
        content = pandas.DataFrame(content, columns=[str(place) for place in range(content.shape[1])])
    with atomic_output(path) as temporary:
        if kind == "parquet":
            content.to_parquet(temporary, engine="pyarrow")
        else:
            separator = "\t" if path.suffix.lower() == ".tsv" else ","
            content.to_csv(temporary, sep=separator, index=not isinstance(content.index, pandas.RangeIndex))


def _clipped(array: Any) -> Any:
    """A variable whose numbers fit into the integers that it is stored as; others would wrap around."""
    stored = np.dtype(array.encoding.get("dtype", array.dtype))
    if stored.kind not in "iu" or array.dtype.kind != "f":
        return array
    limits = np.iinfo(stored)
    low, high = int(limits.min), int(limits.max)
    fill = array.encoding.get("_FillValue")
    low, high = low + (fill == low), high - (fill == high)  # fill values at an end mean missing
    scale, offset = array.encoding.get("scale_factor", 1), array.encoding.get("add_offset", 0)
    ends = sorted((low * scale + offset, high * scale + offset))
    clipped = array.clip(*ends, keep_attrs=True)
    clipped.encoding = array.encoding
    return clipped
