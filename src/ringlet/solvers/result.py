"""What a fit gives back."""

from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from operator import index as index_of
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError
from ringlet.ring import TensorRing
from ringlet.robust import LOSSES
from ringlet.solvers.driver import SweepRecord
from ringlet.solvers.status import Status
from ringlet.sources import Source

__all__ = ["Estimate", "Fit"]

Index: TypeAlias = int | slice | EllipsisType | list[int] | NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Fit:
    """A fitted ring, how the fit went, and which entries of the data it trusts.

    Attributes
    ----------
    ring : TensorRing
        In the data's units.
    status : Status
        How the fit ended; its text is advice.
    history : tuple of SweepRecord
        One record a sweep.
    sigma : float
        The last kernel width, in the data's units.
    """

    ring: TensorRing
    status: Status
    history: tuple[SweepRecord, ...]
    sigma: float
    _source: Source = field(repr=False)
    _loss: str = field(repr=False)

    def weights(self, index: Index | tuple[Index, ...] = ...) -> NDArray[np.floating[Any]]:
        """Robust weights of a block of entries, computed on demand.

        Parameters
        ----------
        index : ints, slices, Ellipsis and at most one index array
            As in ``ring[index]``.

        Returns
        -------
        array
            1: trusted, 0: judged an outlier, NaN: not observed.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> x = np.ones((6, 5, 4))
        >>> x[1, 2, 3] = 50.0
        >>> fit = ringlet.decompose(x, rank=1)
        >>> fit.weights((1, 2)).round(2)
        array([1., 1., 1., 0.])
        """
        block, squeezed = _as_block(index, self.ring.shape)
        values, observed = self._source.read(block)
        residuals = values.astype(self.ring.dtype) - self.ring[block]
        weights: NDArray[np.floating[Any]] = np.ones_like(residuals)
        if self.sigma < inf:
            LOSSES[self._loss].weight(residuals, self.sigma, weights)
        if observed is not None:
            weights = np.where(observed, weights, np.nan)
        return np.asarray(weights.squeeze(axis=squeezed))


@dataclass(frozen=True)
class Estimate:
    """A completed tensor, from a method with or without a ring.

    Attributes
    ----------
    ring : TensorRing or None
    status : Status
    history : tuple of SweepRecord
    """

    ring: TensorRing | None
    status: Status
    history: tuple[SweepRecord, ...]
    _dense: NDArray[Any] | None = field(default=None, repr=False)

    @cached_property
    def tensor(self) -> NDArray[Any]:
        """The dense estimate, in the data's units."""
        return np.asarray(self.ring) if self._dense is None else self._dense


def _as_block(
    index: Index | tuple[Index, ...], shape: tuple[int, ...]
) -> tuple[tuple[slice | NDArray[np.intp], ...], tuple[int, ...]]:
    """A full outer selection for an index, and the axes that integers leave to be squeezed."""
    given = list(index) if isinstance(index, tuple) else [index]
    if any(item is Ellipsis for item in given):
        at = next(position for position, item in enumerate(given) if item is Ellipsis)
        given[at : at + 1] = [slice(None)] * (len(shape) - len(given) + 1)
    given += [slice(None)] * (len(shape) - len(given))
    if len(given) != len(shape) or sum(isinstance(item, np.ndarray | list) for item in given) > 1:
        raise ArgumentError(
            f"index={index!r} is not allowed; give at most {len(shape)} ints, slices, an Ellipsis, and one index array"
        )
    block: list[slice | NDArray[np.intp]] = []
    squeezed = []
    for axis, (item, length) in enumerate(zip(given, shape, strict=True)):
        if isinstance(item, slice):
            block.append(item)
        elif isinstance(item, np.ndarray | list):
            block.append(np.arange(length)[item])
        else:
            at = range(length)[index_of(item)]  # type: ignore[arg-type]
            block.append(slice(at, at + 1))
            squeezed.append(axis)
    return tuple(block), tuple(squeezed)
