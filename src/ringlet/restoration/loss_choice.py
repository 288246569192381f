"""Which loss restores data, where none is asked for."""

from math import prod

import numpy as np

from ringlet.local.outlier_model import outliers_of_values
from ringlet.sampling import Purpose, draw_entries
from ringlet.sources import Source

__all__ = ["restoring_loss"]

_SAMPLED_ENTRIES = 1 << 17
_LEAST_SHARE = 0.02  # of entries that are wrong and take such values; fewer are e.g. the zeros of counts
_FEWEST = 1500  # observed entries: fewer say little of how frequent values are


def restoring_loss(source: Source) -> str | None:
    """The loss "learned" where some values are far more frequent than those around them, as salt and pepper are.

    None elsewhere, and for data in a store: the solver's own. Wrong entries that take few values are recognised by
    these values.

    Examples
    --------
    >>> from ringlet.sources import as_source
    >>> rng = np.random.default_rng(0)
    >>> x = rng.integers(0, 256, (60, 50, 3)).astype(np.uint8)
    >>> restoring_loss(as_source(x))
    >>> x[rng.random(x.shape) < 0.1] = 255
    >>> restoring_loss(as_source(x))
    'learned'
    """
    if source.chunks is not None or prod(source.shape) < _FEWEST:  # arrays that are no tensors are refused later
        return None
    values, observed = source.read(draw_entries(source, _SAMPLED_ENTRIES, 0, Purpose.SURVEY))
    known = values.ravel() if observed is None else values[observed]
    if known.size < _FEWEST or known.min() == known.max() or not np.isfinite(known).all():
        return None
    model = outliers_of_values(known)
    return "learned" if model.masses[model.atoms].sum() > _LEAST_SHARE else None
