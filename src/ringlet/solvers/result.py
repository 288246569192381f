"""What a fit gives back."""

from dataclasses import dataclass, field
from functools import cached_property
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError, IndexingError
from ringlet.ring import TensorRing
from ringlet.robust import Kernel
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
    """

    ring: TensorRing
    status: Status
    history: tuple[SweepRecord, ...]
    _source: Source = field(repr=False)
    _kernel: Kernel = field(repr=False)

    @property
    def sigma(self) -> float:
        """The last kernel width, in the data's units; infinite for methods that trust every entry."""
        return self._kernel.width

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
        weights = self._kernel.weights(values.astype(np.float64) - self.ring[block])
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
    if len(given) != len(shape) or sum(np.asarray(item).ndim > 0 for item in given if not isinstance(item, slice)) > 1:
        raise _index_error(index, shape)
    block: list[slice | NDArray[np.intp]] = []
    squeezed = []
    for axis, (item, length) in enumerate(zip(given, shape, strict=True)):
        if isinstance(item, slice):
            block.append(item)
            continue
        chosen = np.asarray(item)
        if chosen.dtype == np.bool_ and chosen.shape == (length,):
            chosen = np.flatnonzero(chosen)
        if chosen.dtype.kind not in "iu" or chosen.ndim > 1:
            raise _index_error(index, shape)
        if chosen.size and not (-length <= chosen.min() and chosen.max() < length):
            raise IndexingError(f"index {item} is out of range for mode {axis}, which has {length} entries")
        positions = np.arange(length)[chosen]
        if chosen.ndim == 0:
            squeezed.append(axis)
            block.append(slice(int(positions), int(positions) + 1))
        else:
            block.append(positions)
    return tuple(block), tuple(squeezed)


def _index_error(index: object, shape: tuple[int, ...]) -> ArgumentError:
    return ArgumentError(
        f"index={index!r} is not allowed; give at most {len(shape)} ints, slices, an Ellipsis, and one index array"
    )
