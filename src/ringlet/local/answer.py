"""Clean data from damaged data and a ring, as one array or block by block."""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.local.model import TRUSTED, Clean, LocalModel, learn
from ringlet.local.outlier_model import OutlierModel
from ringlet.local.window import Entries

__all__ = ["Choice", "answer", "compose", "uses_detail"]

Choice: TypeAlias = Literal["auto", "always", "never"]


def answer(
    entries: Entries,
    *,
    detail: Choice = "auto",
    keep: Choice = "auto",
    outliers: OutlierModel | None = None,
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Restore an array by its ring and the neighbours of every entry.

    Parameters
    ----------
    entries : Entries
        Data and ring, with at least one observed entry.
    detail, keep : {"auto", "always", "never"}
        As in `compose`.
    outliers : OutlierModel, optional
        What wrong values look like; by default it is learned from the data.
    seed : int
        Seed of the entries that are drawn to learn from.

    Returns
    -------
    restored : float64 array
    weights : float32 array
        Probability that an entry is right; 0 where nothing is observed.

    Examples
    --------
    >>> truth = np.add.outer(np.arange(80.0), np.arange(90.0)) ** 2
    >>> damaged = truth.copy()
    >>> damaged[5::7, 3::5] = 0
    >>> restored, weights = answer(Entries(damaged, None, ring=np.full_like(truth, truth.mean())))
    >>> bool(np.mean(weights[5::7, 3::5] < 0.5) > 0.9), bool(abs(restored - truth).max() < truth.max() / 10)
    (True, True)
    """
    model, (clean,) = learn([entries], outliers, seed)
    return compose(entries, clean, model, detail=detail, keep=keep), clean.weights


def compose(
    entries: Entries, clean: Clean, model: LocalModel, *, detail: Choice = "auto", keep: Choice = "auto"
) -> NDArray[np.float64]:
    """Compose restored data.

    Parameters
    ----------
    entries : Entries
    clean : Clean
        The result of the model for the entries.
    model : LocalModel
    detail : {"auto", "always", "never"}
        Whether predictions are ring and detail, or the ring alone. "auto": with detail, if this was nearer to hidden
        entries.
    keep : {"auto", "always", "never"}
        Whether trusted data are kept. "auto": as far as they are right and not noise; "never": predictions everywhere.
    """
    predicted = clean.predicted if uses_detail(detail, model) else entries.ring.astype(np.float64)
    if keep == "never":
        return predicted
    if keep == "always":
        return np.where(clean.weights > TRUSTED, entries.values, predicted)
    return np.where(clean.weights > 0, predicted + clean.shares * (entries.values - predicted), predicted)


def uses_detail(detail: Choice, model: LocalModel) -> bool:
    """Whether predictions are ring and detail."""
    return detail == "always" or (detail == "auto" and model.detail_pays)
