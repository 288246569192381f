"""Results for single entries, for any index that NumPy takes: weights, residuals, outliers, restored entries."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ringlet.checks import check_number
from ringlet.errors import ArgumentError
from ringlet.float_errors import usual_float_errors
from ringlet.results.choices import Option, Refinement, as_choice, check_refinement
from ringlet.results.fitted_entries import FittedEntries
from ringlet.results.selection import Index, evaluate
from ringlet.results.tiles import Tiling
from ringlet.results.wrong_values import WrongValues
from ringlet.ring.given_index import given_index
from ringlet.sources.base import Block
from ringlet.sources.labels import Labels, Quantity, labelled

__all__ = ["EntryViews"]

_FDR = 0.01  # the false-discovery rate of outliers, unless one is given


class EntryViews(ABC):
    """The methods of a `Fit` that read its data. They compute on demand, a part of bounded size at a time.

    They return NumPy arrays, or the kind of object that was fitted: for an xarray.DataArray or Dataset with an index of
    ints and slices, with coordinates, names and attributes; for a pandas.DataFrame without an index, with the same
    rows; for a torch tensor always.
    """

    _labels: Labels | None

    @property
    @abstractmethod
    def _entries(self) -> FittedEntries:
        """The ring with its data."""

    def weights(self, index: Index | tuple[Index, ...] = ...) -> Any:
        """Weights of a block of entries: how far each is trusted. Computed on demand.

        With ``loss="learned"`` a weight is the probability that an entry is right. It follows from the ring, from the
        entries around it, and from what wrong values look like (`outlier_model`); the entry itself is left out. With
        other losses it is the weight that the kernel gives to the residual. If fewer than 1500 entries are observed,
        nothing is learned; then `outliers` have weight 0.

        Parameters
        ----------
        index : int, slice, Ellipsis, array of int or bool, or a tuple of these
            As in ``ring[index]``; by default all entries.

        Returns
        -------
        array
            1: trusted, 0: judged an outlier, NaN: not observed.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> x = np.fromfunction(lambda i, j, k: i + j * k, (20, 15, 10))
        >>> x[1, 2, 3] = 500.0
        >>> fit = ringlet.decompose(x, rank=3)
        >>> fit.weights((1, 2, slice(1, 5))).round(1)
        array([1., 1., 0., 1.])
        """
        return self._evaluate(self._entries.weights, index, tiled=self._entries.learned)

    def residuals(self, index: Index | tuple[Index, ...] = ...) -> Any:
        """Data minus ring of a block of entries, in the data's units.

        Parameters
        ----------
        index : int, slice, Ellipsis, array of int or bool, or a tuple of these
            As in ``ring[index]``; by default all entries.

        Returns
        -------
        array
            NaN: not observed.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> x = np.fromfunction(lambda i, j, k: i + j * k, (20, 15, 10))
        >>> x[1, 2, 3] = 500.0
        >>> fit = ringlet.decompose(x, rank=3)
        >>> bool(abs(fit.residuals((1, 2, 3)) - 493) < 1)          # 500 in the place of 7
        True
        """
        return self._evaluate(self._entries.residuals, index, quantity="differences")

    def zscores(self, index: Index | tuple[Index, ...] = ...) -> Any:
        """Residuals of a block of entries over their local scale.

        The scale is a robust standard deviation: a product of one factor for every slice of every mode. It is measured
        once, in a sample of about half a million entries, and is never below the rounding errors of the data.

        Parameters
        ----------
        index : int, slice, Ellipsis, array of int or bool, or a tuple of these
            As in ``ring[index]``; by default all entries.

        Returns
        -------
        array
            NaN: not observed.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> rng = np.random.default_rng(0)
        >>> x = np.fromfunction(lambda i, j, k: i + j * k, (20, 15, 10)) + rng.normal(0, 0.5, (20, 15, 10))
        >>> x[1, 2, 3] += 10
        >>> scores = ringlet.decompose(x, rank=3).zscores()
        >>> np.unravel_index(np.abs(scores).argmax(), x.shape) == (1, 2, 3), bool(scores[1, 2, 3] > 10)
        (True, True)
        """
        return self._evaluate(self._entries.zscores, index)

    @usual_float_errors()
    def uncertainty(self, index: Index | tuple[Index, ...] = ...) -> Any:
        """Standard error of the ring as an estimate of data that were not used, for a block of entries.

        About 90 % of hidden entries are within 1.645 standard errors of the ring. The errors follow from the local
        scale of the residuals, the validation error, and the number of known entries in the slices of each entry: where
        few are known, the error is larger. Gross errors in the data do not count.

        Parameters
        ----------
        index : int, slice, Ellipsis, array of int or bool, or a tuple of these
            As in ``ring[index]``; by default all entries.

        Returns
        -------
        array
            In the data's units, at missing entries, too.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> rng = np.random.default_rng(0)
        >>> x = np.fromfunction(lambda i, j, k: i + j * k, (20, 15, 10)) + rng.normal(0, 0.5, (20, 15, 10))
        >>> x[3, 2:] = np.nan
        >>> fit = ringlet.decompose(x, rank=3)
        >>> bool(fit.uncertainty((3, 5, 5)) > fit.uncertainty((4, 5, 5)) > 0.4)
        True
        """
        return self._evaluate(self._entries.error_model.block, index, quantity="differences")

    def outliers(self, index: Index | tuple[Index, ...] = ..., fdr: float = _FDR) -> Any:
        """Mark the entries of a block that are wrong: those that do not agree with the others.

        An entry is an outlier if its z-score is too large for the bulk of all z-scores, by the rule of Benjamini and
        Hochberg. With ``loss="learned"`` it is also an outlier if its weight says that it is probably wrong: entries of
        the smallest `weights` are taken, as long as the mean of their weights is at most `fdr`.

        Parameters
        ----------
        index : int, slice, Ellipsis, array of int or bool, or a tuple of these
            As in ``ring[index]``; by default all entries.
        fdr : float, above 0 and below 1
            False-discovery rate: about this share of the marked entries are right.

        Returns
        -------
        bool array
            True: wrong. False: right, or not observed.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> rng = np.random.default_rng(0)
        >>> x = np.fromfunction(lambda i, j, k: i + j * k, (20, 15, 10)) + rng.normal(0, 0.1, (20, 15, 10))
        >>> x[11, 7, 3] += 2.0
        >>> fit = ringlet.decompose(x, rank=3)
        >>> np.argwhere(fit.outliers()).tolist()
        [[11, 7, 3]]
        """
        check_number("fdr", fdr, above=0)
        if fdr >= 1:
            raise ArgumentError(f"fdr={fdr!r} is not allowed; it must be below 1")
        entries = self._entries
        return self._evaluate(lambda block: entries.outliers(block, float(fdr)), index, np.bool_, tiled=entries.learned)

    @property
    @usual_float_errors()
    def outlier_share(self) -> float:
        """Approximate share of the observed entries that are judged wrong; for large data, in a sample of them.

        Those that `outliers` finds, and those that the fit itself gave less than half of their weight.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> x = np.fromfunction(lambda i, j, k: i + j * k, (20, 15, 10))
        >>> x[1, 2, 3] = 500.0
        >>> round(ringlet.decompose(x, rank=3).outlier_share * x.size)
        1
        """
        return self._entries.outlier_share(_FDR)

    @property
    def outlier_model(self) -> WrongValues | None:
        """What wrong values look like: their share, the values that they often take, and the scale of residuals.

        None if too few entries are observed to learn it: fewer than 1500.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> rng = np.random.default_rng(0)
        >>> x = np.fromfunction(lambda i, j, k: i + j * k, (20, 15, 10)) + rng.normal(0, 0.1, (20, 15, 10))
        >>> x[rng.random(x.shape) < 0.1] = -99
        >>> ringlet.decompose(x, rank=3).outlier_model.atoms[0].value
        -99.0
        """
        return self._entries.outlier_model

    def restored(
        self,
        index: Index | tuple[Index, ...] = ...,
        detail: Option = "auto",
        keep: Option = "auto",
        refine: Refinement = None,
    ) -> Any:
        """A block of the data in which missing and wrong entries are replaced, by the ring and the entries around them.

        ``ring[index]`` is the model everywhere: smaller than the data, without their noise, and without the detail that
        the rank cannot hold. This detail is predicted by trusted entries nearby, along the modes that have an order.

        Parameters
        ----------
        index : int, slice, Ellipsis, array of int or bool, or a tuple of these
            As in ``ring[index]``; by default all entries.
        detail : {"auto", "always", "never"}
            Whether detail is added to the ring. "auto": if this reduces the error at known entries that were hidden.
        keep : {"auto", "always", "never"}
            Entries that are observed and trusted. "always": they are not changed. "never": they are replaced by the
            ring and its detail. "auto": they are kept, and their noise is reduced where it can be told from detail.
            True and False mean "always" and "never", here and in `detail`.
        refine : None, "patches" or callable
            Improves the result in several times the time. "patches" fits groups of similar patches by low rank, in five
            rounds. A callable is a denoiser of your own: a function of an array in the data's units that returns one
            of the same shape. If it has a parameter ``sigma``, it gets the standard error of missing entries by that
            name. After every round trusted entries are put back. Known entries that stay hidden decide how much of the
            change is used: none, if their error does not decrease.

        Returns
        -------
        array
            Of the data's dtype; for whole numbers, rounded and clipped.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> x = np.fromfunction(lambda i, j, k: i + j * k, (20, 15, 10))
        >>> x[1, 2, 3], x[1, 2, 4] = 500.0, np.nan
        >>> fit = ringlet.decompose(x, rank=3)
        >>> fit.restored((1, 2, slice(1, 6))).round(1)
        array([ 3.,  5.,  7.,  9., 11.])
        """
        wanted, entries = (as_choice("detail", detail), as_choice("keep", keep)), self._entries
        check_refinement(refine)
        return self._evaluate(
            lambda block: entries.restored(block, *wanted, refine),
            index,
            entries.source.dtype,
            "entries",
            tiled=refine is not None or entries.needs_neighbours(*wanted),
        )

    def needs_neighbours(self, detail: Option = "auto", keep: Option = "auto") -> bool:
        """Whether `restored` with these options looks at the entries around an entry."""
        return self._entries.needs_neighbours(as_choice("detail", detail), as_choice("keep", keep))

    @property
    def tiles(self) -> Tiling:
        """Parts of the data in which `weights` and `restored` are computed; large data have several."""
        return self._entries.local.tiles

    @usual_float_errors()
    def _evaluate(
        self,
        compute: Callable[[Block], NDArray[Any]],
        index: Index | tuple[Index, ...],
        dtype: DTypeLike = np.float64,
        quantity: Quantity = "scores",
        *,
        tiled: bool = False,
    ) -> Any:
        """Compute a block, as the kind of object that was fitted. If tiled, every tile is computed once."""
        index = given_index(index)
        chunks = self.tiles.chunks if tiled else self._entries.source.chunks
        values = evaluate(compute, index, self._entries.ring.shape, dtype, chunks)
        return labelled(self._labels, values, index, quantity)
