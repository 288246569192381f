"""How long a fresh interpreter takes to import Ringlet, and the command to print its help."""

import subprocess  # fresh interpreters are what is measured; no shell is involved
import sys
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

__all__ = ["StartUp", "measure_startup"]


@dataclass(frozen=True)
class StartUp:
    """Least seconds, those of an empty interpreter subtracted (`import_*`) or not (`help`)."""

    import_numpy: float
    import_ringlet: float
    import_decompose: float
    help: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def measure_startup(repeats: int = 5) -> StartUp:
    """Time fresh interpreters."""
    empty = _seconds(["-c", "pass"], repeats)
    return StartUp(
        _seconds(["-c", "import numpy"], repeats) - empty,
        _seconds(["-c", "import ringlet"], repeats) - empty,
        _seconds(["-c", "from ringlet import decompose"], repeats) - empty,
        _seconds(["-c", "from ringlet.cli.main import main; main(['--help'])"], repeats),
    )


def _seconds(arguments: list[str], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)  # noqa: S603 - our interpreter
        times.append(perf_counter() - start)
    return min(times)
