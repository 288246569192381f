"""Parse and format amounts of memory, and shares."""

import re
from numbers import Real

from ringlet.errors import ArgumentError

__all__ = ["format_bytes", "parse_bytes", "percent", "round_up"]

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
    """Bytes from ``"2GB"``, ``"512 MiB"``, ``"1.5g"`` or a plain number; errors name the argument.

    Examples
    --------
    >>> parse_bytes("2GB"), parse_bytes("1 KiB"), parse_bytes(2e9)
    (2000000000, 1024, 2000000000)
    """
    if isinstance(amount, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", amount.lower())
        found = round(float(match[1]) * _UNITS[match[2] or ""]) if match else 0
    else:
        whole = isinstance(amount, Real) and not isinstance(amount, bool) and float(amount).is_integer()
        found = int(amount) if whole else 0
    if found > 0:
        return found
    raise ArgumentError(
        f"{name}={amount!r} is not an amount of memory; write e.g. '2GB', '512MiB' or a number of bytes"
    )


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
