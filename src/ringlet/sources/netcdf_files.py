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


def open_netcdf(path: Path, kind: str, max_size: float | str | None = None) -> Any:
    """The Dataset of a file. Packed numbers are unpacked; times stay the numbers that they are in the file.

    Parameters
    ----------
    path : Path
    kind : {"netcdf", "netcdf3"}
    max_size : number or str, optional
        Bytes that the variables may take together, where they are read into memory.
    """
    import_netcdf(kind)
    if kind != "netcdf3":
        try_reading(path, kind, None, ReadRules(max_size))
    opened = open_lazily(path, kind)
    if opened.nbytes > _LOADED_BYTES:
        return opened
    with opened:
        check_size(opened.nbytes, max_size, path)
        return opened.load()


def open_lazily(path: Path, kind: str) -> Any:
    """The Dataset of a file, of which no entries are read yet but those of its coordinates."""
    xarray = import_netcdf(kind)
    if kind != "netcdf3":
        import_h5py().File(path, "r").close()  # a damaged file is an error here; h5netcdf would print one more
    engine = "scipy" if kind == "netcdf3" else "h5netcdf"
    # Bounds and grid mappings become coordinates: they are no data.
    return xarray.open_dataset(path, engine=engine, decode_times=False, decode_coords="all")


def netcdf_tensor(
    path: Path, kind: str, key: str | None, max_size: float | str | None = None
) -> ArraySource | ChunkedSource:
    """The tensor of a file: the variable of that name, the only one, or several of the same dimensions, stacked."""
    return dataset_source(str(path), open_netcdf(path, kind, max_size), key)
