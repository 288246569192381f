"""The verb `restore`: from damaged data to clean data of the same kind, in one call."""

import os
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from ringlet.api import Rank, decompose
from ringlet.checks import check_flag, check_path
from ringlet.errors import ArgumentTypeError, DataWarning, warn
from ringlet.execution import DaskExecutor
from ringlet.restoration.clean_array import CleanArray
from ringlet.restoration.clean_entries import Cleaning
from ringlet.restoration.clean_file import CleanFile
from ringlet.restoration.inputs import ReadOptions, open_input
from ringlet.restoration.preview import Preview, fit_seconds
from ringlet.results.choices import Option, Refinement
from ringlet.results.records import Status
from ringlet.solvers.base import Solver
from ringlet.store.atomic import check_outputs

__all__ = ["restore"]


def restore(
    data_or_path: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    mask: Any = None,
    rank: Rank = "auto",
    solver: Solver | None = None,
    seed: int = 0,
    detail: Option = "auto",
    keep: Option = "auto",
    refine: Refinement = None,
    trust_known: bool = False,
    missing: float | None = None,
    key: str | None = None,
    force: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 1,
    progress: bool = False,
    executor: DaskExecutor | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    sweeps: int | None = None,
    tol: float | None = None,
    loss: str | None = None,
    sigma: str | float | None = None,
    ridge: str | float | None = None,
    smooth: str | float | Mapping[int, float] | None = None,
    time: float | str | None = None,
) -> Any:
    """Fill the missing entries of data and replace the wrong ones.

    A tensor ring is fitted as in `decompose`. Trusted entries are kept. The others are filled by the ring and by detail
    that is predicted from trusted entries nearby. All arguments are checked before the fit begins.

    Parameters
    ----------
    data_or_path : array-like, store or path; integers or floats, at least two modes
        As in `decompose`: an array, or the path of a picture, a video, a folder of frames, an npy, npz, mat, HDF5,
        netCDF, csv or parquet file, or a zarr store. NaN, ``numpy.ma`` masks and the fill values of stores mean
        missing. The data are never changed. A video whose frames take more than 1 GB is decoded into a zarr store
        beside it, once.
    output : path, optional
        The clean file: a picture, a video, .npy, .npz, .mat, .zarr, .h5, .hdf5, .tif, .nc, .csv, .tsv or .parquet; for
        a video or frames also a folder. It is written under a temporary name and then renamed. Pictures and videos need
        data of dtype uint8; a grey png may be uint16. A video keeps its sound and rotation.
    mask : bool array-like, store or path, optional
        True = observed. As a path it is an array file of zeros and ones or a picture, in which dark means missing.
    rank : "auto", int, sequence of int, budget or target
        As in `decompose`.
    solver : solver, optional
        One that fits a ring. By default AWRTRD for small tensors and SAWRTRD for large ones.
    seed : int
        The same seed, data and machine give the same bits.
    detail : {"auto", "always", "never"}
        Whether detail that the ring lacks is added, as predicted from trusted entries nearby. "auto": if this reduces
        the error at known entries that were hidden. "never": the ring alone.
    keep : {"auto", "always", "never"}
        Entries that are observed and trusted. "always": they are not changed. "never": they are replaced by the ring
        and its detail. "auto": they are kept, and their noise is reduced where it can be told from detail. True and
        False mean "always" and "never", here and in `detail`. See `Fit.restored`. Clean data have the dtype of the
        data; whole numbers are rounded and clipped.
    refine : None, "patches" or callable
        Improves the result in several times the time: by groups of similar patches, or by a denoiser of your own, a
        function of an array. See `Fit.restored`.
    trust_known : bool
        True: only missing entries change, whatever `keep` says. For data in which NaN, `mask` or `missing` marks
        everything that is wrong.
    missing : float, optional
        Entries that equal this value are missing, too.
    key : str, optional
        Name of the array, if a file or store has several; ``"run.h5::name"`` means the same. For a long table, the
        columns that are the modes, joined by commas: ``key="sensor,day,hour"``.
    force : bool
        Replace an output that exists, which may be the input itself.
    checkpoint : path, optional
        A folder in which the fit is saved while it runs, and from which it continues, as in `decompose`.
    every : int
        Save the checkpoint after this number of sweeps.
    progress : bool
        Show a progress line.
    executor : DaskExecutor, optional
        A cluster that does the passes over the data, as in `decompose`.
    memory, threads, sweeps, tol, loss, sigma, ridge, smooth, time : optional
        Hyper-parameters of the solver and a limit of time, as in `decompose`. Of `time` a part is kept for what
        follows the fit: 4 microseconds per entry, at most half. With a new `output`, a preview is written to it after a
        tenth of the time; the final result replaces it.

    Returns
    -------
    array, the kind of object that was given, or Fit
        Without `output`: the clean data. An xarray.DataArray or Dataset gives the same kind, with its coordinates,
        attributes and names; a pandas.DataFrame gives a DataFrame with the same rows, columns and dtypes; an array
        of PyTorch, CuPy or JAX gives one on the same device, without a gradient. Everything else gives a NumPy array.
        The entries of a file, a store or a dask array must fit into a quarter of the machine's memory. With `output`:
        the Fit. If the output has replaced the zarr store that was fitted, ``weights`` and ``restored`` of the Fit read
        the clean entries. Ctrl-C stops the fit, and the best ring so far is used. Then ``fit.status`` is INTERRUPTED,
        or a DataWarning is issued if an array is returned.

    Raises
    ------
    OutputExistsError
        The output exists and `force` is false.
    ArgumentError, ArgumentTypeError
        An argument is not allowed; the message names it.
    MissingFileError, FormatError, MissingDependencyError
        A file cannot be read, or needs a library that is not installed.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> x = np.fromfunction(lambda i, j, k: 90 + i + 2 * j + 9 * k, (30, 20, 3)).astype(np.uint8)
    >>> damaged = x.copy()
    >>> damaged[3, 4] = 255                               # wrong
    >>> known = np.ones(x.shape, bool)
    >>> known[8:11, 5:9] = False                          # missing
    >>> clean = ringlet.restore(damaged, mask=known, rank=3)
    >>> clean.dtype, int(np.abs(clean.astype(int) - x).max()) <= 1
    (dtype('uint8'), True)

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder, "damaged.npy"), damaged)
    ...     fit = ringlet.restore(Path(folder, "damaged.npy"), Path(folder, "clean.npy"), mask=known, rank=3)
    ...     bool(np.array_equal(np.load(Path(folder, "clean.npy")), clean))
    True
    >>> fit.ring.rank
    (3, 3, 3)
    """
    cleaning = Cleaning(detail, keep, trust_known, refine)
    check_flag("trust_known", trust_known)
    check_flag("force", force)
    path = None if output is None else _checked_path(output)
    if path is not None:
        check_outputs([path], force=force)  # before the data are opened: decoding a video is work
    given = open_input(data_or_path, ReadOptions(mask, missing, key))
    target = CleanArray(data_or_path, given, cleaning) if path is None else CleanFile(path, given, cleaning, force)
    preview = Preview(target, time) if isinstance(target, CleanFile) and time is not None else None
    fit = decompose(
        given.source,
        rank,
        solver=solver,
        seed=seed,
        callback=preview,
        progress=progress,
        checkpoint=checkpoint,
        every=every,
        executor=executor,
        memory=memory,
        threads=threads,
        sweeps=sweeps,
        tol=tol,
        loss=loss,
        sigma=sigma,
        ridge=ridge,
        smooth=smooth,
        time=fit_seconds(time, prod(given.shape)),
    )
    if isinstance(target, CleanArray):
        if fit.status is Status.INTERRUPTED:  # an array has no status
            warn(
                f"the fit was interrupted after {len(fit.history)} sweeps: the data are those of the best ring so far",
                DataWarning,
            )
        elif fit.status is Status.DISTRUSTED:
            warn(str(fit.status), DataWarning)
        return target.make(fit)
    (target if preview is None else preview.final).write(fit)
    return fit


def _checked_path(output: object) -> Path:
    if not isinstance(output, str | os.PathLike):
        raise ArgumentTypeError(f"output={output!r} is not a path; give e.g. output='clean.npy', or leave it out")
    check_path("output", output)
    return Path(output)
