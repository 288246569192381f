"""Masks as booleans: convert zeros and ones, broadcast, and apply to a source."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ringlet.errors import ArgumentError, DataWarning, FormatError, warn
from ringlet.ring.naming import check_order
from ringlet.sources.chunked import ChunkedSource
from ringlet.sources.memory import ArraySource

__all__ = ["shape_error", "spread", "truth_source", "truth_values", "warn_of_inverted_mask", "where_known"]

_SAMPLED = 1 << 18  # entries that are looked at
_MOSTLY_HIDDEN = 0.5  # share of the entries; a mask that shows more is not doubted
_FLAT, _VARIED = 0.9, 0.5  # shares of the commonest value, at least of what is shown and at most of what is hidden


def where_known(source: ArraySource | ChunkedSource, known: ArraySource | ChunkedSource) -> ArraySource | ChunkedSource:
    """The source with fewer of its entries observed: where `known`, of booleans and of its shape, is True.

    Modes of both that have the same names must have the same order: with equal sizes nothing else could detect a
    transposed mask.

    Examples
    --------
    >>> source = where_known(ArraySource(np.eye(2)), ArraySource(np.array([[True, False], [True, True]])))
    >>> source.read((slice(0, 1), slice(0, 2)))[1].tolist()
    [[True, False]]
    """
    check_order("mask", known.names, "the tensor", source.names)
    if isinstance(source, ChunkedSource):
        return replace(source, masks=(*source.masks, known))
    whole = known.array if isinstance(known, ArraySource) else _read_whole(known)
    return replace(source, mask=whole if source.mask is None else source.mask & whole)


def truth_values(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Zeros and ones as booleans.

    Examples
    --------
    >>> truth_values(np.array([0, 1]))
    array([False,  True])
    """
    if values.dtype == bool:
        return values
    truth = values.astype(bool)
    if (truth != values).any():
        raise FormatError("a mask holds booleans, or zeros and ones; this one holds other numbers")
    return truth


def truth_source(mask: ArraySource | ChunkedSource) -> ArraySource | ChunkedSource:
    """A mask of zeros and ones as one of booleans; other numbers in a store are detected when they are read."""
    if isinstance(mask, ArraySource):
        return ArraySource(truth_values(mask.array), names=mask.names)
    return replace(mask, array=_Truth(mask.array), missing=())


def spread(mask: NDArray[np.bool_], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """A mask of the first modes, for all of the others."""
    if mask.shape == shape:
        return mask
    if mask.ndim < 2 or mask.shape != shape[: mask.ndim]:
        raise shape_error("the mask", mask.shape, shape, ", or that of the first modes (two or more)")
    return np.broadcast_to(mask.reshape(mask.shape + (1,) * (len(shape) - mask.ndim)), shape)


def warn_of_inverted_mask(source: ArraySource, known: NDArray[np.bool_]) -> None:
    """Warn if a mask hides most entries, which vary, and those that it shows are nearly all of one value.

    So it is with a mask that is True in the holes of data whose holes were filled with one value.
    """
    step = max(1, round((known.size / _SAMPLED) ** (1 / max(known.ndim, 1))))
    sample = (slice(None, None, step),) * known.ndim
    shown, entries = known[sample], source.array[sample]
    if not 0 < shown.sum() < _MOSTLY_HIDDEN * shown.size:
        return
    flat, varied = (_commonest(entries[part]) for part in (shown, ~shown))
    if flat > _FLAT and varied < _VARIED:
        warn(
            f"the mask shows {np.mean(known):.1%} of the entries, {flat:.0%} of which have the same value, and hides "
            "the others, which vary; True means observed: if the mask is True where entries are missing, give ~mask",
            DataWarning,
        )


def _commonest(values: NDArray[Any]) -> float:
    """Share of the commonest of the values; 1 of those that are NaN or infinite."""
    finite = values[np.isfinite(values)]
    counts = np.unique(finite, return_counts=True)[1]
    return 1.0 if finite.size < values.size / 2 or not counts.size else float(counts.max() / finite.size)


def shape_error(mask: str, given: tuple[int, ...], shape: tuple[int, ...], also: str = "") -> ArgumentError:
    """The error for a mask that does not have the shape of the tensor."""
    return ArgumentError(f"{mask} has shape {given}, the tensor {shape}; a mask has the same shape{also}")


@dataclass(frozen=True)
class _Truth:
    """An array of which parts come as booleans."""

    array: Any
    dtype: ClassVar[np.dtype[Any]] = np.dtype(bool)

    def __getitem__(self, block: tuple[slice, ...]) -> NDArray[np.bool_]:
        return truth_values(np.asarray(self.array[block]))


def _read_whole(source: ChunkedSource) -> NDArray[Any]:
    return source.read(tuple(slice(0, length) for length in source.shape))[0]
