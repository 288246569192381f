"""What a fit gives back."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import nan
from types import EllipsisType
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.checks import check_number
from ringlet.errors import ArgumentError, IndexingError
from ringlet.ring import TensorRing
from ringlet.ring.indexing import are_adjacent
from ringlet.robust import Kernel
from ringlet.solvers.records import Status, SweepRecord
from ringlet.sources import Chunks, Source
from ringlet.sources.dtypes import as_dtype
from ringlet.sources.labels import Labels, labelled

__all__ = ["Estimate", "ExtendOptions", "Extender", "Fit"]

_TRUSTED = 0.5  # the least weight of an entry that is left as it is
Index: TypeAlias = int | slice | EllipsisType | list[int] | NDArray[np.integer[Any]]


@dataclass(frozen=True)
class ExtendOptions:
    """How slices are appended; see `Fit.extend`."""

    mode: int = -1
    seed: int = 0
    refresh: int = 2
    forget: float = 0.0


class Extender(Protocol):
    """What appends slices to the ring of a fit."""

    def extend(self, fit: "Fit", new_slices: Any, mask: Any, options: ExtendOptions) -> "Fit":
        """The fit of the longer ring."""
        ...


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
    missing_share : float
        Share of the data's entries that were missing; NaN of a fit that was extended.
    """

    ring: TensorRing
    status: Status
    history: tuple[SweepRecord, ...]
    _source: Source = field(repr=False)
    _kernel: Kernel = field(repr=False)
    _extender: Extender | None = field(default=None, repr=False)
    missing_share: float = field(default=nan, repr=False)
    _labels: Labels | None = field(default=None, repr=False)

    @cached_property
    def tensor(self) -> NDArray[Any]:
        """The dense estimate, in the data's units: all entries of the ring."""
        return np.asarray(self.ring)

    @property
    def kernel(self) -> Kernel:
        """Loss and width by which entries are weighted, in the data's units."""
        return self._kernel

    @property
    def sigma(self) -> float:
        """The last kernel width, in the data's units; infinite for methods that trust every entry."""
        return self._kernel.width

    @property
    def chunks(self) -> Chunks | None:
        """Lengths of the chunks along every mode, of data in a store; None of data in memory."""
        return self._source.chunks

    @cached_property
    def unlabelled(self) -> "Fit":
        """The same fit, whose methods give NumPy arrays whatever kind of object was fitted."""
        return self if self._labels is None else replace(self, _labels=None)

    def weights(self, index: Index | tuple[Index, ...] = ...) -> Any:
        """Robust weights of a block of entries, computed on demand.

        Parameters
        ----------
        index : ints, slices, Ellipsis and at most one index array
            As in ``ring[index]``.

        Returns
        -------
        array, or the kind of object that was fitted
            1: trusted, 0: judged an outlier, NaN: not observed. See `restored` for the kinds.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> x = np.ones((6, 5, 4))
        >>> x[1, 2, 3] = 50.0
        >>> fit = ringlet.decompose(x, rank=1)
        >>> fit.weights((1, 2)).round(2)
        array([1., 1., 1., 0.])
        """
        chosen = _chosen(index, self.ring.shape)
        _, _, weights = self._judged(chosen.block)
        return labelled(self._labels, chosen.laid_out(weights), index, "scores")

    def restored(self, index: Index | tuple[Index, ...] = ...) -> Any:
        """A block of the data in which only what is missing or judged an outlier is replaced, by the ring's entries.

        ``ring[index]`` is the model everywhere: smaller than the data, without their noise, and without the detail that
        the rank cannot hold.

        Parameters
        ----------
        index : ints, slices, Ellipsis and at most one index array
            As in ``ring[index]``.

        Returns
        -------
        array, or the kind of object that was fitted
            Of the data's dtype: their own entries where the weight is at least 0.5; into whole numbers the others are
            rounded and clipped. An xarray.DataArray or Dataset gives that again, with coordinates, names and
            attributes, also for an index of ints and slices. A pandas.DataFrame without an index gives a DataFrame of
            the same rows. A torch tensor gives a torch tensor.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> x = np.ones((6, 5, 4))
        >>> x[1, 2, 3], x[1, 2, 0] = 50.0, np.nan
        >>> fit = ringlet.decompose(x, rank=1)
        >>> fit.restored((1, 2)).round(2)
        array([1., 1., 1., 1.])
        """
        chosen = _chosen(index, self.ring.shape)
        values, estimate, weights = self._judged(chosen.block)
        restored = np.where(weights >= _TRUSTED, values, as_dtype(estimate, values.dtype))
        return labelled(self._labels, chosen.laid_out(restored), index, "entries")

    def _judged(
        self, block: tuple[slice | NDArray[np.intp], ...]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.floating[Any]]]:
        """Data, ring and weights of a block."""
        values, observed = self._source.read(block)
        estimate = self.ring[block]
        weights = self._kernel.weights(values.astype(np.float64) - estimate)
        return values, estimate, weights if observed is None else np.where(observed, weights, np.nan)

    def extend(
        self,
        new_slices: Any,
        mode: int = -1,
        *,
        mask: Any = None,
        seed: int = 0,
        refresh: int = 2,
        forget: float = 0.0,
    ) -> "Fit":
        """Append slices, e.g. the next frames of a video, without the data of the earlier ones.

        The new slices are first solved with the other cores fixed, by the solver of the fit, with the ridge, smoothness
        and kernel width that were given or that the fit has chosen. Then the other cores move towards them, a little:
        each move weighs what the new slices gain against what all earlier ones lose. Time and memory depend on the size
        of the new slices and on the rank, not on the number of earlier slices, of which only the core itself is copied.

        Parameters
        ----------
        new_slices : array-like or store, as in `decompose`
            Of the fitted shape but for `mode`, which may have any size of at least 1. One slice needs its axis, too:
            ``frame[..., np.newaxis]``. NaN and ``numpy.ma`` masks mean missing. If nothing at all is observed, the last
            slice is repeated, with a DataWarning: a stream survives frames that are lost. Arrays are copied: a buffer
            may be used again.
        mode : int
            The mode that grows; the last by default.
        mask : bool array-like, optional
            Of the shape of `new_slices`, True = observed.
        seed : int
            The same seed, fit, data and machine give the same bits, on any number of threads.
        refresh : int
            Rounds over the other cores. With 0 they keep their bits.
        forget : float, at least 0 and below 1
            Share of their weight that earlier slices lose with every new one that holds data. 0 treats all slices
            alike, as a fit of all of them would; with 0.05 about the last twenty count, and older ones fade.

        Returns
        -------
        Fit
            Of the longer ring. This fit stays as it is. ``weights`` of the new fit are those of `new_slices`, counted
            within the whole ring; data of earlier slices are not held. ``history`` has one record for the first
            solution and one for every refresh.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> wave = np.fromfunction(lambda i, j, t: np.cos(i / 9 + t / 5) + np.sin(j / 7), (20, 15, 12))
        >>> fit = ringlet.decompose(wave[:, :, :10], rank=4, solver=ringlet.AWRTRD(tol=0, sweeps=100))
        >>> for t in (10, 11):
        ...     frame = wave[:, :, t : t + 1].copy()
        ...     frame[3, 4] = 50.0
        ...     fit = fit.extend(frame)
        >>> fit.ring.shape
        (20, 15, 12)
        >>> bool(abs(np.asarray(fit.ring) - wave).max() < 0.01)
        True
        >>> fit.weights((3, slice(3, 6), -1)).round(2)
        array([1., 0., 1.])
        """
        if self._extender is None:
            raise ArgumentError("only fits by AWRTRD and SAWRTRD can be extended; this one is by another solver")
        check_number("seed", seed, at_least=0, whole=True)
        check_number("refresh", refresh, at_least=0, whole=True)
        check_number("forget", forget, at_least=0)
        if forget >= 1:
            raise ArgumentError(f"forget={forget!r} is not allowed; it must be below 1")
        options = ExtendOptions(mode, int(seed), int(refresh), float(forget))
        return self._extender.extend(self, new_slices, mask, options)


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


@dataclass(frozen=True)
class _Chosen:
    """What an index takes.

    Attributes
    ----------
    block : tuple of slices and index arrays
        A full outer selection.
    squeezed : tuple of int
        Axes of it that integers leave to be squeezed.
    leading : int or None
        The axis of an index array that stands apart from an integer: NumPy puts it first.
    """

    block: tuple[slice | NDArray[np.intp], ...]
    squeezed: tuple[int, ...]
    leading: int | None

    def laid_out(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the block, with the axes that NumPy would give them."""
        result = np.asarray(values.squeeze(axis=self.squeezed))
        if self.leading is None:
            return result
        return np.moveaxis(result, self.leading - sum(axis < self.leading for axis in self.squeezed), 0)


def _chosen(index: Index | tuple[Index, ...], shape: tuple[int, ...]) -> _Chosen:
    given = list(index) if isinstance(index, tuple) else [index]
    apart = not are_adjacent(given)
    if any(item is Ellipsis for item in given):
        at = next(position for position, item in enumerate(given) if item is Ellipsis)
        given[at : at + 1] = [slice(None)] * (len(shape) - len(given) + 1)
    given += [slice(None)] * (len(shape) - len(given))
    if len(given) != len(shape) or sum(np.asarray(item).ndim > 0 for item in given if not isinstance(item, slice)) > 1:
        raise _index_error(index, shape)
    block: list[slice | NDArray[np.intp]] = []
    squeezed, leading = [], None
    for axis, (item, length) in enumerate(zip(given, shape, strict=True)):
        if isinstance(item, slice):
            block.append(item)
            continue
        chosen = np.asarray(item, np.intp) if isinstance(item, list) and not item else np.asarray(item)
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
            leading = axis if apart else None
    return _Chosen(tuple(block), tuple(squeezed), leading)


def _index_error(index: object, shape: tuple[int, ...]) -> ArgumentError:
    return ArgumentError(
        f"index={index!r} is not allowed; give at most {len(shape)} ints, slices, an Ellipsis, and one index array"
    )
