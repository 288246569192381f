"""Restarts of fits of a given rank that stall far from the best ring of that rank."""

from collections.abc import Sequence
from dataclasses import replace

from ringlet.errors import BudgetError
from ringlet.ring.chain import Core
from ringlet.ring.ranks import bond_limits
from ringlet.sampling import Purpose, stream
from ringlet.solvers.engine.scaled_step import Penalties
from ringlet.solvers.sawrtrd.algorithm import FitState
from ringlet.solvers.tuning.bond_growth import widen
from ringlet.solvers.tuning.path_state import Path
from ringlet.solvers.tuning.trials import Candidate, Trial, Trials

__all__ = ["begun_anew"]

_WIDEST = 8  # bonds up to which restarts are tried: fits with wider ones do not stand still, and cost more
_PROBING = 6  # sweeps with wider bonds
_SWAMP = 4.0  # dB that these gain if the fit stood still in a swamp
_ATTEMPTS, _SWEEPS = 6, 12  # fresh starts, and the sweeps that each gets to show that it leads elsewhere:
_REACHED = 1 / 3  # it has to gain this part of what wider bonds did


def begun_anew(path: Path, number: int, penalties: Penalties) -> Path:
    """The path from another start, if a fit of a given rank stands still in a swamp; otherwise as it was.

    In a swamp every core is about the best one for the others, but the ring is far from the best one. Bonds that are
    wider by one lead out of it in a few sweeps, whereas a ring that has shown what its rank can do gains little by
    them. The given rank does not allow those, but other random starts lead elsewhere.

    Parameters
    ----------
    path : Path
    number : int
        Of the sweep.
    penalties : Penalties
        Those that the fit began with.
    """
    trials, best = path.trials, path.now
    try:
        wider = _widened(trials, best)
        if wider is None:
            return path
        gain = trials.compare(trials.swept(wider, number, Trial.REFIT, _PROBING), best).gain
    except BudgetError:  # no room for a larger ring
        return path
    if gain < _SWAMP:
        return path
    for attempt in range(1, _ATTEMPTS + 1):
        start = replace(trials.algorithm.init(best.state.plan.rank, attempt), penalties=penalties)
        found = trials.swept(start, number, Trial.REFIT + _PROBING + attempt * _SWEEPS, _SWEEPS)
        if trials.compare(found, best).gain > _REACHED * gain:
            return replace(path, now=found)
    return path


def _widened(trials: Trials, best: Candidate) -> FitState | None:
    """The same ring with every bond wider by one that may be; None if there are none, or they are wide already."""
    cores: Sequence[Core] = best.state.cores
    shape, rank = [core.shape[1] for core in cores], best.state.plan.rank
    limits = bond_limits(shape, [bond + 1 for bond in rank])
    if max(rank) > _WIDEST or limits == rank:
        return None
    for bond, (width, limit) in enumerate(zip(rank, limits, strict=True)):
        if limit > width:
            cores = widen(cores, bond, limit, stream(trials.algorithm.problem.seed, Purpose.GROWTH, 0, bond))
    return trials.algorithm.with_cores(best.state, cores)
