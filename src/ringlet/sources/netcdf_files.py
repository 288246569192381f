"""netCDF files as xarray.Datasets: version 3 through SciPy, version 4 through h5netcdf."""

from pathlib import Path
from types import ModuleType
from typing import Any

from ringlet.errors import MissingDependencyError
from ringlet.sources.chunked import ChunkedSource
from ringlet.sources.groups import dataset_source
from ringlet.sources.limits import ReadRules, check_size
from ringlet.sources.memory import ArraySource
from ringlet.sources.stores import import_h5py
from ringlet.sources.trial import try_reading

__all__ = ["import_netcdf", "netcdf_tensor", "open_lazily", "open_netcdf"]

_LOADED_BYTES = 1 << 30  # files up to this size are read at once; of larger ones only parts are in memory


def import_netcdf(kind: str = "netcdf") -> ModuleType:
    """Import xarray with what it needs for a kind of file, or raise an error that says how to install it."""
    try:
        import xarray

        if kind != "netcdf3":
            import h5netcdf  # noqa: F401 - the engine that xarray uses
    except ImportError as error:
        raise MissingDependencyError('netCDF files need xarray and h5netcdf: pip install "ringlet[netcdf]"') from error
    module: ModuleType = xarray
    return module


def open_netcdf(path: Path, kind: str, rules: ReadRules) -> Any:
    """The Dataset of a file. Packed numbers are unpacked; times stay the numbers that they are in the file.

    Parameters
    ----------
    path : Path
    kind : {"netcdf", "netcdf3"}
    rules : ReadRules
        What the file may ask for. The limit of memory is that of all variables, where they are read into memory.
    """
    import_netcdf(kind)
    if kind != "netcdf3":
        try_reading(path, kind, None, rules)
    opened = open_lazily(path, kind, rules)
    if opened.nbytes > _LOADED_BYTES:
        return opened
    with opened:
        check_size(opened.nbytes, rules.max_size, path)
        return opened.load()


def open_lazily(path: Path, kind: str, rules: ReadRules) -> Any:
    """The Dataset of a file, of which no entries are read yet but those of its coordinates."""
    xarray = import_netcdf(kind)
    if kind != "netcdf3":
        h5py = import_h5py()
        from ringlet.sources.hdf5_files import check_datasets

        with h5py.File(path, "r") as file:  # a damaged file is an error here; h5netcdf would print one more
            check_datasets(file, rules)
    # HDF5 files without names of dimensions are read, too.
    engine = {"engine": "scipy"} if kind == "netcdf3" else {"engine": "h5netcdf", "phony_dims": "sort"}
    # Bounds and grid mappings become coordinates: they are no data.
    return xarray.open_dataset(path, decode_times=False, decode_coords="all", **engine)


def netcdf_tensor(path: Path, kind: str, key: str | None, rules: ReadRules) -> ArraySource | ChunkedSource:
    """The tensor of a file: the variable of that name, the only one, or several of the same dimensions, stacked."""
    return dataset_source(str(path), open_netcdf(path, kind, rules), key)
