"""Files that say which entries a fit judged outliers."""

from pathlib import Path

import numpy as np

from ringlet.errors import ArgumentError
from ringlet.report.outliers import outlier_flags, outlier_map, wrong_pixels
from ringlet.report.pictures import draw_outliers
from ringlet.results.fit import Fit
from ringlet.sources.media import import_pillow
from ringlet.sources.stores import import_zarr
from ringlet.store.atomic import atomic_output
from ringlet.store.chunked_outputs import NewArray, write_store
from ringlet.store.outputs import write_array
from ringlet.store.plain_files import write_npy

__all__ = ["OUTLIER_SUFFIXES", "check_outlier_file", "write_outliers"]

OUTLIER_SUFFIXES = (".png", ".npy", ".zarr")


def check_outlier_file(path: Path, *, legend: bool) -> None:
    """Raise an error for a file that could not be written; call it before any work."""
    suffix = path.suffix.lower()
    if suffix not in OUTLIER_SUFFIXES:
        raise ArgumentError(f"cannot write {path}: outliers go to a file of {' '.join(OUTLIER_SUFFIXES)}")
    if legend and suffix != ".png":
        raise ArgumentError(f"legend=True is for a .png file; {path} has none")
    if suffix == ".png":
        import_pillow()
    elif suffix == ".zarr":
        import_zarr()


def write_outliers(fit: Fit, path: Path, *, legend: bool = False, force: bool = False) -> None:
    """Write which entries are outliers, a part at a time.

    Parameters
    ----------
    fit : Fit
    path : Path
        .npy or .zarr: booleans of the data's shape, True = outlier. .png: a picture of height and width, by
        the names of the modes, or of the first two modes; white where any entry of the other modes is an outlier.
    legend : bool
        Draw a .png file for the eye instead: in colours, enlarged, with a legend.
    force : bool
        Replace an existing file.

    Examples
    --------
    >>> import ringlet, tempfile
    >>> x = np.ones((6, 5, 4))
    >>> x[1, 2, 3] = 50.0
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_outliers(ringlet.decompose(x, rank=1), Path(folder, "wrong.npy"))
    ...     np.argwhere(np.load(Path(folder, "wrong.npy"))).tolist()
    [[1, 2, 3]]
    """
    check_outlier_file(path, legend=legend)
    shape, suffix = fit.ring.shape, path.suffix.lower()
    if suffix == ".zarr":
        new = NewArray(shape, np.dtype(np.bool_), fit.chunks, fit.ring.names)
        write_store(path, lambda block: outlier_flags(fit, block), new, force=force)
    elif suffix == ".npy":
        write_npy(path, lambda part: outlier_flags(fit, part), shape, np.bool_, force=force)
    elif legend:
        with atomic_output(path) as temporary:
            draw_outliers(outlier_map(fit)).save(temporary)
    else:
        write_array(path, wrong_pixels(fit), force=force)
