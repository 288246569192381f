"""Checks of hyper-parameters: every message names the field, the value given and what is allowed."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import isinf, log10
from numbers import Integral, Real
from typing import Any

import numpy as np

from ringlet.errors import ArgumentError, ArgumentTypeError, BudgetError, RingletError

__all__ = [
    "allocating",
    "check_flag",
    "check_number",
    "check_number_or",
    "check_one_of",
    "check_path",
    "check_range",
    "check_sequence",
    "plain_number",
]


def check_number(
    name: str,
    value: object,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    whole: bool = False,
    infinite: bool = False,
) -> None:
    """Raise an error for what is no number, not whole where it must be, too small, too large or infinite."""
    kind: type = Integral if whole else Real
    if isinstance(value, bool) or not isinstance(value, kind):
        raise ArgumentTypeError(f"{name}={value!r} is not {'a whole number' if whole else 'a number'}")
    number: Any = value
    check_range(name, number)
    if number != number:  # NaN, of whichever type
        raise ArgumentError(f"{name}={value!r} is not allowed; it must be a number")
    if not infinite and isinf(float(number)):
        raise ArgumentError(f"{name}={value!r} is not allowed; it must be finite")
    if at_least is not None and number < at_least:
        raise ArgumentError(f"{name}={value!r} is not allowed; it must be at least {at_least}")
    if above is not None and number <= above:
        raise ArgumentError(f"{name}={value!r} is not allowed; it must be above {above}")
    if at_most is not None and number > at_most:
        raise ArgumentError(f"{name}={value!r} is not allowed; it must be at most {at_most:g}")


def plain_number(value: Any) -> Any:
    """A number of NumPy or a fraction as an int or a float, which do not overflow in products; all else as it is.

    Examples
    --------
    >>> from fractions import Fraction
    >>> plain_number(np.uint8(200)) * 2, plain_number(Fraction(1, 4)), plain_number("auto")
    (400, 0.25, 'auto')
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or isinstance(value, int | float):
        return value if type(value) is not np.float64 else float(value)
    try:
        return int(value) if isinstance(value, Integral) else float(value)
    except OverflowError:  # told by the checks that follow
        return value


def check_range(name: str, number: Any) -> None:
    """Refuse numbers that are too large for floats; they may have thousands of digits, and are not shown.

    Examples
    --------
    >>> check_range("rank", -(10**400))
    Traceback (most recent call last):
    ringlet.errors.ArgumentError: rank is a number of about 400 digits; at most 1.8e308 is allowed
    """
    try:
        float(number)
    except OverflowError:
        digits = int(int(abs(number)).bit_length() * log10(2))
        raise ArgumentError(f"{name} is a number of about {digits} digits; at most 1.8e308 is allowed") from None


def check_flag(name: str, value: object) -> None:
    """Refuse what is neither True nor False: ``force="no"`` would count as True.

    Examples
    --------
    >>> check_flag("force", "no")
    Traceback (most recent call last):
    ringlet.errors.ArgumentTypeError: force='no' is not allowed; give True or False
    """
    if not isinstance(value, bool | np.bool_):
        raise ArgumentTypeError(f"{name}={value!r} is not allowed; give True or False")


def check_sequence(name: str, value: object, entries: str) -> tuple[Any, ...]:
    """Entries of a sequence; refuse what has none, such as an array without dimensions."""
    try:
        return tuple(value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentTypeError(f"{name}={value!r} is not a sequence; give {entries}") from None


@contextmanager
def allocating(what: str, advice: str) -> Iterator[None]:
    """Say what does not fit into memory, where NumPy would name an array inside of the computation.

    Examples
    --------
    >>> with allocating("a tensor of shape (9, 9)", "take part of it"):
    ...     raise MemoryError("Unable to allocate 648 bytes")
    Traceback (most recent call last):
    ringlet.errors.BudgetError: a tensor of shape (9, 9) does not fit into memory; take part of it
    """
    try:
        yield
    except MemoryError as error:
        if isinstance(error, RingletError):
            raise
        raise BudgetError(f"{what} does not fit into memory; {advice}") from error


def check_path(name: str, value: object) -> None:
    """Refuse what is no path; an empty one would be the current folder."""
    if not isinstance(value, str | os.PathLike):
        raise ArgumentTypeError(f"{name}={value!r} is not a path; give a text or a pathlib.Path")
    if value == "":
        raise ArgumentError(f"the {name} is empty; the current folder is '.'")


def check_one_of(name: str, value: object, allowed: Iterable[str], otherwise: str = "") -> None:
    """Raise an error for a word that is not in the list."""
    words = tuple(allowed)
    if not isinstance(value, str) or value not in words:
        listed = ", ".join(repr(word) for word in words)
        raise ArgumentError(f"{name}={value!r} is not allowed; give one of {listed}{otherwise}")


def check_number_or(
    words: Iterable[str],
    name: str,
    value: object,
    *,
    at_least: float | None = None,
    above: float | None = None,
    infinite: bool = False,
) -> None:
    """Refuse what is neither one of some words nor a number in a range.

    Examples
    --------
    >>> check_number_or(("auto",), "ridge", "automatic", at_least=0)
    Traceback (most recent call last):
    ringlet.errors.ArgumentError: ridge='automatic' is not allowed; give one of 'auto' or a number, at least 0
    """
    if isinstance(value, str):
        bound = f", at least {at_least}" if at_least is not None else "" if above is None else f" above {above}"
        check_one_of(name, value, words, f" or a number{bound}")
    else:
        check_number(name, value, at_least=at_least, above=above, infinite=infinite)
