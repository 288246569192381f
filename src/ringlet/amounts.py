"""Amounts of memory: as people write and read them, and what the machine has. Knows only the errors."""

import os
import re
from numbers import Real

from ringlet.errors import ArgumentError

__all__ = ["format_bytes", "machine_memory", "parse_bytes", "round_up"]

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


def parse_bytes(amount: float | str, name: str = "memory") -> int:
    """Bytes from ``"2GB"``, ``"512 MiB"``, ``"1.5g"`` or a plain number; an error calls the argument by its name.

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
    is_long = (
        len(amount) > _LONGEST_TEXT
        if isinstance(amount, str)
        else isinstance(amount, int) and abs(amount) > _MOST_BYTES
    )
    told = "(a long number)" if is_long else repr(amount)
    raise ArgumentError(
        f"{name}={told} is not an amount of memory; write e.g. '2GB', '512MiB' or a number of bytes, at most 2**63"
    )


def format_bytes(amount: float) -> str:
    """Bytes for people.

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
