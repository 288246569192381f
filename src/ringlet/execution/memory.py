"""How much memory this process has taken, as the operating system counts it."""

import sys
from contextlib import suppress
from pathlib import Path

from ringlet.amounts import machine_memory

__all__ = ["machine_memory", "peak_memory", "reset_peak_memory"]


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
