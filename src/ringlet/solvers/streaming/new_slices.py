"""Slices that a user gives to append to a ring, checked before any work."""

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.checks import check_number
from ringlet.errors import ArgumentError, ArgumentTypeError, DataWarning, warn
from ringlet.ring import TensorRing
from ringlet.ring.naming import check_order
from ringlet.sources import ArraySource, ChunkedSource, Source, Survey, as_source, look_over

__all__ = ["Slices", "checked_slices"]


@dataclass(frozen=True)
class Slices:
    """Checked slices to append along `mode`."""

    source: Source
    survey: Survey
    mode: int

    @property
    def count(self) -> int:
        """How many."""
        return self.source.shape[self.mode]

    @property
    def empty(self) -> tuple[int, ...]:
        """Those without any observed entry."""
        return self.survey.empty[self.mode]

    @property
    def observed(self) -> float:
        """Share of the entries that is observed."""
        return self.survey.observed / prod(self.source.shape)

    @property
    def shares(self) -> NDArray[np.float64]:
        """The observed part of every slice; of those without data, of all."""
        return self.survey.shares[self.mode]


def checked_slices(ring: TensorRing, new_slices: Any, mode: int, mask: Any) -> Slices:
    """Refuse slices that do not fit the ring; warn of those without data."""
    check_number("mode", mode, whole=True)
    if not -ring.ndim <= mode < ring.ndim:
        raise ArgumentError(
            f"mode={mode} is not allowed; the ring has {ring.ndim} modes, so give -{ring.ndim} to {ring.ndim - 1}"
        )
    mode = int(mode) % ring.ndim
    try:
        source = _owned(as_source(new_slices, mask))
        _check_shape(source.shape, ring.shape, mode)
        check_order("the array", source.names, "the ring", ring.names)
        found = look_over(source)
    except (ArgumentError, ArgumentTypeError) as error:
        raise type(error)(f"new_slices: {error}") from error
    slices = Slices(source, found, mode)
    if not found.observed:
        warn("none of the new slices holds an observed entry; they repeat the last slice of the ring", DataWarning)
    elif slices.empty:
        warn(
            f"{len(slices.empty)} of the new slices hold no observed entry (the first at index {slices.empty[0]}); "
            "they are filled from their neighbours",
            DataWarning,
        )
    return slices


def _owned(source: ArraySource | ChunkedSource) -> ArraySource | ChunkedSource:
    """Copies of arrays: cameras reuse their buffers, and a view would keep all of a long video in memory."""
    if not isinstance(source, ArraySource):
        return source
    mask, masked = (None if flags is None else np.array(flags, order="C") for flags in (source.mask, source.masked))
    return replace(source, array=np.array(source.array, order="C"), mask=mask, masked=masked)


def _check_shape(given: tuple[int, ...], shape: tuple[int, ...], mode: int) -> None:
    others = shape[:mode] + shape[mode + 1 :]
    if len(given) == len(shape) and given[:mode] + given[mode + 1 :] == others:
        return
    wanted = ", ".join("any" if k == mode else str(length) for k, length in enumerate(shape))
    advice = f"; a single slice needs its axis, too: np.expand_dims(new_slices, {mode})" if given == others else ""
    raise ArgumentError(f"shape {given} does not fit the ring, which needs ({wanted}){advice}")
