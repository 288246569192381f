"""How the modes of a tensor are split into factors or overlapping windows, and where their entries go."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from operator import index
from sys import maxsize
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ringlet.checks import check_flag, check_range
from ringlet.errors import ArgumentError, ArgumentTypeError

__all__ = ["Factors", "Layout", "Windows", "layout_for", "whole_number", "windows"]

Factors: TypeAlias = "int | Sequence[int] | Windows | None"

_EXAMPLE = ", e.g. [(8, 8, 8), (8, 8, 8), None]"


@dataclass(frozen=True)
class Windows:
    """Windows of `size` entries along a mode, one beginning every `step` entries; made by `windows`."""

    size: int
    step: int


def windows(size: int, step: int | None = None) -> Windows:
    """Cut a mode into windows, which may overlap; one of the factors of `fold` and `unfold`.

    Parameters
    ----------
    size : int
        Entries of a window.
    step : int, optional
        Distance from the start of one window to the start of the next; by default half a window. At most `size`, so
        that every entry is in a window.

    Examples
    --------
    >>> import numpy as np, ringlet
    >>> ringlet.fold(np.arange(8), [ringlet.windows(4, 2)])
    array([[0, 1, 2, 3],
           [2, 3, 4, 5],
           [4, 5, 6, 7]])
    """
    width = whole_number("size", size, at_least=1)
    stride = max(1, width // 2) if step is None else whole_number("step", step, at_least=1)
    if stride > width:
        raise ArgumentError(f"step={step} is not allowed with size={size}; it must be at most the size")
    return Windows(width, stride)


@dataclass(frozen=True)
class _Mode:
    """How one mode is split.

    Attributes
    ----------
    length : int
    factors : tuple of int
    step : int
        Of windows, and equal to their size where nothing overlaps.
    """

    length: int
    factors: tuple[int, ...]
    step: int

    @property
    def overlaps(self) -> bool:
        """Entries are in more than one window."""
        return self.step < self.factors[-1] and self.factors[0] > 1

    @property
    def padded(self) -> int:
        """Entries that the factors or windows cover."""
        return (self.factors[0] - 1) * self.step + self.factors[-1] if self.overlaps else prod(self.factors)

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """Which entry stands at every place of the windows, one after the other."""
        number, size = self.factors
        return (self.step * np.arange(number)[:, None] + np.arange(size)).ravel()


@dataclass(frozen=True)
class Layout:
    """Where everything goes. "Parted": every mode on its own, windows one after the other."""

    modes: tuple[_Mode, ...]
    paired: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the tensor as it was."""
        return tuple(mode.length for mode in self.modes)

    @property
    def padded(self) -> tuple[int, ...]:
        """Of the tensor, filled up."""
        return tuple(mode.padded for mode in self.modes)

    @property
    def overlaps(self) -> bool:
        """Some entries are in more than one window."""
        return any(mode.overlaps for mode in self.modes)

    @cached_property
    def folded(self) -> tuple[int, ...]:
        """Of the result of `fold`."""
        return tuple(prod(self._split[axis] for axis in group) for group in self._groups)

    def together(self, parted: NDArray[Any]) -> NDArray[Any]:
        """From parted modes to the result of `fold`."""
        return parted.reshape(self._split).transpose(self._order).reshape(self.folded)

    def parted(self, folded: NDArray[Any]) -> NDArray[Any]:
        """The inverse of `together`."""
        split = folded.reshape([self._split[axis] for axis in self._order])
        return split.transpose(np.argsort(self._order)).reshape([prod(mode.factors) for mode in self.modes])

    @cached_property
    def _split(self) -> tuple[int, ...]:
        return tuple(factor for mode in self.modes for factor in mode.factors)

    @cached_property
    def _groups(self) -> list[tuple[int, ...]]:
        """Which axes of the split tensor make up every mode of the folded one."""
        ends = np.cumsum([0, *(len(mode.factors) for mode in self.modes)])
        axes = [tuple(range(ends[k], ends[k + 1])) for k in range(len(self.modes))]
        folded = [own for own in axes if len(own) > 1]
        if not self.paired or not folded:
            return [(axis,) for own in axes for axis in own]
        pairs = list(zip(*folded, strict=True))
        groups: list[tuple[int, ...]] = []
        for own in axes:
            groups += [own] if len(own) == 1 else pairs
            pairs = pairs if len(own) == 1 else []
        return groups

    @cached_property
    def _order(self) -> tuple[int, ...]:
        return tuple(axis for group in self._groups for axis in group)


def layout_for(shape: tuple[int, ...], factors: Sequence[Factors], paired: bool) -> Layout:
    """Check the factors of a tensor of this shape, and work out where everything goes."""
    if isinstance(factors, str | Windows) or not isinstance(factors, Sequence):
        raise ArgumentTypeError(f"factors={factors!r} is not a sequence; give one entry for every mode{_EXAMPLE}")
    if len(factors) != len(shape):
        raise ArgumentError(
            f"factors has {len(factors)} entries but the tensor has {len(shape)} modes; give one for every mode, "
            f"None to leave it whole{_EXAMPLE}"
        )
    check_flag("paired", paired)
    modes = tuple(_mode(number, length, factors[number]) for number, length in enumerate(shape))
    counts = {len(mode.factors) for mode in modes if len(mode.factors) > 1}
    if paired and len(counts) > 1:
        raise ArgumentError(
            f"factors={factors!r} cannot be paired: modes are split into {sorted(counts)} factors; with paired=True "
            "all that are split need as many"
        )
    return Layout(modes, paired)


def _mode(number: int, length: int, given: Factors) -> _Mode:
    if given is None:
        return _Mode(length, (length,), length)
    if isinstance(given, Windows):
        count = 1 + max(0, -(-(length - given.size) // given.step))
        return _Mode(length, (count, given.size), given.step)
    name = f"factors[{number}]"
    listed = given if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
    sizes = [whole_number(name, size, at_least=-1) for size in listed]
    if 0 in sizes or sizes.count(-1) > 1 or not sizes:
        raise ArgumentError(f"{name}={given!r} is not allowed; give sizes of at least 1, or -1 for one of them")
    if -1 in sizes:  # whose product is then minus that of the others
        sizes[sizes.index(-1)] = max(1, -(-length // -prod(sizes)))
    if prod(sizes) < length:
        raise ArgumentError(
            f"{name}={given!r} holds {prod(sizes)} entries but mode {number} has {length}; their product must be at "
            "least that (what is too much counts as missing), or one of them -1"
        )
    return _Mode(length, tuple(sizes), sizes[-1])


def whole_number(name: str, value: object, *, at_least: int) -> int:
    """Raise an error for a value that is not an integer, or too small."""
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentTypeError(f"{name}={value!r} is not a whole number") from None
    check_range(name, number)
    if isinstance(value, bool) or number < at_least:
        raise ArgumentError(f"{name}={value!r} is not allowed; it must be a whole number of at least {at_least}")
    if number > maxsize:
        raise ArgumentError(f"{name}={value!r} is not allowed; arrays have at most {maxsize} entries")
    return number
