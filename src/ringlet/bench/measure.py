"""Timing a case: our sweeps, the limit, the naive sweep and TensorLy, in one process, one after the other."""

import json
import subprocess  # a fresh interpreter measures peak memory; no shell is involved
import sys
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from ringlet.bench.cases import CASES, Case
from ringlet.bench.limit import limit_seconds
from ringlet.bench.naive import naive_sweep
from ringlet.execution import Profile, Threads
from ringlet.execution.memory import peak_memory
from ringlet.solvers.base import Problem
from ringlet.solvers.sawrtrd.run import start_run
from ringlet.solvers.sawrtrd.settings import SAWRTRD
from ringlet.solvers.sawrtrd.start import random_start
from ringlet.sources import as_source, survey

__all__ = ["PARTS", "CaseResult", "measure_case"]

PARTS = ("gather", "forward", "weights", "adjoint", "Gram", "solve", "search", "other")
_THREADED = ("gather", "forward", "weights", "adjoint", "search")


@dataclass(frozen=True)
class CaseResult:
    """What was measured of a case. Seconds depend on the machine; compare the ratios.

    Attributes
    ----------
    sweep, limit : float
        Median seconds of a sweep; seconds of the bare products.
    modes, mode_limits : list of float
        The same for the update of every core.
    parts : dict
        Seconds of a sweep by part.
    naive : float or None
        Seconds of a naive sweep.
    peer, peer_sampled : float or None
        TensorLy's seconds a sweep, all entries and sampled.
    peak, data : int
        Bytes: of a whole process that fits the case, and of its data.
    """

    name: str
    sweep: float
    limit: float
    modes: list[float]
    mode_limits: list[float]
    parts: dict[str, float]
    naive: float | None
    peer: float | None
    peer_sampled: float | None
    peak: int
    data: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON, with the ratios."""
        return asdict(self) | {
            "over_limit": self.sweep / self.limit,
            "modes_over_limit": [mine / bare for mine, bare in zip(self.modes, self.mode_limits, strict=True)],
            "naive_over_ours": None if self.naive is None else self.naive / self.sweep,
            "peer_over_ours": None if self.peer is None else self.peer / self.sweep,
            "peer_sampled_over_ours": None if self.peer_sampled is None else self.peer_sampled / self.sweep,
            "peak_over_data": self.peak / self.data,
        }


def measure_case(case: Case, *, sweeps: int = 5, others: bool = True) -> CaseResult:
    """Time one case; `others` are the naive sweep and, where it supports the case, TensorLy."""
    peak = _peak_in_fresh_process(case)
    x, mask = case.data()
    seconds, modes, parts = _our_sweeps(case, x, mask, sweeps)
    mode_limits = limit_seconds(SAWRTRD(samples=case.samples).plan(case.shape, case.rank, x.dtype))
    return CaseResult(
        name=case.name,
        sweep=seconds,
        limit=sum(mode_limits),
        modes=modes,
        mode_limits=mode_limits,
        parts=parts,
        naive=_naive_seconds(case, x, mask) if others else None,
        peer=_peer_seconds(case, x, sampled=False) if others and case.peer else None,
        peer_sampled=_peer_seconds(case, x, sampled=True) if others and case.peer else None,
        peak=peak,
        data=x.nbytes + (0 if mask is None else mask.nbytes),
    )


def _our_sweeps(case: Case, x: Any, mask: Any, sweeps: int) -> tuple[float, list[float], dict[str, float]]:
    """Median sweep, median update of every core, mean seconds by part; the first sweep warms up."""
    source = as_source(x, mask)
    problem = Problem(source, survey(source), case.rank, seed=0)
    order = len(case.shape)
    times, by_mode, total = [], [], dict.fromkeys(PARTS, 0.0)
    profile = Profile()
    with start_run(SAWRTRD(samples=case.samples), problem, profile) as run:
        run.sweep(1)
        for number in range(2, sweeps + 2):
            profile.seconds.clear()
            start = perf_counter()
            run.sweep(number)
            times.append(perf_counter() - start)
            by_mode.append([profile.seconds[f"mode {mode}"] for mode in range(order)])
            spent = _wall_parts(profile.seconds)
            for part in PARTS[:-1]:
                total[part] += spent.get(part, 0.0) / sweeps
            total["other"] += (times[-1] - sum(spent.values())) / sweeps
    return median(times), [median(mode) for mode in zip(*by_mode, strict=True)], total


def _wall_parts(seconds: dict[str, float]) -> dict[str, float]:
    """Parts that run in all threads at once count by wall time: their seconds over the number of threads."""
    count = Threads().count
    return {part: seconds.get(part, 0.0) / (count if part in _THREADED else 1) for part in PARTS if part in seconds}


def _naive_seconds(case: Case, x: Any, mask: Any) -> float:
    cores = random_start(case.shape, case.rank, 0.5, np.dtype("f4"), seed=0)
    start = perf_counter()
    naive_sweep(case, x, mask, cores)
    return perf_counter() - start


def _peer_seconds(case: Case, x: Any, *, sampled: bool) -> float | None:
    """TensorLy's time a sweep, from the difference of two and one; None if it is not installed."""
    try:
        from tensorly.decomposition import tensor_ring_als, tensor_ring_als_sampled
    except ImportError:
        return None
    tensor = x.astype(np.float32) / 255
    closed = [*case.rank, case.rank[0]]

    def run(sweeps: int) -> float:
        start = perf_counter()
        if sampled:
            tensor_ring_als_sampled(tensor, closed, case.samples, n_iter_max=sweeps, tol=0, random_state=0)
        else:
            tensor_ring_als(tensor, closed, n_iter_max=sweeps, tol=0, random_state=0)
        return perf_counter() - start

    return run(2) - run(1)


def _peak_in_fresh_process(case: Case) -> int:
    finished = subprocess.run(  # noqa: S603 - our own interpreter, and a name from our own list
        [sys.executable, "-m", "ringlet.bench.measure", case.name], capture_output=True, check=True, text=True
    )
    return int(json.loads(finished.stdout)["peak"])


def _report_peak(name: str) -> None:
    """Fit a case for two sweeps and print the peak memory of this process, data included."""
    case = CASES[name]
    x, mask = case.data()
    source = as_source(x, mask)
    with SAWRTRD(samples=case.samples).start(Problem(source, survey(source), case.rank, seed=0)) as run:
        run.sweep(1)
        run.sweep(2)
    sys.stdout.write(json.dumps({"peak": peak_memory()}))


if __name__ == "__main__":
    _report_peak(sys.argv[1])
