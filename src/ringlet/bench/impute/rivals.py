"""Rivals that fill gaps of tensors, each on a small grid of settings from which the truth chooses.

Nobody has the truth, so every score of these methods is better than what a user would get.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from time import process_time
from typing import TypeAlias

import numpy as np

from ringlet.api import decompose
from ringlet.bench.impute.cases import Outages
from ringlet.bench.rivals.gaps import Array, Mask
from ringlet.bench.rivals.iterative_imputer import iterative_imputer
from ringlet.bench.rivals.knn_imputer import knn_imputer
from ringlet.bench.rivals.libraries import check_installed
from ringlet.bench.rivals.linear_modes import linear_modes
from ringlet.bench.rivals.masked_cp import masked_cp
from ringlet.bench.rivals.pca import pca_path
from ringlet.experiments.journal import Record

__all__ = ["METHODS", "RINGLET", "check_libraries", "measure"]

RINGLET = "ringlet"

Estimates: TypeAlias = Iterator[tuple[str, Array]]  # settings in words, and the whole tensor

_PCA_RANKS = (1, 2, 3, 5, 8, 12, 20, 30)
_PCA_TOL = 5e-5
_CP_RANKS = (3, 10, 25)
_NEAREST = 10  # columns that IterativeImputer predicts one from
_IMPUTER_ROUNDS = 3
_MOST_COLUMNS = 120  # of a table for IterativeImputer, which fits one regression a column and round
_MOST_ROWS = 3000  # of a table for KNNImputer, whose time grows with their square
_NEEDS = {"CP": "tensorly", "IterativeImputer": "sklearn", "KNNImputer": "sklearn"}


def check_libraries(methods: Iterable[str]) -> None:
    """Raise an error for a library that a method needs and that is not installed; call it before any work."""
    check_installed(_NEEDS[method] for method in methods if method in _NEEDS)


def measure(method: str, outages: Outages) -> Record:
    """The NRMSE of a method, its processor seconds, and the settings that the truth has chosen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of data with gaps, and of imputers that did not converge
        return _ringlet(outages) if method == RINGLET else _chosen(METHODS[method], outages)


def _ringlet(outages: Outages) -> Record:
    """`decompose(x)`, without any setting."""
    start = process_time()
    fit = decompose(outages.data)
    seconds = process_time() - start
    rank = list(fit.ring.rank)
    return {"nrmse": outages.score(np.asarray(fit.ring)), "seconds": seconds, "setting": f"rank {rank}"}


def _chosen(method: Callable[[Array, Mask], Estimates], outages: Outages) -> Record:
    """The best of all settings; the seconds are those of one of them, on average."""
    start = process_time()
    observed = np.isfinite(outages.data)
    values = np.where(observed, outages.data, 0.0).astype(np.float64)
    tried = [(outages.score(estimate), setting) for setting, estimate in method(values, observed)]
    seconds = (process_time() - start) / len(tried)
    nrmse, setting = min(tried)
    return {"nrmse": nrmse, "seconds": seconds, "setting": setting, "tried": len(tried)}


def _interpolation(values: Array, observed: Mask) -> Estimates:
    """Linear along one mode; the mean over the modes; all of them by how well each predicts."""
    single = [linear_modes(values, observed, mode=mode) for mode in range(values.ndim)]
    for mode, estimate in enumerate(single):
        yield f"along mode {mode}", estimate
    yield "mean over modes", np.mean(single, axis=0)
    yield "modes weighted", linear_modes(values, observed)


def _pca(values: Array, observed: Mask) -> Estimates:
    """Principal components of every unfolding."""
    for mode, length in enumerate(values.shape):
        most = min(length, values.size // length) // 2
        ranks = [rank for rank in _PCA_RANKS if rank <= most]
        for rank, estimate in zip(ranks, pca_path(values, observed, mode, ranks, tol=_PCA_TOL), strict=True):
            yield f"{rank} components, rows of mode {mode}", estimate


def _cp(values: Array, observed: Mask) -> Estimates:
    """CP decomposition with a mask."""
    for rank in _CP_RANKS:
        yield f"rank {rank}", masked_cp(values, observed, rank=rank)


def _iterative(values: Array, observed: Mask) -> Estimates:
    """IterativeImputer on tables whose columns are one mode, and whose rows are all others."""
    for mode in [mode for mode, length in enumerate(values.shape) if length <= _MOST_COLUMNS]:
        estimate = iterative_imputer(values, observed, mode=mode, rounds=_IMPUTER_ROUNDS, predictors=_NEAREST)
        yield f"columns of mode {mode}", estimate


def _neighbours(values: Array, observed: Mask) -> Estimates:
    """KNNImputer on tables whose rows, or columns, are one mode."""
    for mode, length in enumerate(values.shape):
        if length <= _MOST_ROWS:
            yield f"rows of mode {mode}", knn_imputer(values, observed, mode=mode)
        if values.size // length <= _MOST_ROWS:
            yield f"columns of mode {mode}", knn_imputer(values, observed, mode=mode, columns=True)


METHODS: dict[str, Callable[[Array, Mask], Estimates]] = {
    "interpolation": _interpolation,
    "PCA-EM": _pca,
    "CP": _cp,
    "IterativeImputer": _iterative,
    "KNNImputer": _neighbours,
}
