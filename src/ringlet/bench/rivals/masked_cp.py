"""TensorLy's CP decomposition with a mask."""

import warnings

import numpy as np

from ringlet.bench.rivals.gaps import Array, Mask, held_out, mean_filled
from ringlet.bench.rivals.libraries import library

__all__ = ["masked_cp"]

_RANKS = 1, 2, 4, 8, 16
_ROUNDS = 50


def masked_cp(values: Array, observed: Mask, *, rank: int | None = None) -> Array:
    """``tensorly.decomposition.parafac`` with a mask; without a rank, held-out entries choose one from 1 to 16."""
    return _fitted(values, observed, _rank(values, observed) if rank is None else rank).astype(values.dtype)


def _rank(values: Array, observed: Mask) -> int:
    out = held_out(observed)
    seen = observed & ~out
    best, least = _RANKS[0], np.inf
    if out.any() and seen.any():
        for rank in _RANKS:
            error = float(np.abs(_fitted(values, seen, rank) - values)[out].mean())
            if error >= least:
                break
            best, least = rank, error
    return best


def _fitted(values: Array, observed: Mask, rank: int) -> Array:
    parafac = library("tensorly.decomposition").parafac
    centre = float(values[observed].mean())
    data = mean_filled(values, observed).astype(np.float64) - centre
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # singular steps of a rank that is too large
        factors = parafac(data, rank, mask=observed, init="random", n_iter_max=_ROUNDS, tol=1e-5, random_state=0)
    dense: Array = library("tensorly.cp_tensor").cp_to_tensor(factors)
    return dense + centre
