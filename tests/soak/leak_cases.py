"""Small fits one after the other, which must leave nothing behind."""

import gc
import os
import threading
from pathlib import Path

import numpy as np

from ringlet import AWRTRD, SAWRTRD, decompose
from soak.guard import ViolationError

_WARM = 100  # fits, before anything is measured
_fits = []  # small ones, of this process
_at_first = {}


def leak(number, folder):
    """One small fit after the other: after some in this process, memory, open files and threads stay as they are."""
    x = np.random.default_rng(number).random((12, 10, 8))
    solvers = (AWRTRD(smooth=0.0, sweeps=3), SAWRTRD(smooth=0.0, samples=30, sweeps=3), AWRTRD(sweeps=3))
    decompose(x, 2, solver=solvers[number % len(solvers)], seed=number)
    _fits.append(number)
    if len(_fits) == _WARM:  # what the first fits load stays
        _at_first.update(_held())
    elif len(_fits) > _WARM and len(_fits) % 10 == 0:
        before, after = _at_first, _held()
        if after["kB"] > before["kB"] + 10_000 or any(after[name] > before[name] for name in ("files", "threads")):
            raise ViolationError(f"after {len(_fits)} fits {after}, before {before}")
    return "nothing held"


def _held():
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    files = len(list(Path("/proc/self/fd").iterdir()))
    return {"kB": pages * os.sysconf("SC_PAGE_SIZE") // 1024, "files": files, "threads": threading.active_count()}
