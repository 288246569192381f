"""The results of fits: `Fit` and `Estimate`."""

import os
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite, log10, nan
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ringlet.amounts import percent
from ringlet.checks import check_number
from ringlet.errors import ArgumentError
from ringlet.float_errors import usual_float_errors
from ringlet.results.entry_views import EntryViews
from ringlet.results.fitted_entries import FittedEntries
from ringlet.results.local_entries import HonestRing, LocalEntries, entries_within
from ringlet.results.path_plot import plot_path
from ringlet.results.records import Rung, Status, SweepRecord
from ringlet.results.summary import Facts, card, history_facts, line, size_fact
from ringlet.ring import TensorRing
from ringlet.robust import Kernel
from ringlet.sources import Chunks, Source
from ringlet.sources.labels import Labels

__all__ = ["Estimate", "ExtendOptions", "Extender", "Fit", "HonestRing"]


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
        """The fit with the longer ring."""
        ...


@dataclass(frozen=True, repr=False)
class Fit(EntryViews):
    """A fitted ring, how the fit went, and which entries of the data it trusts.

    Attributes
    ----------
    ring : TensorRing
        In the data's units.
    status : Status
        How the fit ended; its text is advice.
    history : tuple of SweepRecord
        One record for every sweep; the time and the error of another path of small data are in the record of one sweep.
    missing_share : float
        Share of the data's entries that were missing; NaN after `extend`.
    path : tuple of Rung
        The rings that an automatic fit went through, in order: rank, parameters, validation error, seconds. Empty if
        the rank was given.

    Examples
    --------
    >>> import ringlet
    >>> x = np.fromfunction(lambda i, j, k: np.cos(i / 5 + j / 4) + k, (12, 10, 6))
    >>> x[2, 3, 4] = 99.0
    >>> fit = ringlet.decompose(x, rank=3)
    >>> fit.status.name, fit.ring.rank, np.argwhere(fit.outliers()).tolist()
    ('CONVERGED', (3, 3, 3), [[2, 3, 4]])
    """

    ring: TensorRing
    status: Status
    history: tuple[SweepRecord, ...]
    _source: Source
    _kernel: Kernel
    _extender: Extender | None = None
    missing_share: float = nan
    _labels: Labels | None = None
    path: tuple[Rung, ...] = ()
    _honest: HonestRing | None = None
    _learned: bool = False  # whether entries are judged by their neighbours, not by the kernel
    _threads: int | None = None  # None: one for every core
    _memory: int | None = None  # bytes that work on neighbours may take; None: about 0.4 GB

    def __repr__(self) -> str:
        return line("Fit", self._facts())

    def _repr_html_(self) -> str:
        return card("Fit", self._facts(), self.history)

    def _facts(self) -> Facts:
        """The facts of a summary. Data in a store are not read for it."""
        facts = _model_facts(self.ring.shape, self.ring, self.status)
        facts += [*history_facts(self.history), size_fact(self.ring.nbytes, self.data_bytes)]
        if isfinite(self.validation):
            units = "" if self.ring.units is None else f" {self.ring.units}"
            facts.append(("validation error", f"{self.validation:.3g}{units}"))
        if self.chunks is None:
            facts.append(("judged wrong", percent(self.outlier_share)))
        return facts

    @property
    def data_bytes(self) -> int:
        """Bytes of the data. After `extend`: bytes that all slices would take in the dtype of the data."""
        return self.ring.size * self._source.dtype.itemsize

    @property
    def validation(self) -> float:
        """Estimated root mean square error at entries that were not used, in the data's units.

        Measured at entries that the fit holds out. NaN if it holds none out: if both rank and `smooth` are given.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> x = np.add.outer(np.sin(np.arange(40) / 9), np.cos(np.arange(50) / 7))
        >>> x += np.random.default_rng(0).normal(0, 0.1, x.shape)
        >>> bool(0.08 < ringlet.decompose(x).validation < 0.14)
        True
        """
        known = [record.held_out for record in self.history if isfinite(record.held_out)]
        return known[-1] if known else nan

    @property
    @usual_float_errors()
    def validation_db(self) -> float:
        """`validation` as a peak signal-to-noise ratio in dB; the peak is the range of the data, outliers left out."""
        data_range = self._entries.residual_model.data_range
        if not (isfinite(self.validation) and data_range > 0):
            return nan
        return inf if self.validation == 0 else 20 * log10(data_range / self.validation)

    @property
    @usual_float_errors()
    def explained_share(self) -> float:
        """Share of the data's variance that the ring predicts at entries that were not used, at least 0.

        Outliers are left out. NaN if nothing is held out. A small share means that the data are not of low rank, or
        that they are mostly noise: a method that uses neighbours only may be as good.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> waves = np.sin(np.add.outer(np.arange(40) / 9, np.arange(50) / 7))
        >>> round(ringlet.decompose(waves).explained_share, 3)
        1.0
        """
        deviation = self._entries.residual_model.deviation
        if not (isfinite(self.validation) and deviation > 0):
            return nan
        return max(0.0, 1 - (self.validation / deviation) ** 2)

    def plot_path(self, axes: Any = None) -> Any:
        """Draw the validation error of every rung of `path` over its size, and return Matplotlib's axes.

        Parameters
        ----------
        axes : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> fit = ringlet.decompose(np.add.outer(np.sin(np.arange(40) / 9), np.cos(np.arange(50) / 7)))
        >>> fit.plot_path().get_ylabel()
        'validation error'
        """
        return plot_path(self.path, self.ring.units, axes)

    @cached_property
    def tensor(self) -> NDArray[Any]:
        """The dense estimate, in the data's units: all entries of the ring, an array of the library of its cores."""
        return np.asarray(self.ring) if self.ring.place is None else self.ring[...]

    @property
    def kernel(self) -> Kernel:
        """Loss and width that give entries their weights, in the data's units."""
        return self._kernel

    @property
    def sigma(self) -> float:
        """The last kernel width, in the data's units; infinite for methods that trust every entry."""
        return self._kernel.width

    @property
    def chunks(self) -> Chunks | None:
        """Lengths of the chunks along every mode, if the data are in a store; else None."""
        return self._source.chunks

    @cached_property
    def unlabelled(self) -> "Fit":
        """The same fit, with methods that return NumPy arrays for every kind of object that was fitted."""
        return self if self._labels is None else replace(self, _labels=None)

    @cached_property
    def _entries(self) -> FittedEntries:
        ring = self.ring.to("numpy")
        entries = entries_within(self._memory)
        local = LocalEntries(ring, self._source, self._honest, self._threads, entries, entries)
        return FittedEntries(ring, self._source, self._kernel, self.validation, local, self._learned)

    @usual_float_errors()
    def save(self, path: str | os.PathLike[str], *, force: bool = False, precision: str | None = None) -> float:
        """Write the ring to a ``.ring`` file.

        A lower precision may cost at most a quarter of the fit's own error: of `validation`, or of the scale of the
        residuals if nothing was held out.

        Parameters
        ----------
        path, force, precision
            As in `TensorRing.save`.

        Returns
        -------
        float
            Relative error that the precision costs; 0 by default.

        Examples
        --------
        >>> import tempfile, numpy as np, ringlet
        >>> x = np.add.outer(np.sin(np.arange(40) / 9), np.cos(np.arange(50) / 7))
        >>> fit = ringlet.decompose(x + np.random.default_rng(0).normal(0, 0.1, x.shape))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     cost = fit.save(f"{folder}/x.ring", precision="float16")
        >>> cost < 1e-3
        True
        """
        error = None
        if precision is not None:
            error = self.validation if self.validation > 0 else self._entries.residual_model.scale.whole
        return self.ring.save(path, force=force, precision=precision, error=error if error else None)

    @usual_float_errors()
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

        The new slices are first solved with the other cores fixed, with the ridge, smoothness and kernel width of the
        fit. Then the other cores are updated: each step weighs the gain of the new slices against the loss of all
        earlier ones. Time and memory depend on the size of the new slices and on the rank, not on the number of earlier
        slices; only the core of `mode` is copied.

        Parameters
        ----------
        new_slices : array-like or store, as in `decompose`
            The shape is that of the data, except for `mode`, which may have any size of at least 1. A single slice
            needs its axis: ``frame[..., np.newaxis]``. NaN and ``numpy.ma`` masks mean missing. If nothing at all is
            observed, the last slice is repeated, with a DataWarning. Arrays are copied, so a buffer may be used again.
        mode : int
            The mode that grows; the last by default.
        mask : bool array-like, optional
            Of the shape of `new_slices`, True = observed.
        seed : int
            The same seed, fit, data and machine give the same bits, on any number of threads.
        refresh : int
            Rounds over the other cores. With 0 they keep their bits.
        forget : float, at least 0 and below 1
            Share of their weight that earlier slices lose with every new slice that holds data. 0 treats all slices
            alike, as a fit of all of them does; with 0.05 about the last twenty slices count.

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


@dataclass(frozen=True, repr=False)
class Estimate:
    """A completed tensor, from a method with or without a ring.

    Attributes
    ----------
    ring : TensorRing or None
    status : Status
    history : tuple of SweepRecord

    Examples
    --------
    >>> import ringlet
    >>> x = np.add.outer(np.arange(8.0), np.add.outer(np.arange(6.0), np.arange(5.0)))
    >>> estimate = ringlet.complete(x, solver=ringlet.baselines.L1TNN())
    >>> estimate.ring is None, estimate.tensor.shape
    (True, (8, 6, 5))
    """

    ring: TensorRing | None
    status: Status
    history: tuple[SweepRecord, ...]
    _dense: Any = None

    @cached_property
    def tensor(self) -> Any:
        """The dense estimate, in the data's units, an array of the library of the data."""
        return np.asarray(self.ring) if self._dense is None else self._dense

    def __repr__(self) -> str:
        return line("Estimate", self._facts())

    def _repr_html_(self) -> str:
        return card("Estimate", self._facts(), self.history)

    def _facts(self) -> Facts:
        return [*_model_facts(self.tensor.shape, self.ring, self.status), *history_facts(self.history)]


def _model_facts(shape: tuple[int, ...], ring: TensorRing | None, status: Status) -> Facts:
    rank = "none" if ring is None else ", ".join(map(str, ring.rank))
    return [("shape", " × ".join(map(str, shape))), ("rank", rank), ("status", status.name)]
