"""Amounts of memory, time and shares: as people write and read them, and what the machine has."""

import os
import re
from numbers import Real

from ringlet.errors import ArgumentError

__all__ = ["format_bytes", "machine_memory", "parse_bytes", "parse_seconds", "percent", "round_up"]

_MOST_BYTES = 1 << 63  # what any machine can count
_LONGEST_TEXT = 40  # characters
_UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}

_SECONDS = {"s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
_LONGEST = 1e9  # seconds: thirty years


def parse_bytes(amount: float | str, name: str = "memory") -> int:
    """Bytes from ``"2GB"``, ``"512 MiB"``, ``"1.5g"`` or a plain number; errors name the argument.

    Examples
    --------
    >>> parse_bytes("2GB"), parse_bytes("1 KiB"), parse_bytes(2e9)
    (2000000000, 1024, 2000000000)
    """
    if isinstance(amount, str) and len(amount) <= _LONGEST_TEXT:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", amount.lower())
        found = round(float(match[1]) * _UNITS[match[2] or ""]) if match else 0
    elif isinstance(amount, Real) and not isinstance(amount, bool) and 0 < amount <= _MOST_BYTES:
        found = int(amount) if float(amount).is_integer() else 0
    else:
        found = 0
    if 0 < found <= _MOST_BYTES:
        return found
    raise ArgumentError(
        f"{name}={_told(amount)} is not an amount of memory; write e.g. '2GB', '512MiB' or a number of bytes, at most "
        "2**63"
    )


def parse_seconds(amount: float | str, name: str = "time") -> float:
    """Seconds from ``"60s"``, ``"2 min"``, ``"1.5h"`` or a plain number; errors name the argument.

    Examples
    --------
    >>> parse_seconds("60s"), parse_seconds("2 min"), parse_seconds(0.5)
    (60.0, 120.0, 0.5)
    """
    found = 0.0
    if isinstance(amount, str):
        match = re.fullmatch(r"\s*(\d{1,9}(?:\.\d+)?)\s*(s|sec|min|m|h)?\s*", amount.lower())
        found = float(match[1]) * _SECONDS[match[2] or "s"] if match else 0.0
    elif isinstance(amount, Real) and not isinstance(amount, bool) and 0 < amount < _LONGEST:
        found = float(amount)
    if found > 0:
        return found
    raise ArgumentError(f"{name}={_told(amount)} is not a time; write e.g. '60s', '5min', '1h' or a number of seconds")


def _told(amount: object) -> str:
    """An amount for a message, unless it has very many digits."""
    is_long = (
        len(amount) > _LONGEST_TEXT
        if isinstance(amount, str)
        else isinstance(amount, int) and abs(amount) > _MOST_BYTES
    )
    return "(a long number)" if is_long else repr(amount)


def format_bytes(amount: float) -> str:
    """Format bytes for display.

    Examples
    --------
    >>> format_bytes(311_040_000), format_bytes(12)
    ('311 MB', '12 B')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 999.5:
            return f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:.3g} TB"


def percent(share: float) -> str:
    """Write a share for people.

    Examples
    --------
    >>> percent(0.5), percent(0.098), percent(0.0004), percent(0)
    ('50 %', '9.8 %', '0.04 %', '0 %')
    """
    return f"{100 * share:.2g} %" if share < 0.0995 else f"{100 * share:.0f} %"


def round_up(amount: int) -> int:
    """The next larger amount that `format_bytes` writes without rounding it.

    Examples
    --------
    >>> format_bytes(13_140_001), format_bytes(round_up(13_140_001))
    ('13.1 MB', '13.2 MB')
    """
    step = int(10 ** max(0, len(str(amount)) - 3))
    return -(-amount // step) * step


def machine_memory() -> int | None:
    """Bytes of memory that the machine has; None where the system does not tell.

    Examples
    --------
    >>> machine_memory() is None or machine_memory() > 1_000_000
    True
    """
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else None
