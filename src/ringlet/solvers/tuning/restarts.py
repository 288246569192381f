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

_WIDEST = 8  # bonds up to which restarts are tried: fits with wider ones do not stall, and cost more
_PROBING = 6  # sweeps with wider bonds
_SWAMP = 4.0  # dB that wider bonds gain if the fit was stalled in a swamp
_ATTEMPTS, _SWEEPS = 6, 12  # new starts, and the sweeps of each, after which
_REACHED = 1 / 3  # it must have gained this share of the gain of wider bonds


def begun_anew(path: Path, number: int, penalties: Penalties) -> Path:
    """The path from another start, if a fit of a given rank is stalled in a swamp; otherwise unchanged.

    In a swamp every core is nearly optimal for the others, but the ring is far from the best one. Bonds that are wider
    by one then gain much in a few sweeps; a ring that is nearly the best of its rank gains little by them. The given
    rank does not allow wider bonds, but other random starts may avoid the swamp.

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
    """The same ring with every bond wider by one that can be; None without such bonds, or if they are wide already."""
    cores: Sequence[Core] = best.state.cores
    shape, rank = [core.shape[1] for core in cores], best.state.plan.rank
    limits = bond_limits(shape, [bond + 1 for bond in rank])
    if max(rank) > _WIDEST or limits == rank:
        return None
    for bond, (width, limit) in enumerate(zip(rank, limits, strict=True)):
        if limit > width:
            cores = widen(cores, bond, limit, stream(trials.algorithm.problem.seed, Purpose.GROWTH, 0, bond))
    return trials.algorithm.with_cores(best.state, cores)
