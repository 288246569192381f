"""What a fit says of single entries, for any index that NumPy takes: weights, residuals, outliers, restored entries."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ringlet.checks import check_number
from ringlet.errors import ArgumentError
from ringlet.float_errors import usual_float_errors
from ringlet.results.fitted_entries import FittedEntries
from ringlet.results.selection import Index, evaluate
from ringlet.sources.base import Block
from ringlet.sources.labels import Labels, Quantity, labelled

__all__ = ["EntryViews"]

_FDR = 0.01  # the false-discovery rate of outliers, unless one is given


class EntryViews(ABC):
    """The methods of a `Fit` that read its data. All are computed on demand, a bounded part at a time.

    They give NumPy arrays, or the kind of object that was fitted: an xarray.DataArray or Dataset again, with
    coordinates, names and attributes, also for an index of ints and slices; a pandas.DataFrame, without an index, as a
    DataFrame of the same rows; a torch tensor as a torch tensor.
    """

    _labels: Labels | None

    @property
    @abstractmethod
    def _entries(self) -> FittedEntries:
        """The ring beside its data."""

    def weights(self, index: Index | tuple[Index, ...] = ...) -> Any:
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

    def residuals(self, index: Index | tuple[Index, ...] = ...) -> Any:
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
        return self._evaluate(self._entries.residuals, index, quantity="differences")

    def zscores(self, index: Index | tuple[Index, ...] = ...) -> Any:
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

    @usual_float_errors()
    def uncertainty(self, index: Index | tuple[Index, ...] = ...) -> Any:
        """Standard error of the ring as an estimate of data that were not used, for a block of entries.

        About 90 % of hidden entries are within 1.645 standard errors of the ring. The errors follow from the local
        scale of the residuals, the validation error, and the number of known entries in the slices of each entry: where
        few are known, the error is larger. Gross errors in the data do not count.

        Parameters
        ----------
        index : int, slice, Ellipsis, array of int or bool, or a tuple of these
            As in ``ring[index]``; left out, everything.

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
        """Which entries of a block do not fit the others: the documented way to find anomalies.

        An entry is an outlier if its z-score is too large for the bulk of all z-scores, by the rule of Benjamini and
        Hochberg. Unlike `weights`, by which the fit protects itself, this also finds moderate errors. Where the ring
        fits poorly, as on a textured photo, good residuals are large as well, and few outliers or none are sure: there
        `weights` finds more, with more false alarms.

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
    @usual_float_errors()
    def outlier_share(self) -> float:
        """About the share of the observed entries that are judged wrong; of large data, in a sample of them.

        Those that `outliers` finds, and those that the fit itself gave less than half of their weight.

        Examples
        --------
        >>> import numpy as np, ringlet
        >>> x = np.ones((6, 5, 4))
        >>> x[1, 2, 3] = 50.0
        >>> round(ringlet.decompose(x, rank=1).outlier_share * x.size)
        1
        """
        return self._entries.outlier_share(_FDR)

    def restored(self, index: Index | tuple[Index, ...] = ...) -> Any:
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
        return self._evaluate(self._entries.restored, index, self._entries.source.dtype, quantity="entries")

    @usual_float_errors()
    def _evaluate(
        self,
        compute: Callable[[Block], NDArray[Any]],
        index: Index | tuple[Index, ...],
        dtype: DTypeLike = np.float64,
        quantity: Quantity = "scores",
    ) -> Any:
        """Compute a block, and give it as the kind of object that was fitted."""
        values = evaluate(compute, index, self._entries.ring.shape, dtype, self._entries.source.chunks)
        return labelled(self._labels, values, index, quantity)
