"""Our least squares baselines against TensorLy's, at the same rank, samples, data and number of sweeps, in one run.

Both run on one core and are timed in processor time. Threaded LAPACK, which TensorLy uses, is slowed down many times by
other work on the machine, and a ratio should not depend on that.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from time import process_time
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ringlet.api import decompose
from ringlet.baselines import TRALS, SampledTRALS
from ringlet.bench.cases import Case
from ringlet.errors import MissingDependencyError
from ringlet.execution import Threads
from ringlet.ring import TensorRing

__all__ = ["PEER_CASES", "PeerResult", "import_tensorly", "measure_peers"]

_ROUNDS = 4  # least number; the minimum time is used

PEER_CASES = (
    Case("photo crop", (320, 480, 3), (20, 20, 3), samples=3000),
    Case("cube", (100, 100, 100), (10, 10, 10), samples=1000),
    Case("order 4", (30, 30, 30, 30), (5, 5, 5, 5), samples=1000),
)


@dataclass(frozen=True)
class PeerResult:
    """One method on one case.

    Attributes
    ----------
    method, case : str
    ours, peer : float
        Seconds of the processor a sweep.
    our_error, peer_error : float
        Relative error after the same number of sweeps.
    """

    method: str
    case: str
    ours: float
    peer: float
    our_error: float
    peer_error: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON, with the ratio."""
        return asdict(self) | {"peer_over_ours": self.peer / self.ours}


def import_tensorly() -> ModuleType:
    """Import TensorLy's decompositions, or raise an error that says how to install it."""
    try:
        import tensorly.decomposition
    except ImportError as error:
        raise MissingDependencyError("the peers need TensorLy; install it with: pip install tensorly") from error
    module: ModuleType = tensorly.decomposition
    return module


def measure_peers(sweeps: int = 5, cases: tuple[Case, ...] = PEER_CASES, *, seconds: float = 6.0) -> list[PeerResult]:
    """Time TRALS and SampledTRALS against ``tensor_ring_als`` and ``tensor_ring_als_sampled``.

    Parameters
    ----------
    sweeps : int
    cases : tuple of Case
    seconds : float
        Least total time of the rounds of a comparison: short ones are repeated.
    """
    peers = import_tensorly()
    results = []
    for case in cases:
        x = case.data()[0].astype(np.float32) / 255
        given = {"rank": [*case.rank, case.rank[0]], "tol": 0, "random_state": 0}
        whole = partial(peers.tensor_ring_als, x, **given)
        sampled = partial(peers.tensor_ring_als_sampled, x, n_samples=case.samples, **given)
        ours = SampledTRALS(sweeps=sweeps, tol=0, samples=case.samples, threads=1)
        results.append(_compare("TRALS", case, x, TRALS(sweeps=sweeps, tol=0, threads=1), whole, seconds))
        results.append(_compare("SampledTRALS", case, x, ours, sampled, seconds))
    return results


def _compare(
    method: str,
    case: Case,
    x: NDArray[Any],
    solver: TRALS | SampledTRALS,
    peer: Callable[..., Any],
    seconds: float,
) -> PeerResult:
    """Alternate both; a sweep is the difference between a fit of several sweeps and one of a single sweep."""
    rounds: list[list[float]] = []
    with Threads(1):  # which limits BLAS to one thread
        while len(rounds) < _ROUNDS or sum(map(sum, rounds)) < seconds:
            counts = (1, solver.sweeps + 1)
            ours = [partial(decompose, x, case.rank, solver=replace(solver, sweeps=count)) for count in counts]
            theirs = [partial(peer, n_iter_max=count) for count in counts]
            rounds.append([_seconds(work) for work in (*ours, *theirs)])
        ring = decompose(x, case.rank, solver=solver).ring
        cores = peer(n_iter_max=solver.sweeps)
    our_one, our_more, their_one, their_more = (min(times) for times in zip(*rounds, strict=True))
    return PeerResult(
        method,
        case.name,
        (our_more - our_one) / solver.sweeps,
        (their_more - their_one) / solver.sweeps,
        _error(ring, x),
        _error(TensorRing([np.asarray(core) for core in cores]), x),
    )


def _seconds(work: Callable[[], Any]) -> float:
    start = process_time()
    work()
    return process_time() - start


def _error(ring: TensorRing, x: NDArray[Any]) -> float:
    return float(np.linalg.norm(np.asarray(ring) - x) / np.linalg.norm(x))
