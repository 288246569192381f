"""The methods that people fill gaps with today, each on a small grid of settings from which the truth chooses.

Nobody has the truth, so every score of these methods is better than what a user would get.
"""

import warnings
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.api import decompose
from ringlet.bench.impute.cases import Outages
from ringlet.bench.peers import import_tensorly
from ringlet.errors import MissingDependencyError
from ringlet.experiments.journal import Record

__all__ = ["METHODS", "RINGLET", "import_imputers", "measure"]

RINGLET = "ringlet"

Array: TypeAlias = NDArray[np.float64]
Estimates: TypeAlias = Iterator[tuple[str, Array]]  # settings in words, and the whole tensor

_PCA_RANKS = (1, 2, 3, 5, 8, 12, 20, 30)
_PCA_ROUNDS, _PCA_TOL = 60, 1e-4
_CP_RANKS = (3, 10, 25)
_CP_ROUNDS = 40
_NEAREST = 10  # columns that IterativeImputer predicts one from
_IMPUTER_ROUNDS = 3
_NEIGHBOURS = (5,)
_MOST_COLUMNS = 120  # of a table for IterativeImputer, which fits one regression a column and round
_MOST_ROWS = 3000  # of a table for KNNImputer, whose time grows with their square


def measure(method: str, outages: Outages) -> Record:
    """The NRMSE of a method, its processor seconds, and the settings that the truth has chosen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of data with gaps, and of imputers that did not converge
        return _ringlet(outages) if method == RINGLET else _chosen(METHODS[method], outages)


def import_imputers() -> tuple[Any, Any]:
    """scikit-learn's IterativeImputer and KNNImputer, or an error that says how to install them."""
    try:
        from sklearn.experimental import enable_iterative_imputer  # noqa: F401
        from sklearn.impute import IterativeImputer, KNNImputer
    except ImportError as error:
        raise MissingDependencyError('the imputers need scikit-learn: pip install "ringlet[sklearn]"') from error
    return IterativeImputer, KNNImputer


def _ringlet(outages: Outages) -> Record:
    """`decompose(x)`, without any setting."""
    start = process_time()
    fit = decompose(outages.data)
    seconds = process_time() - start
    rank = list(fit.ring.rank)
    return {"nrmse": outages.score(np.asarray(fit.ring)), "seconds": seconds, "setting": f"rank {rank}"}


def _chosen(method: Callable[[Array], Estimates], outages: Outages) -> Record:
    """The best of all settings; the seconds are those of one of them, on average."""
    start = process_time()
    tried = [(outages.score(estimate), setting) for setting, estimate in method(outages.data.astype(np.float64))]
    seconds = (process_time() - start) / len(tried)
    nrmse, setting = min(tried)
    return {"nrmse": nrmse, "seconds": seconds, "setting": setting, "tried": len(tried)}


def _interpolation(data: Array) -> Estimates:
    """Linear along one mode, constant beyond the ends; the mean over the modes; fibres without entries by others."""
    single = [_along(data, mode) for mode in range(data.ndim)]
    mean = np.nanmean(single, axis=0)
    mean[np.isnan(mean)] = np.nanmean(data)
    for mode, values in enumerate(single):
        yield f"along mode {mode}", np.where(np.isnan(values), mean, values)
    yield "mean over modes", mean


def _along(data: Array, mode: int) -> Array:
    rows = np.moveaxis(data, mode, -1).copy()
    places = np.arange(data.shape[mode])
    for row in rows.reshape(-1, len(places)):
        known = np.isfinite(row)
        if known.any():
            row[~known] = np.interp(places[~known], places[known], row[known])
    return np.moveaxis(rows, -1, mode)


def _pca(data: Array) -> Estimates:
    """Principal components of an unfolding by expectation maximisation, as DINEOF: ranks grow, gaps are filled anew."""
    for mode in range(data.ndim):
        table = _table(data, mode)
        centre = np.nanmean(table)
        gaps = np.isnan(table)
        filled = np.where(gaps, 0.0, table - centre)
        for rank in [rank for rank in _PCA_RANKS if rank <= min(table.shape) // 2]:
            for _ in range(_PCA_ROUNDS):
                vectors = np.linalg.eigh(filled @ filled.T)[1][:, -rank:]
                model = (vectors @ (vectors.T @ filled))[gaps]
                change = np.linalg.norm(model - filled[gaps])
                filled[gaps] = model
                if change <= _PCA_TOL * np.linalg.norm(model):
                    break
            yield f"{rank} components, rows of mode {mode}", _folded(filled + centre, mode, data.shape)


def _cp(data: Array) -> Estimates:
    """TensorLy's CP decomposition with a mask."""
    known = np.isfinite(data)
    centre, scale = np.nanmean(data), np.nanstd(data) or 1.0
    filled = np.where(known, (data - centre) / scale, 0.0)
    peers = import_tensorly()
    for rank in _CP_RANKS:
        model = peers.parafac(
            filled, rank, n_iter_max=_CP_ROUNDS, init="random", random_state=0, mask=known.astype(float), tol=1e-5
        )
        yield f"rank {rank}", model.to_tensor() * scale + centre


def _iterative(data: Array) -> Estimates:
    """scikit-learn's IterativeImputer on a table whose columns are one mode, and whose rows are all others."""
    imputer, _ = import_imputers()
    for mode in [mode for mode, length in enumerate(data.shape) if length <= _MOST_COLUMNS]:
        made = imputer(max_iter=_IMPUTER_ROUNDS, n_nearest_features=_NEAREST, random_state=0, keep_empty_features=True)
        yield f"columns of mode {mode}", _folded(made.fit_transform(_table(data, mode).T).T, mode, data.shape)


def _neighbours(data: Array) -> Estimates:
    """scikit-learn's KNNImputer on tables whose rows, or columns, are one mode."""
    _, imputer = import_imputers()
    for mode in range(data.ndim):
        table = _table(data, mode)
        for count in _NEIGHBOURS:
            made = imputer(n_neighbors=count, weights="distance", keep_empty_features=True)
            if len(table) <= _MOST_ROWS:
                estimate = made.fit_transform(table)
                yield f"{count} neighbours, rows of mode {mode}", _folded(estimate, mode, data.shape)
            if table.shape[1] <= _MOST_ROWS:
                estimate = made.fit_transform(table.T).T
                yield f"{count} neighbours, columns of mode {mode}", _folded(estimate, mode, data.shape)


METHODS: dict[str, Callable[[Array], Estimates]] = {
    "interpolation": _interpolation,
    "PCA-EM": _pca,
    "CP": _cp,
    "IterativeImputer": _iterative,
    "KNNImputer": _neighbours,
}


def _table(data: Array, mode: int) -> Array:
    """The unfolding with one mode as rows, and all others as columns."""
    return np.moveaxis(data, mode, 0).reshape(data.shape[mode], -1)


def _folded(table: Array, mode: int, shape: tuple[int, ...]) -> Array:
    others = [length for other, length in enumerate(shape) if other != mode]
    return np.moveaxis(table.reshape(shape[mode], *others), 0, mode)
