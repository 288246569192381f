"""What a fit gives back."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ringlet.checks import check_number
from ringlet.errors import ArgumentError
from ringlet.ring import TensorRing
from ringlet.robust import Kernel
from ringlet.solvers.fitted_entries import FittedEntries
from ringlet.solvers.records import Status, SweepRecord
from ringlet.solvers.selection import Index, evaluate
from ringlet.sources import Chunks, Source
from ringlet.sources.base import Block

__all__ = ["Estimate", "ExtendOptions", "Extender", "Fit"]

_FDR = 0.01  # the false-discovery rate of outliers, unless one is given


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

    def weights(self, index: Index | tuple[Index, ...] = ...) -> NDArray[np.floating[Any]]:
        """Robust weights of a block of entries, computed on demand.

        Parameters
        ----------
        index : int, slice, Ellipsis, array of int or bool, or a tuple of these
            As in ``ring[index]``; left out, everything.

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
        return self._evaluate(self._entries.weights, index)

    def residuals(self, index: Index | tuple[Index, ...] = ...) -> NDArray[np.float64]:
        """Data minus ring of a block of entries, in the data's units.

        Parameters
        ----------
        index : int, slice, Ellipsis, array of int or bool, or a tuple of these
            As in ``ring[index]``; left out, everything.

        Returns
        -------
        array
            NaN: not observed.
        """
        return self._evaluate(self._entries.residuals, index)

    def zscores(self, index: Index | tuple[Index, ...] = ...) -> NDArray[np.float64]:
        """Residuals of a block of entries over their local scale.

        The scale is a robust standard deviation: a product of one factor for every slice of every mode. It is measured
        once, in a sample of about half a million entries, and is never below the rounding errors of the data.

        Parameters
        ----------
        index : int, slice, Ellipsis, array of int or bool, or a tuple of these
            As in ``ring[index]``; left out, everything.

        Returns
        -------
        array
            NaN: not observed.
        """
        return self._evaluate(self._entries.zscores, index)

    def outliers(self, index: Index | tuple[Index, ...] = ..., fdr: float = _FDR) -> NDArray[np.bool_]:
        """Which entries of a block do not fit the others: the documented way to find anomalies.

        An entry is an outlier if its z-score is too large for the bulk of all z-scores, by the rule of Benjamini and
        Hochberg. Unlike `weights`, by which the fit protects itself, this also finds moderate errors.

        Parameters
        ----------
        index : int, slice, Ellipsis, array of int or bool, or a tuple of these
            As in ``ring[index]``; left out, everything.
        fdr : float, above 0 and below 1
            False-discovery rate: about this share of the outliers found are good entries.

        Returns
        -------
        bool array
            False: good, or not observed.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> rng = np.random.default_rng(0)
        >>> x = np.fromfunction(lambda i, j, k: i + j * k, (20, 15, 10)) + rng.normal(0, 0.1, (20, 15, 10))
        >>> x[1, 2, 3] += 2.0
        >>> fit = ringlet.decompose(x, rank=3)
        >>> np.argwhere(fit.outliers()).tolist()
        [[1, 2, 3]]
        """
        check_number("fdr", fdr, above=0)
        if fdr >= 1:
            raise ArgumentError(f"fdr={fdr!r} is not allowed; it must be below 1")
        return self._evaluate(lambda block: self._entries.outliers(block, float(fdr)), index, np.bool_)

    @property
    def outlier_share(self) -> float:
        """About the share of the observed entries that `outliers` finds; of large data, in a sample of them.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> x = np.ones((6, 5, 4))
        >>> x[1, 2, 3] = 50.0
        >>> round(ringlet.decompose(x, rank=1).outlier_share * x.size)
        1
        """
        return self._entries.residual_model.outlier_share(_FDR)

    def restored(self, index: Index | tuple[Index, ...] = ...) -> NDArray[Any]:
        """A block of the data in which only what is missing or judged an outlier is replaced, by the ring's entries.

        ``ring[index]`` is the model everywhere: smaller than the data, without their noise, and without the detail that
        the rank cannot hold.

        Parameters
        ----------
        index : int, slice, Ellipsis, array of int or bool, or a tuple of these
            As in ``ring[index]``; left out, everything.

        Returns
        -------
        array
            Of the data's dtype: their own entries where the weight is at least 0.5; into whole numbers the others are
            rounded and clipped.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> x = np.ones((6, 5, 4))
        >>> x[1, 2, 3], x[1, 2, 0] = 50.0, np.nan
        >>> fit = ringlet.decompose(x, rank=1)
        >>> fit.restored((1, 2)).round(2)
        array([1., 1., 1., 1.])
        """
        return self._evaluate(self._entries.restored, index, self._source.dtype)

    def _evaluate(
        self,
        compute: Callable[[Block], NDArray[Any]],
        index: Index | tuple[Index, ...],
        dtype: DTypeLike = np.float64,
    ) -> NDArray[Any]:
        return evaluate(compute, index, self.ring.shape, dtype, self.chunks)

    @cached_property
    def _entries(self) -> FittedEntries:
        return FittedEntries(self.ring, self._source, self._kernel)

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
