"""How much memory this process has taken, as the operating system counts it."""

import os
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["machine_memory", "peak_memory", "reset_peak_memory"]


def machine_memory() -> int | None:
    """Bytes of memory that the machine has; None where the system does not report it.

    Examples
    --------
    >>> machine_memory() is None or machine_memory() > 1_000_000
    True
    """
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else None


def peak_memory() -> int:
    """Largest resident memory of this process in bytes, since it began or since `reset_peak_memory`.

    Examples
    --------
    >>> peak_memory() > 1_000_000
    True
    """
    try:
        status = Path("/proc/self/status").read_text()
        return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    except (OSError, StopIteration):  # not Linux
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else 1024 * peak


def reset_peak_memory() -> None:
    """Restart the measurement of the peak, on Linux; elsewhere it remains that of the whole process."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
