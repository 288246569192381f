"""A running fit of a given rank: the driver sweeps it, and a checkpoint resumes it."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from ringlet.errors import FormatError
from ringlet.execution import Profile, Threads
from ringlet.results.records import RunState, SweepReport
from ringlet.results.ring_snapshot import RingSnapshot
from ringlet.results.saved_state import by_name, from_names
from ringlet.robust import Kernel
from ringlet.solvers.base import Problem
from ringlet.solvers.engine.scaled_step import Penalties
from ringlet.solvers.engine.subchain import Resources
from ringlet.solvers.sawrtrd.algorithm import Algorithm, FitState
from ringlet.solvers.sawrtrd.robust_ring import RobustRing
from ringlet.solvers.sawrtrd.start import Scale

__all__ = ["RingRun", "RobustSnapshot", "resumed_state", "start_run"]


@dataclass(frozen=True)
class RobustSnapshot(RingSnapshot):
    """A ring at some moment, and the other results of a fit by AWRTRD or SAWRTRD.

    Attributes
    ----------
    scale : Scale
        Robust measures of the data.
    penalties : Penalties
        As given, or as chosen so far.
    """

    scale: Scale = field(kw_only=True)
    penalties: Penalties = field(kw_only=True)


class RingRun:
    """A running fit of a given rank, as the driver sees it."""

    def __init__(self, algorithm: Algorithm) -> None:
        self._algorithm = algorithm
        self._state = algorithm.init()

    def sweep(self, number: int) -> SweepReport:
        """Update every core once."""
        self._state, report = self._algorithm.sweep(self._state, number)
        return report

    def snapshot(self) -> RobustSnapshot:
        """The present model."""
        algorithm, state = self._algorithm, self._state
        return RobustSnapshot(
            state.cores,
            algorithm.scale.data_range,
            algorithm.problem.survey.empty,
            Kernel(state.sigma, algorithm.settings.kernel_loss),
            scale=algorithm.scale,
            penalties=state.penalties,
        )

    def state(self) -> RunState:
        """The fields of the state; random draws depend on the number of the sweep only."""
        return by_name(self._state)

    def resume(self, state: RunState) -> None:
        """Continue from a state."""
        self._state = resumed_state(self._algorithm, self._state, state)


@contextmanager
def start_run(settings: RobustRing, problem: Problem, profile: Profile | None = None) -> Iterator[RingRun]:
    """Begin a fit of a given rank; the driver sweeps it."""
    with Threads(settings.threads) as threads, problem.place() as placement, problem.open_device() as device:
        resources = Resources(threads.run, placement, profile, device=device)
        algorithm = Algorithm.of(settings, problem, resources)
        with closing(algorithm.engine):
            yield RingRun(algorithm)


def resumed_state(algorithm: Algorithm, like: FitState, saved: RunState) -> FitState:
    """A state from its saved fields; its cores must form a ring of the shape of the data."""
    state = from_names(like, saved)
    shapes, shape = [core.shape for core in state.cores], algorithm.problem.source.shape
    bonds = [(found[0], found[2]) for found in shapes if len(found) == 3]
    closes = len(bonds) == len(shapes) and all(
        after == bonds[k - len(bonds) + 1][0] for k, (_, after) in enumerate(bonds)
    )
    if not closes or tuple(found[1] for found in shapes) != shape:
        raise FormatError(f"the cores of the state have shapes {shapes}, which make no ring of shape {shape}")
    for name in ("sigma", "narrowest", "idle_sweeps", "penalties.ridge", "penalties.smooth", "penalties.width"):
        if name in saved and np.min(saved[name]) < 0:
            raise FormatError(f"{name!r} of the state is negative")
    if state.penalties.width == 0:
        raise FormatError("'penalties.width' of the state is zero")
    rank = tuple(before for before, _ in bonds)
    plan = algorithm.settings.plan_of(algorithm.problem, rank, algorithm.beside)
    last_gram = algorithm.grams(state).unfolding_gram(len(shape) - 1)
    return replace(state, plan=plan, last_gram=last_gram)
